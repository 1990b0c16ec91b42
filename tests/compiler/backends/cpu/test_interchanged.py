"""Interchanged loops, whose rows never meet, go through all iterations chunk by chunk, and give what they give in order."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler.backends.cpu.threads import get_num_threads, set_num_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def chunks_of(step):
    """How many chunks of rows the loops of a compiled function have, in order."""
    return [kernel.chunks for kernel in step.explain().kernels if kernel.kind == "repeat"]


def walked(x, weight, inputs, change=lambda h: h):
    """A recurrent network: its last state, all states and all outputs."""

    def iteration(h, row):
        z = change(h) @ weight + row
        return rg.tanh(z), (z, rg.softmax(z, -1))

    return rg.scan(iteration, x, inputs)


def run_on(threads, function, *args):
    """What a compiled function gives on so many threads, and its chunks of rows."""
    before = get_num_threads()
    try:
        set_num_threads(threads)
        step = rg.jit(function)
        return [np.asarray(z) for z in rg.tree.leaves(step(*args))], chunks_of(step)
    finally:
        set_num_threads(before)


@pytest.mark.parametrize("iterations", [1, 6, 7])
@pytest.mark.parametrize(("rows", "chunks"), [(32, 2), (100, 4), (75, 4), (128, 8)])
def test_values_are_the_eager_ones(rows, chunks, iterations):
    args = drawn(rows, 256, seed=1), drawn(256, 256, seed=2) / 16, drawn(iterations, rows, 256, seed=3)
    step = rg.jit(walked)
    for got, wanted in zip(rg.tree.leaves(step(*args)), rg.tree.leaves(walked(*map(rg.tensor, args))), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4, atol=1e-5)
    assert chunks_of(step) == [chunks]


def test_gradients_are_the_eager_ones_and_the_same_for_any_number_of_threads():
    rng, lstm = np.random.default_rng(0), nn.LSTM(24, 64)
    with rg.no_grad():
        for parameter in lstm.parameters():
            parameter[...] = rng.standard_normal(parameter.shape) / 8
    x, names = drawn(12, 48, 24), list(lstm.state_dict())

    def loss(x):
        outputs, (h, c) = lstm(x)
        return (outputs[::2] ** 2).sum() + (h * c).sum()

    def slopes(x):
        parameters = list(lstm.parameters())
        for parameter in parameters:
            parameter.grad = None
        loss(x).backward()
        return [parameter.grad for parameter in parameters]

    wanted = [np.asarray(g) for g in slopes(rg.tensor(x))]
    found = {threads: run_on(threads, slopes, x) for threads in (1, 2, 3)}
    assert found[1][1] == [2, 2]
    for name, got, expected in zip(names, found[1][0], wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max(), err_msg=name)
    for threads in (2, 3):
        for got, alone in zip(found[threads][0], found[1][0], strict=True):
            np.testing.assert_array_equal(got, alone)


@pytest.mark.parametrize(("change", "rows"), [
    (lambda h: h - h.mean(axis=0, keepdims=True), 64),
    (lambda h: h[::-1], 64),
    (lambda h: rg.roll(h, 1, 0), 64),
    (lambda h: h * h[:1], 64),
    (lambda h: h, 16),
], ids=["the mean of all rows", "in reverse", "the row before", "the first row", "few rows"])
def test_rows_that_meet_stay_together(change, rows):
    args = drawn(rows, 256, seed=1), drawn(256, 256, seed=2) / 16, drawn(5, rows, 256, seed=3)
    step = rg.jit(lambda *args: walked(*args, change)[0])
    np.testing.assert_allclose(np.asarray(step(*args)), np.asarray(walked(*map(rg.tensor, args), change)[0]), rtol=1e-4, atol=1e-5)
    assert chunks_of(step) == [1]


def test_a_sum_over_rows_that_is_carried_keeps_them_together():
    def function(x, weight):
        def iteration(state, _):
            h, total = state
            h = rg.tanh(h @ weight)
            return (h, total + h.sum(axis=0)), None

        return rg.scan(iteration, (x, rg.zeros(256)), length=6)[0]

    args = drawn(64, 256, seed=1), drawn(256, 256, seed=2) / 16
    step = rg.jit(function)
    for got, wanted in zip(step(*args), function(*map(rg.tensor, args)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4, atol=1e-4)
    assert chunks_of(step) == [1]


def test_a_state_that_two_carries_exchange_stays_right():
    def function(x, weight):
        return rg.scan(lambda pair, _: ((pair[1], rg.tanh(pair[0] @ weight)), None), (x, x * 2), length=7)[0]

    args = drawn(64, 256, seed=1), drawn(256, 256, seed=2) / 16
    for got, wanted in zip(rg.jit(function)(*args), function(*map(rg.tensor, args)), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4, atol=1e-5)


def test_a_turn_may_be_one_product_alone():
    args = drawn(64, 256, seed=1), drawn(256, 256, seed=2) / 16
    step = rg.jit(lambda x, weight: rg.scan(lambda h, _: (h @ weight, None), x, length=4)[0])
    np.testing.assert_allclose(np.asarray(step(*args)), args[0] @ np.linalg.matrix_power(args[1], 4), rtol=1e-3, atol=1e-4)
    assert chunks_of(step) == [4]


def test_a_turn_that_does_more_than_products_and_loops_is_as_before():
    def function(x, weight):
        def iteration(h, _):
            return rg.cumsum(rg.tanh(h @ weight), axis=0), None

        return rg.scan(iteration, x, length=4)[0]

    args = drawn(64, 256, seed=1), drawn(256, 256, seed=2) / 160
    step = rg.jit(function)
    np.testing.assert_allclose(np.asarray(step(*args)), np.asarray(function(*map(rg.tensor, args))), rtol=1e-3, atol=1e-4)
    assert chunks_of(step) == [1]
