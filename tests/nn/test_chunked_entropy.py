from typing import Any

import numpy as np
import pytest

import retrograde as rg
from retrograde.nn.functional import cross_entropy, linear_cross_entropy

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((10, 16)).astype(np.float32), RNG.standard_normal((37, 16)).astype(np.float32)
TARGET = np.array([0, 36, -100, 5, 5, 30, 31, 32, 1, -100])


def whole(x, w, reduction="mean"):
    return cross_entropy(x @ w.T, rg.asarray(TARGET), reduction=reduction)


def parts(x, w, chunk, reduction="mean"):
    return linear_cross_entropy(x, w, rg.asarray(TARGET), chunk=chunk, reduction=reduction)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("chunk", [1, 8, 37, 100])
def test_loss_and_gradients_are_those_of_all_scores_at_once(chunk, compiled):
    run = rg.jit if compiled else lambda f: f
    expected, slopes = rg.value_and_grad(whole, (0, 1))(rg.tensor(X), rg.tensor(W))
    found, ours = run(rg.value_and_grad(lambda x, w: parts(x, w, chunk), (0, 1)))(rg.tensor(X), rg.tensor(W))
    assert float(found) == pytest.approx(float(expected), rel=1e-6)
    for a, b in zip(ours, slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_sums_and_single_losses_are_those_of_all_scores_at_once():
    x, w = rg.tensor(X.reshape(2, 5, 16)), rg.tensor(W)
    single = linear_cross_entropy(x, w, rg.asarray(TARGET.reshape(2, 5)), chunk=8, reduction="none")
    np.testing.assert_allclose(single.reshape(-1), whole(rg.tensor(X), w, "none"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(parts(rg.tensor(X), w, 8, "sum"), whole(rg.tensor(X), w, "sum"), rtol=1e-6)


def test_gradients_agree_with_differences_in_float64():
    x, w = X.astype(np.float64), W.astype(np.float64)
    slopes = rg.grad(lambda x, w: parts(x, w, 8), (0, 1))(rg.tensor(x), rg.tensor(w))
    for place, slope in enumerate(slopes):
        direction, step = RNG.standard_normal(slope.shape), 1e-5
        ends = [[x, w], [x, w]]
        ends[0][place], ends[1][place] = ends[0][place] + step * direction, ends[1][place] - step * direction
        change = (float(parts(*map(rg.tensor, ends[0]), 8)) - float(parts(*map(rg.tensor, ends[1]), 8))) / (2 * step)
        assert change == pytest.approx(float((slope * direction).sum()), rel=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("chunk", [8, 37])
@pytest.mark.parametrize("place", [0, 1])
def test_second_derivatives_are_those_of_all_scores_at_once(place, chunk, compiled):
    run: Any = rg.jit if compiled else lambda f: f
    steepness = lambda f: lambda x, w: (rg.grad(f, place)(x, w) ** 2).sum()
    expected, found = (run(rg.grad(steepness(f), (0, 1)))(rg.tensor(X), rg.tensor(W)) for f in (whole, lambda x, w: parts(x, w, chunk)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_scores_of_any_size_lose_nothing():
    # Each chunk has a greater score than those before it, by more than exponentials can hold.
    w, x = np.array([[-3000.0], [0.0], [3000.0], [3001.0]], np.float32), rg.tensor(np.ones((1, 1), np.float32))
    loss = lambda x: linear_cross_entropy(x, rg.tensor(w), rg.asarray(np.array([2])), chunk=1)
    assert float(loss(x)) == pytest.approx(np.log1p(np.e), rel=1e-6)
    assert float(rg.grad(loss)(x)) == pytest.approx(np.e / (1 + np.e), rel=1e-3)


def test_nothing_that_counts_gives_zero_and_no_gradient():
    loss = lambda x: linear_cross_entropy(x, rg.tensor(W), rg.asarray(np.full(10, -100)), chunk=8)
    found, slope = rg.value_and_grad(loss)(rg.tensor(X))
    assert float(found) == 0
    assert not np.asarray(slope).any()


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_blocks_of_quantised_weights_are_read_as_their_numbers(compiled):
    x, w = RNG.standard_normal((12, 32)).astype(np.float32), RNG.standard_normal((70, 32)).astype(np.float32)
    blocks, target = rg.asarray(rg.ops.quantized.quantize_rows(w, "Q4_1")), rg.asarray(RNG.integers(0, 70, 12))
    numbers = rg.dequantize(blocks, "Q4_1")
    run = rg.jit if compiled else lambda f: f
    found = run(rg.value_and_grad(lambda x: linear_cross_entropy(x, blocks, target, chunk=16, format="Q4_1")))(rg.tensor(x))
    expected = rg.value_and_grad(lambda x: cross_entropy(x @ numbers.T, target))(rg.tensor(x))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-3, atol=1e-5)


def test_all_scores_are_never_in_memory():
    # All scores would take 32 MB; a chunk takes 2, and exponentials 2 more.
    rows, classes, width, chunk = 512, 16384, 8, 1024
    w, target = rg.tensor(np.zeros((classes, width), np.float32)), rg.asarray(np.zeros(rows, np.int64))
    step = rg.jit(rg.value_and_grad(lambda x, w: linear_cross_entropy(x, w, target, chunk=chunk), (0, 1)))
    step(rg.tensor(np.zeros((rows, width), np.float32)), w)
    assert step.explain().arena_bytes < 12 << 20


def products_by_table(chunk):
    w, target = rg.tensor(np.zeros((4096, 64), np.float32)), rg.asarray(np.zeros(64, np.int64))
    step: Any = rg.jit(rg.value_and_grad(lambda x, w: linear_cross_entropy(x, w, target, chunk=chunk), (0, 1)))
    step(rg.tensor(np.zeros((64, 64), np.float32)), w)
    return sum(kernel.flops for kernel in step.explain().kernels if "matmul" in kernel.ops) / (2 * 64 * 4096 * 64)


def test_scores_are_computed_again_for_the_table_only_where_they_were_not_in_memory():
    assert [round(products_by_table(chunk)) for chunk in (1024, 4096)] == [4, 3]


def test_autocast_leaves_the_loss_in_float32():
    with rg.autocast("bfloat16"):
        found = parts(rg.tensor(X), rg.tensor(W), 8)
    assert float(found) == float(parts(rg.tensor(X), rg.tensor(W), 8))


@pytest.mark.parametrize(("change", "kind", "message"), [
    ({"chunk": 0}, rg.errors.ArgumentError, "at least 1"), ({"label_smoothing": 0.1}, rg.errors.ArgumentError, "leave chunk out"),
    ({"target": np.array([37] * 10)}, rg.errors.OutOfRangeError, "between 0 and 36"), ({"reduction": "all"}, rg.errors.ArgumentError, "mean, sum"),
    ({"target": np.zeros(9, int)}, rg.errors.ShapeError, "features"), ({"target": np.zeros(10)}, rg.errors.DTypeError, "integers"),
    ({"chunk": None, "format": "Q8_0"}, rg.errors.ArgumentError, "give chunk="), ({"input": X[:, :8]}, rg.errors.ShapeError, "of 16 features")])
def test_what_does_not_fit_is_refused(change, kind, message):
    given = {"input": X, "linear_weight": W, "target": TARGET, "chunk": 8, **change}
    given = {name: rg.asarray(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
    with pytest.raises(kind, match=message):
        linear_cross_entropy(**given)


def test_a_class_out_of_range_is_an_error_when_compiled_too():
    f = rg.jit(lambda x, t: linear_cross_entropy(x, rg.tensor(W), t, chunk=8))
    with pytest.raises(rg.errors.OutOfRangeError):
        f(rg.tensor(X), rg.asarray(np.array([37] * 10)))
