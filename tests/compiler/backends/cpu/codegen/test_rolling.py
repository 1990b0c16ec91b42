"""Repetitions in one kernel become loops: of whole lengths, with the results of code that is written out."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
import retrograde as rg
from retrograde import nn
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.codegen import loop_plan
from retrograde.compiler.backends.cpu.units import library

BODIES = {
    "sine": lambda y, k: y * 0.99 + rg.sin(y) * 0.01,
    "sine and cosine": lambda y, k: rg.cos(y) * 0.5 + rg.sin(y * 0.9) - rg.cos(y * 0.9) * y,
    "gelu": lambda y, k: y * 0.9 + nn.functional.gelu(y) * 0.1 + k,
    "silu": lambda y, k: y - nn.functional.silu(y * k + 0.1) * 0.2,
    "tangent": lambda y, k: rg.tanh(y * k) + y * 0.5,
    "two before": lambda y, k: rg.sin(y) * (y + k) / (1 + y * y),
    "selection": lambda y, k: rg.where(y > k, y * 0.5, rg.sin(y) + k),
}


def chain(body, length):
    def value(y, k):
        for _ in range(length):
            y = body(y, k)
        return (y * y).sum()

    return rg.value_and_grad(value, argnums=(0, 1))


@pytest.fixture
def runs(monkeypatch):
    """(rounds, entries of a round) of each run that is found."""
    found, find = [], loop_plan.find_runs

    def finding(entries, levels):
        runs = find(entries, levels)
        found.extend((run.count, run.period) for run in runs)
        return runs

    monkeypatch.setattr(loop_plan, "find_runs", finding)
    monkeypatch.setattr(library(), "store", Cache(None))
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("length", [7, 22])
@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients_of_a_chain_are_those_of_its_turns_one_by_one(name, length):
    y, k = np.random.default_rng(length).standard_normal((2, 10)) * 0.5
    expected, derivatives = chain(BODIES[name], length)(y, k)
    found, gradients = rg.jit(chain(BODIES[name], length))(y, k)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for gradient, derivative in zip(gradients, derivatives, strict=True):
        np.testing.assert_allclose(gradient, derivative, rtol=1e-11, atol=1e-14)


def test_all_turns_of_a_chain_are_rounds_and_the_way_back_finds_the_cosines_on_tape(runs):
    step = rg.jit(chain(lambda y, k: y * 0.99 + rg.sin(y) * 0.01, 41))
    y = np.linspace(-1, 2, 10)
    step(y, y)
    assert runs == [(41, 5), (41, 4)]
    (kernel,) = [kernel for kernel in step.explain().kernels if "sin" in kernel.llvm]
    assert "retrograde.sincos" in kernel.llvm and "retrograde.cos." not in kernel.llvm


def test_a_chain_that_reads_more_than_one_before_is_rolled_as_far_as_its_tapes_reach(runs):
    def value(y):
        before, last = y, y * 0.5
        for _ in range(30):
            before, last = last, rg.tanh(last * before) + before * 0.3
        return last.sum()

    y = np.linspace(-1, 1, 10)
    expected, derivative = rg.value_and_grad(value)(y)
    found, gradient = rg.jit(rg.value_and_grad(value))(y)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, derivative, rtol=1e-11)
    assert sum(count * period for count, period in runs) > 200


@pytest.fixture
def levels_of_runs(monkeypatch):
    """For each run that is found, of how many loops its entries are inside."""
    found, find = [], loop_plan.find_runs

    def finding(entries, levels):
        runs = find(entries, levels)
        found.extend({levels[k] for k in range(run.start, run.stop)} for run in runs)
        return runs

    monkeypatch.setattr(loop_plan, "find_runs", finding)
    monkeypatch.setattr(library(), "store", Cache(None))
    return found


def test_what_is_once_for_a_row_and_what_is_for_each_element_are_runs_by_themselves(levels_of_runs):
    x = np.random.default_rng(0).standard_normal((3, 4))

    def of_sorted(x):
        return rg.logsumexp(rg.sort(x * x.sum()))

    def of_row(x):  # the order of numbers makes no difference to their sum
        y = x * x.sum()
        weights = np.exp(y - y.max()) / np.exp(y - y.max()).sum()
        return weights * x.sum() + weights @ x

    np.testing.assert_allclose(rg.jit(rg.vmap(rg.grad(of_sorted)))(x), [of_row(row) for row in x], rtol=1e-12)
    assert levels_of_runs
    assert all([len(levels) == 1 for levels in levels_of_runs])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["first", "second"])
@pytest.mark.parametrize("name", ["sort", "argsort", "cummax", "cummin", "topk", "median", "cumsum", "cumprod"])
def test_what_puts_a_few_numbers_in_order_has_its_derivatives_in_compiled_code(name, form):
    ordered = {
        "sort": rg.sort, "argsort": lambda x: x[rg.argsort(x)], "cummax": lambda x: rg.cummax(x, 0)[0],
        "cummin": lambda x: rg.cummin(x, 0)[0], "topk": lambda x: rg.topk(x, 3)[0], "median": lambda x: x * rg.median(x),
        "cumsum": lambda x: rg.cumsum(x, 0), "cumprod": lambda x: rg.cumprod(x, 0)}[name]

    def value(x):
        return rg.logsumexp(ordered(x * x.sum()) * 0.5)

    forms = {"first": rg.vmap(rg.grad(value)), "second": rg.vmap(rg.hessian(value))}
    x = np.random.default_rng(0).standard_normal((3, 5))
    np.testing.assert_allclose(rg.jit(forms[form])(x), forms[form](x), rtol=1e-10, atol=1e-12)
