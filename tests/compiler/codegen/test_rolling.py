"""Repetitions in one kernel become loops: of whole lengths, with the results of code that is written out."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
import retrograde as rg
from retrograde import nn
from retrograde.compiler.cache import Cache
from retrograde.compiler.codegen import loop_plan
from retrograde.compiler.units import library

TURNS = {
    "sine": lambda y, k: y * 0.99 + rg.sin(y) * 0.01,
    "sine and cosine": lambda y, k: rg.cos(y) * 0.5 + rg.sin(y * 0.9) - rg.cos(y * 0.9) * y,
    "gelu": lambda y, k: y * 0.9 + nn.functional.gelu(y) * 0.1 + k,
    "silu": lambda y, k: y - nn.functional.silu(y * k + 0.1) * 0.2,
    "tangent": lambda y, k: rg.tanh(y * k) + y * 0.5,
    "two before": lambda y, k: rg.sin(y) * (y + k) / (1 + y * y),
    "selection": lambda y, k: rg.where(y > k, y * 0.5, rg.sin(y) + k),
}


def chain(turn, length):
    def value(y, k):
        for _ in range(length):
            y = turn(y, k)
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


@pytest.mark.parametrize("length", [7, 22])
@pytest.mark.parametrize("name", TURNS)
def test_values_and_gradients_of_a_chain_are_those_of_its_turns_one_by_one(name, length):
    y, k = np.random.default_rng(length).standard_normal((2, 10)) * 0.5
    expected, derivatives = chain(TURNS[name], length)(y, k)
    found, gradients = rg.jit(chain(TURNS[name], length))(y, k)
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
