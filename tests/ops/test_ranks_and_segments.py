"""Ranks, scattering, segments, borders, resampling, windows: NumPy's values and refusals; PyTorch's are compared elsewhere."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, OutOfRangeError, ShapeError
from retrograde.ops.manipulation.borders import pad_border
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
X = RNG.permutation(24).reshape(4, 6) * 0.3 - 3.1


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1), -1])
def test_quantiles_are_numpys(method, axis):
    for q in (0.0, 0.37, np.array([[0.1, 0.9]])):
        np.testing.assert_allclose(rg.quantile(rg.tensor(X), q, axis, method=method).data, np.quantile(X, q, axis, method=method))


def test_the_median_of_numbers_with_a_nan_is_nan():
    x = X.copy()
    x[1, 2] = np.nan
    np.testing.assert_array_equal(rg.median(rg.tensor(x), axis=1).data, np.median(x, axis=1))
    assert rg.median(rg.tensor([1, 2, 4])).item() == 2.0


def test_the_median_of_an_even_count_shares_its_gradient():
    x = rg.tensor([1.0, 5.0, 2.0, 9.0], requires_grad=True)
    rg.median(x).backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("shape", [(3, 7), (5, 1200), (1500, 4)])
def test_of_equal_elements_the_gradient_of_a_quantile_goes_to_those_that_a_stable_order_has_at_its_place(shape):
    x = np.round(np.random.default_rng(1).standard_normal(shape) * 2)
    order, places = np.argsort(x, axis=1, kind="stable"), np.floor(np.array([0.2, 0.5]) * (shape[1] - 1)).astype(int)
    wanted = np.zeros(shape)
    np.add.at(wanted, (np.arange(shape[0])[:, None], order[:, places]), 1.0)
    gradient = rg.grad(lambda x: rg.quantile(x, [0.2, 0.5], axis=1, method="lower").sum())
    for function in (gradient, rg.jit(gradient)):
        np.testing.assert_array_equal(function(x), wanted)


@pytest.mark.parametrize("shape", [(4, 6), (4, 1500)])
@pytest.mark.parametrize("name", ["nanmedian", "nanquantile", "nanpercentile"])
def test_quantiles_without_nan_are_numpys(name, shape):
    rng = np.random.default_rng(2)
    x = np.where(rng.random(shape) < 0.3, np.nan, rng.standard_normal(shape))
    x[1], x[2, 0] = 0.5, np.inf
    q = {"nanmedian": (), "nanquantile": (np.array([0.1, 0.7]),), "nanpercentile": (30,)}[name]
    theirs = getattr(np, name)
    for axis in (None, 0, 1):
        np.testing.assert_allclose(theirs(rg.tensor(x), *q, axis=axis).data, theirs(x, *q, axis=axis))
    assert np.isnan(rg.nanmedian(rg.tensor([np.nan, np.nan])).item())
    x = rg.tensor([np.nan, 5.0, 2.0, 9.0, 1.0], requires_grad=True)
    rg.nanmedian(x).backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5, 0.0, 0.0]


def test_each_example_may_have_its_own_parts():
    q, function = np.array([0.1, 0.5, 0.9, 0.3]), rg.vmap(rg.quantile)
    np.testing.assert_allclose(function(rg.tensor(X), rg.tensor(q)).data, [np.quantile(*pair) for pair in zip(X, q, strict=True)])
    np.testing.assert_allclose(rg.jit(function)(X, q), [np.quantile(*pair) for pair in zip(X, q, strict=True)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint32", "uint64", "uint8"])
@pytest.mark.parametrize("shape", [(5, 9), (3, 700), (300, 12), (70000,)])
def test_sorting_is_stable_for_zeros_of_both_signs_and_nan(dtype, shape):
    rng, dtype = np.random.default_rng(3), np.dtype(dtype)
    many = np.iinfo(dtype) if dtype.kind != "f" else None
    drawn = [np.round(rng.standard_normal(shape) * 50), rng.standard_normal(shape)] if many is None else [
        rng.integers(many.min, many.max, shape, dtype, endpoint=True), rng.integers(0, 40, shape)]
    for x in drawn:
        x = x.astype(dtype)
        if dtype.kind == "f":
            for special in (-0.0, 0.0, np.nan, -np.nan, np.inf, -np.inf):
                x[rng.random(shape) < 0.05] = special
        order = np.argsort(x, axis=0, kind="stable")
        np.testing.assert_array_equal(rg.argsort(x, axis=0), order)
        found, wanted = rg.sort(x, axis=0), np.take_along_axis(x, order, 0)
        assert np.nan_to_num(found, nan=1).tobytes() == np.nan_to_num(wanted, nan=1).tobytes()
        backwards = np.flip(len(x) - 1 - np.argsort(x[::-1], axis=0, kind="stable"), 0)
        np.testing.assert_array_equal(rg.argsort(x, axis=0, descending=True), backwards)


@pytest.mark.parametrize(("function", "of_numpy"), [(rg.cummax, np.maximum), (rg.cummin, np.minimum)])
def test_running_extremes_are_numpys_and_stand_where_their_last_equal_is(function, of_numpy):
    rng = np.random.default_rng(4)
    x = np.where(rng.random((3, 50)) < 0.02, np.nan, np.round(rng.standard_normal((3, 50)) * 3))
    for found in (function(x, 1), rg.jit(lambda x: function(x, 1))(x), rg.vmap(lambda x: function(x, 0))(x)):
        values, places = map(np.asarray, found)
        np.testing.assert_array_equal(values, of_numpy.accumulate(x, 1))
        for row, column in np.ndindex(x.shape):
            equal = np.isnan(x[row]) if np.isnan(values[row, column]) else x[row] == values[row, column]
            assert places[row, column] == np.flatnonzero(equal[: column + 1])[-1]
    x = rg.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
    function(x, 0).values.sum().backward()
    assert x.grad.tolist() == ([1, 1, 2, 0] if function is rg.cummax else [4, 0, 0, 0])


def test_the_greatest_elements_receive_the_gradient():
    x = rg.tensor(X, requires_grad=True)
    values = rg.topk(x, 2, axis=0)[0]
    np.testing.assert_array_equal(values.data, -np.sort(-X, axis=0)[:2])
    values.sum().backward()
    np.testing.assert_array_equal(x.grad.data, np.greater_equal(X, np.sort(X, axis=0)[2]))
    with pytest.raises(ArgumentError, match="between 0 and"):
        rg.topk(x, 7)


@pytest.mark.parametrize("call", [lambda: rg.quantile(X, 1.5), lambda: rg.quantile(X, 0.5, method="mean"), lambda: rg.quantile(np.ones((0,)), 0.5),
                                  lambda: pad_border(X, 1, "mirror"), lambda: pad_border(np.ones((0,)), 1), lambda: rg.interpolate(X[None]),
                                  lambda: rg.interpolate(X[None], 3, mode="bicubic"), lambda: rg.interpolate(X[None], 3, mode="area", align_corners=True),
                                  lambda: rg.scatter_reduce(X, X, np.zeros((1, 1), int), reduce="median"), lambda: rg.meshgrid(X, X),
                                  lambda: rg.gather(X, np.zeros((9, 9), int)), lambda: rg.cumulative_sum(X), lambda: rg.segment_sum(X, np.array([0, 1]), 2),
                                  lambda: rg.tensordot(X, X, 2.5), lambda: rg.tensordot(X, X, 1), lambda: rg.cross(X, X), lambda: rg.vecdot(X, X[:, :2]),
                                  lambda: rg.conv3d(X, X), lambda: rg.conv_transpose2d(X, X), lambda: rg.max_pool3d(np.ones((1, 4, 4, 4)), (2, 2))])
def test_what_does_not_fit_is_refused(call):
    with pytest.raises((ArgumentError, ShapeError, TypeError)):
        call()


def test_an_index_out_of_range_is_refused():
    for call in (lambda: rg.gather(rg.tensor(X), np.array([[6]])), lambda: rg.segment_max(X, np.array([0, 1, 2, 4]), 4),
                 lambda: rg.scatter(rg.tensor(X), 0.0, np.array([[-7]]))):
        with pytest.raises(OutOfRangeError):
            call()


def test_a_product_of_a_segment_with_zeros_has_an_exact_gradient():
    x = rg.tensor([0.0, 3.0, 0.0, 0.0, 5.0], requires_grad=True)
    rg.segment_prod(x, np.array([0, 0, 1, 1, 2]), 3).sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0, 0.0, 1.0]


def test_ties_in_a_segment_share_the_gradient():
    x = rg.tensor([2.0, 2.0, 1.0], requires_grad=True)
    rg.segment_max(x, np.array([0, 0, 0]), 1).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(("ours", "theirs"), [("reflect", "reflect"), ("symmetric", "symmetric"), ("edge", "edge"), ("replicate", "edge"),
                                              ("wrap", "wrap"), ("circular", "wrap"), ("constant", "constant")])
def test_borders_are_numpys(ours, theirs):
    for widths in (2, ((1, 3), (0, 7))):
        np.testing.assert_array_equal(pad_border(X, widths, ours), np.pad(X, widths, theirs))


@pytest.mark.parametrize(("ours", "theirs", "operands"), [
    (rg.kron, np.kron, (X[:2], X[:, :2])), (rg.kron, np.kron, (X[0], X)), (lambda x, y: rg.tensordot(x, y, ((1, 0), (1, 0))),
     lambda x, y: np.tensordot(x, y, ((1, 0), (1, 0))), (X, X)), (rg.vecdot, np.vecdot, (X * 1j, X)), (rg.diff, np.diff, (X,)),
    (lambda x: rg.diff(x, axis=0, n=2, prepend=0), lambda x: np.diff(x, axis=0, n=2, prepend=0), (X,)),
    (lambda x: rg.cross(x, x[::-1]), lambda x: np.cross(x, x[::-1]), (X[:, :3],)), (rg.copysign, np.copysign, (X, X[::-1])),
    (lambda x: rg.searchsorted(np.sort(x[0]), x), lambda x: np.searchsorted(np.sort(x[0]), x), (X,)),
    (lambda x: rg.diff(x > 0), lambda x: np.diff(x > 0), (X,)),
], ids=range(10))
def test_values_are_numpys(ours, theirs, operands):
    np.testing.assert_allclose(ours(*map(rg.tensor, operands)).data, theirs(*operands))


def test_a_transposed_convolution_is_the_transpose_of_a_convolution():
    x, w, y = RNG.standard_normal((1, 2, 10)), RNG.standard_normal((3, 2, 4)), RNG.standard_normal((1, 3, 3))
    forward = (rg.conv1d(x, w, stride=3) * y).sum()
    np.testing.assert_allclose((rg.conv_transpose1d(y, w, stride=3) * x).sum(), forward)


def test_windows_of_volumes_and_lines():
    x = RNG.permutation(np.arange(64.0)).reshape(1, 4, 4, 4)
    blocks = x.reshape(1, 2, 2, 2, 2, 2, 2)
    np.testing.assert_array_equal(rg.max_pool3d(x, 2), blocks.max((2, 4, 6)))
    np.testing.assert_allclose(rg.avg_pool3d(x, 2), blocks.mean((2, 4, 6)))
    np.testing.assert_allclose(rg.adaptive_avg_pool3d(x, 2), blocks.mean((2, 4, 6)))
    check_gradients(lambda x: rg.adaptive_max_pool2d(x, (3, 2)), x[0])


def test_scatter_with_places_met_twice_has_its_gradient_in_compiled_code():
    x, y, places = rg.randn(2, 4), rg.randn(2, 3), rg.tensor([[0, 0, 2], [3, 1, 3]])
    gradients = rg.grad(lambda x, y, places: (rg.scatter(x, y, places, 1) * rg.arange(8).reshape(2, 4)).sum(), argnums=(0, 1))
    for function in (gradients, rg.jit(gradients)):
        of_x, of_y = function(x, y, places)
        assert of_x.tolist() == [[0, 1, 0, 3], [4, 0, 6, 0]]
        assert of_y.tolist() == [[0, 0, 2], [0, 5, 7]]
