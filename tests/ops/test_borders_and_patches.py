"""Borders in all modes, windows and columns of images, and products of many: against NumPy, and against their transposes."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError
from retrograde.ops.linalg._plans import greedy_path
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))
SAME = {"replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge", "replicate", "wrap", "circular"])
def test_borders_are_numpys(mode):
    for widths in (1, (1, 2), ((0, 2), (3, 1)), ((2, 2), (0, 5))):
        found = rg.pad(rg.tensor(X), widths, mode)
        np.testing.assert_array_equal(found.data, np.pad(X, widths, SAME.get(mode, mode)))
    check_gradients(lambda x: rg.pad(x, ((1, 0), (2, 1)), mode), X, order=2)


@pytest.mark.parametrize("values", [7, (10, 20), ((10, 20),), ((1, 2), (3, 4))])
@pytest.mark.parametrize("run", [lambda f: f, rg.jit, lambda f: lambda x: rg.vmap(f)(x[None])[0]], ids=["eager", "jit", "vmap"])
def test_each_side_may_have_a_value_of_its_own(values, run):
    # Two columns in all: a pair of values must not be taken for a row.
    for shape, widths in (((2, 1), ((1, 2), (0, 1))), ((2, 1), ((1, 0), (1, 0))), ((3, 4), 2)):
        x = np.ones(shape)
        found = run(lambda x: np.pad(x, widths, constant_values=values))(rg.tensor(x))
        np.testing.assert_array_equal(found.numpy(), np.pad(x, widths, constant_values=values))


def test_padding_of_layers_counts_from_the_last_axis_and_takes_away():
    pad = rg.nn.functional.pad
    np.testing.assert_array_equal(pad(rg.tensor(X), (1, 0, 0, 2), value=5.0).data, np.pad(X, ((0, 2), (1, 0)), constant_values=5.0))
    np.testing.assert_array_equal(pad(rg.tensor(X), (-1, 2)).data, np.pad(X[:, 1:], ((0, 0), (0, 2))))
    np.testing.assert_array_equal(pad(rg.tensor(X), (2, -4), "replicate").data, X[:, [0, 0]])
    with pytest.raises(ArgumentError, match="takes away"):
        pad(rg.tensor(X), (-3, -3))
    with pytest.raises(ArgumentError, match="two numbers"):
        pad(rg.tensor(X), (1, 2, 3))


def test_windows_are_numpys():
    found = rg.unfold(rg.tensor(X), 1, 3, 1)
    np.testing.assert_array_equal(found.data, np.lib.stride_tricks.sliding_window_view(X, 3, axis=1))
    with pytest.raises(ArgumentError, match="size"):
        rg.unfold(rg.tensor(X), 0, 4)


@pytest.mark.parametrize("options", [{}, {"padding": 1}, {"stride": 2, "padding": (1, 0)}, {"dilation": 2, "padding": 1}])
def test_columns_of_an_image_are_those_of_its_convolution_and_fold_is_their_transpose(options):
    image, kernel = RNG.standard_normal((2, 3, 6, 5)), RNG.standard_normal((4, 3, 2, 3))
    columns = rg.nn.functional.unfold(image, (2, 3), **options)
    made = rg.conv2d(image, kernel, **options)
    np.testing.assert_allclose(kernel.reshape(4, -1) @ columns, made.reshape(2, 4, -1), rtol=1e-12, atol=1e-12)
    other = RNG.standard_normal(columns.shape)
    folded = rg.nn.functional.fold(other, (6, 5), (2, 3), **options)
    assert (folded * image).sum() == pytest.approx((other * columns).sum())


def test_fold_refuses_columns_that_do_not_fit():
    with pytest.raises(ShapeError, match="must have shape"):
        rg.nn.functional.fold(np.ones((1, 8, 5)), (3, 4), 2)
    with pytest.raises(ArgumentError, match="no place"):
        rg.nn.functional.unfold(np.ones((1, 1, 2, 2)), 3)


PRODUCTS = ["ab,bc,cd->ad", "ab,ab,ab->a", "a,b,c->abc", "...a,ab,b...->...", "aab,bc,c->a", "ab,bc,cd,de,ea->", "ij,jk,k"]


@pytest.mark.parametrize("subscripts", PRODUCTS)
def test_products_of_many_are_numpys_with_and_without_the_library(subscripts, monkeypatch):
    operands = [RNG.standard_normal([{"a": 2, "b": 3, "c": 4, "d": 2, "e": 3, "i": 2, "j": 3, "k": 4}.get(c, 2) for c in labels])
                for labels in subscripts.replace("...", "").partition("->")[0].split(",")]
    if "..." in subscripts:
        operands = [RNG.standard_normal((2, 3)), RNG.standard_normal((3, 4)), RNG.standard_normal((4, 2))]
    expected = np.einsum(subscripts, *operands)
    np.testing.assert_allclose(rg.einsum(subscripts, *operands), expected, rtol=1e-10)

    def missing(*_):
        raise rg.errors.MissingExtraError("not there")

    monkeypatch.setattr(rg.extras, "optional", missing)
    np.testing.assert_allclose(rg.einsum(subscripts, *operands), expected, rtol=1e-10)
    check_gradients(lambda *x: rg.einsum(subscripts, *x), tuple(operands), order=1)


def test_a_chain_of_matrices_is_multiplied_from_its_narrow_end():
    sizes = {"a": 100, "b": 100, "c": 100, "d": 1}
    assert greedy_path(["ab", "bc", "cd"], "ad", sizes)[0] == (1, 2)


@pytest.mark.parametrize("method", [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"])
def test_every_method_of_quantile_is_numpys(method):
    for n in (1, 2, 5, 8):
        x = RNG.standard_normal(n)
        q = np.array([0.0, 0.1, 0.125, 0.25, 1 / 3, 0.5, 0.6, 0.875, 0.99, 1.0])
        np.testing.assert_allclose(rg.quantile(x, q, method=method), np.quantile(x, q, method=method), rtol=1e-12)


def test_a_quantile_has_a_derivative_in_its_part():
    check_gradients(lambda q: rg.quantile(X, q, 1), np.array([0.4, 0.75]), order=1)


def test_numpys_types_stand_for_ours_in_compiled_code():
    found = rg.jit(lambda x: rg.astype(x, np.int64) + 1)(np.array([1.5, 2.5]))
    assert (found.dtype, found.tolist()) == (rg.int64, [2, 3])


def test_of_bounds_in_the_wrong_order_the_upper_one_gets_the_gradient():
    x, low, high = (rg.tensor(v, requires_grad=True) for v in (0.0, 2.0, 1.0))
    rg.clip(x, low, high).backward()
    assert (float(high.grad), float(low.grad), float(x.grad)) == (1.0, 0.0, 0.0)


def test_infinities_divide_as_the_array_api_has_it():
    x, y = np.array([np.inf, -np.inf, np.inf, -1.0, 1.0, 1.0, np.inf]), np.array([2.0, 3.0, -4.0, np.inf, -np.inf, np.inf, np.inf])
    for divide in (rg.floor_divide, rg.jit(rg.floor_divide)):
        found = divide(x, y)
        np.testing.assert_array_equal(found, [np.inf, -np.inf, -np.inf, 0.0, 0.0, 0.0, np.nan])
        assert np.signbit(found[3:6]).tolist() == [True, True, False]
