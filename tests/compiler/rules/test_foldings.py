"""Reductions of numbers of all kinds, and what is made of reductions: compiled they are kernels, with NumPy's values."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

#: Shapes with an axis to fold, and whether it is kept.
CASES = [((5, 19), 0, True), ((3, 300), -1, False), ((70000,), None, False)]
NAMES = ("argmax", "argmin", "any", "all", "sum", "prod", "max", "min", "count_nonzero")


def _drawn(shape, dtype):
    rng = np.random.default_rng(len(shape))
    return rng.standard_normal(shape).astype(dtype) if dtype[0] == "f" else rng.integers(-2, 3, shape).astype(dtype)


def _compiled(function, x):
    """What a function gives compiled, and the kinds of its kernels."""
    step = rg.jit(function)
    return np.asarray(step(rg.tensor(x))), {kernel.kind for kernel in step.explain().kernels}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "bool"])
@pytest.mark.parametrize("name", NAMES)
def test_reductions_are_kernels_with_numpys_values(name, dtype):
    for shape, axis, keepdims in CASES:
        x = _drawn(shape, dtype)
        wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        got, kinds = _compiled(lambda x, axis=axis, keepdims=keepdims: getattr(rg, name)(x, axis=axis, keepdims=keepdims), x)
        assert (got.shape, got.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)
        assert "library" not in kinds


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_is_the_first_of_equal_elements_and_that_of_a_nan(name):
    x = np.zeros((3, 41), np.float32)
    x[1, 17:30:6], x[2, 5] = [np.nan, 3, np.nan], np.nan if name == "argmin" else 1
    np.testing.assert_array_equal(_compiled(lambda x: getattr(rg, name)(x, axis=1), x)[0], getattr(np, name)(x, axis=1))
    np.testing.assert_array_equal(_compiled(getattr(rg, name), -x)[0], getattr(np, name)(-x))


#: Shapes, and along which axes they are folded: numbers in a row, rows on top of each other, all in chunks, some axes of three.
FOLDED = [((64,), None), ((9, 300), 1), ((9, 300), 0), ((20000, 10), 0), ((300000,), None), ((7, 33, 17), (0, 2)), ((4, 5, 400), 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), FOLDED)
def test_a_product_overflows_and_vanishes_where_that_of_numpy_does(shape, axis, dtype):
    rng = np.random.default_rng(3)
    x = np.where(rng.random(shape) < 0.5, np.finfo(dtype).max / 4, np.finfo(dtype).tiny * 4).astype(dtype)
    x.ravel()[rng.integers(0, x.size, 2)] = np.inf
    with np.errstate(all="ignore"):
        wanted = np.prod(x, axis=axis)
    np.testing.assert_allclose(_compiled(lambda x: rg.prod(x, axis=axis), x)[0], wanted, rtol=1e-3)
    np.testing.assert_allclose(rg.jit(lambda x: [rg.prod(x * 1, axis=axis), rg.max(x, axis=axis)])(x)[0], wanted, rtol=1e-3)


def test_a_product_of_many_numbers_with_an_infinity_is_infinite():
    x = np.full(2000, 0.5, np.float32)
    x[0] = np.inf
    assert _compiled(rg.prod, x)[0] == np.inf


def test_accuracy_is_computed_by_kernels():
    logits, labels = _drawn((64, 10), "float32"), np.arange(64) % 10
    step = rg.jit(lambda z, y: (z.argmax(axis=1) == y).astype("float32").mean())
    assert float(step(logits, labels)) == pytest.approx((logits.argmax(1) == labels).mean())
    assert "library" not in {kernel.kind for kernel in step.explain().kernels}


@pytest.mark.parametrize("order", [1, 2, 3, np.inf, -np.inf, 0, 0.5])
def test_norms_are_kernels(order):
    x = _drawn((6, 33), "float64")
    got, kinds = _compiled(lambda x: rg.linalg.vector_norm(x, axis=1, ord=order), x)
    np.testing.assert_allclose(got, np.linalg.norm(x, order, axis=1))
    assert "library" not in kinds


def test_sums_and_products_of_selected_elements_are_kernels():
    x, mask = _drawn((6, 33), "float64"), _drawn((6, 33), "bool")
    for name in ("sum", "prod"):
        got, kinds = _compiled(lambda x, name=name: getattr(rg, name)(x, axis=0, where=mask), x)
        np.testing.assert_allclose(got, getattr(np, name)(x, axis=0, where=mask))
        assert "library" not in kinds


def _slope_of_choice(index):
    """What a choice from eight numbers hands back, if it is asked for with `x`."""
    return lambda x: rg.vjp(lambda y: y[index], np.ones(8))[1](x)


SUMS_OF_NEGATIVE_ZEROS = {
    "sum of one": lambda x: rg.sum(x[:1]),
    "sums of single elements": lambda x: rg.sum(x.reshape(4, 1), axis=1),
    "mean of one": lambda x: rg.mean(x[:1]),
    "product over one term": lambda x: x.reshape(4, 1) @ np.ones((1, 3)),
    "sum of four": lambda x: rg.sum(x),
    "convolution of one by one": lambda x: rg.nn.functional.conv2d(x.reshape(1, 1, 2, 2), np.ones((1, 1, 1, 1))),
    "mean of windows": lambda x: rg.nn.functional.avg_pool2d(x.reshape(1, 1, 2, 2), 2),
    "windows handed back": lambda x: rg.vjp(lambda y: rg.nn.functional.max_pool2d(y, 2), np.ones((1, 1, 4, 4)))[1](x.reshape(1, 1, 2, 2)),
    "added at known positions": _slope_of_choice(np.array([1, 3, 2, 0])),
    "added at positions": lambda x: rg.vjp(lambda y: y[rg.argsort(-y)[:4]], np.arange(8.0))[1](x),
    "one of each row": lambda x: rg.vjp(lambda y: y[np.arange(4), rg.argmax(y, axis=1)], np.arange(12.0).reshape(4, 3))[1](x),
}


@pytest.mark.parametrize("name", SUMS_OF_NEGATIVE_ZEROS)
def test_sums_of_negative_zeros_alone_are_positive_zeros_as_in_numpy(name):
    function, x = SUMS_OF_NEGATIVE_ZEROS[name], np.full(4, -0.0)
    for found in (function(rg.tensor(x)), rg.jit(function)(x)):
        assert not any([np.signbit(z).any() for z in rg.tree.leaves(found)])
