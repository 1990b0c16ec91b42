"""Functions of NumPy on tensors at the edges that NumPy's own tests try: the same values and dtypes as on arrays."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import numpy as drop_in
from retrograde.errors import DTypeError, RetrogradeError

INT, UNSIGNED = np.array([[5, 1, 3], [2, 8, 8]]), np.array([255, 128, 1], np.uint8)
HALF = np.array([[np.nan, 1, 2], [3, np.nan, 5]])
INF, NANS, SOLID = np.inf, np.array([[np.nan, np.nan], [np.nan, 2.0]]), np.arange(24.0).reshape(2, 3, 4)
CALLS = {
    "a median between a number and an infinity": (lambda np, x: np.median(np.where(x > 4, -INF, x), axis=1), INT[:, :2] * 1.0),
    "a nanmedian between a number and an infinity": (lambda np, x: np.nanmedian(np.where(x > 1, INF, x), axis=0), HALF[:, :2]),
    "differences of unsigned integers": (lambda np, x: np.gradient(x), UNSIGNED),
    "unequal steps of unsigned integers": (lambda np, x: np.gradient(np.arange(3.0), x), UNSIGNED),
    "steps along chosen axes": (lambda np, x: np.gradient(x, 2.0, axis=1), HALF),
    "ends of differences": (lambda np, x: np.ediff1d(x, to_end=np.array([1], np.int8)), UNSIGNED.astype(np.int16)),
    "maxima of integers that may be NaN": (lambda np, x: np.nanmax(x, axis=0), INT),
    "minima of integers that may be NaN": (lambda np, x: np.nanmin(x), INT),
    "means of what is not NaN under a mask": (lambda np, x: np.nanmean(x, where=[True, False, True]), HALF),
    "variances of complex numbers under a mask": (lambda np, x: np.var(x + 2j * x, where=[True, False, True], axis=1), INT * 1.0),
    "covariances without degrees of freedom": (lambda np, x: np.cov(x, ddof=5), INT * 1.0),
    "zeros around a matrix": (lambda np, x: np.trim_zeros(x), np.pad(INT, 2)),
    "zeros in front": (lambda np, x: np.trim_zeros(x, "f"), np.array([0, 0, 1, 0, 2, 0])),
    "zeros along an axis": (lambda np, x: np.trim_zeros(x, "b", axis=1), np.pad(INT, 1)),
    "nothing but zeros": (lambda np, x: np.trim_zeros(x), np.zeros((3, 2))),
    "truth values in a triangle": (lambda np, x: np.tril(x), INT > 2),
    "truth values in the other triangle": (lambda np, x: np.triu(x), INT > 2),
    "lines to infinity": (lambda np, x: np.interp(x, [1.0, 2.0, INF], [1.0, INF, INF]), np.array([1.0, 1.5, 2.0, 3.0, INF])),
    "lines from infinity": (lambda np, x: np.interp(x, [-INF, 1.0], [5.0, 5.0]), np.array([0.0, 1.0])),
    "greatest where all are NaN": (lambda np, x: np.nanmax(x, axis=1), NANS),
    "least where all are NaN": (lambda np, x: np.nanmin(x, 1, keepdims=1), NANS.astype(np.float32)),
    "greatest of NaN, or a number": (lambda np, x: np.nanmax(x, initial=3.0), NANS[:1]),
    "axes kept by a number": (lambda np, x: [np.sum(x, 1, keepdims=1), np.median(x, 1, keepdims=1), np.any(x, 0, keepdims=1)], INT),
    "variances without degrees of freedom": (lambda np, x: np.nanvar(x, axis=1, ddof=2), HALF),
    "means with weights of two axes": (lambda np, x: np.average(x, (2, 0), np.arange(8.0).reshape(4, 2)), SOLID),
    "numbers for NaN among integers": (lambda np, x: np.nan_to_num(x), INT),
    "numbers for complex NaN": (lambda np, x: np.nan_to_num(x, nan=5.0), HALF * (1 + 1j)),
    "maxima under a mask": (lambda np, x: np.max(x, where=[True, False, True], initial=0), UNSIGNED),
    "powers in double precision": (lambda np, x: np.float_power(x, 2), UNSIGNED),
    "sizes of the least integer": (lambda np, x: np.fabs(x), np.array([-128], np.int8)),
    "what is left of great and tiny numbers": (lambda np, x: np.fmod(x, -3.0), np.array([1e17, -1e-20, -5.5, -0.0, INF])),
    "what is left of integers": (lambda np, x: np.fmod(x, np.array([3, -3], np.int8)), np.array([[-128], [127]], np.int8)),
    "fractions of infinities": (lambda np, x: np.modf(x), np.array([INF, -INF, -0.0, -1.5])),
    "divisors": (lambda np, x: [rg.tensor(np.gcd(x, 4)), rg.tensor(np.lcm(x, 4))], INT),
    "one condition of a piecewise function": (lambda np, x: np.piecewise(x, x > 2, [1.5, lambda x: -x]), INT[0]),
    "a number in pieces": (lambda np, x: np.piecewise(x, x > 3, [4, 0]), np.array(5)),
    "pieces chosen by truth values": (lambda np, x: np.piecewise(x, [True, False], [1]), np.array([2.0, 3.0])),
    "lines that repeat": (lambda np, x: np.interp(x, [1.0, 4.0, 2.0], [1.0, 2.0, 3.0], period=5), np.array([-3.0, 0.5, 9.0])),
    "whole numbers at equal steps": (lambda np, x: np.linspace(x, 2, 10, dtype=int), np.array(-2.0)),
    "equal steps in single precision": (lambda np, x: np.linspace(x, 2, 3), np.float32([1, 0])),
    "powers of several bases": (lambda np, x: np.logspace(0, 2, 3, base=x), np.array([2.0, 3.0])),
    "a product with a list": (lambda np, x: [np.dot([1, 2], x), np.inner([1, 2, 3], x), np.cross([1, 2, 3], x)], INT),
    "a convolution with a list": (lambda np, x: np.convolve(x, [1, 2], "same"), INT[0]),
    "a correlation with a longer one": (lambda np, x: np.correlate(x, [1, 2j, 3], "full"), np.array([1 + 1j, 2])),
    "a convolution with a number": (lambda np, x: np.convolve(x, 2.0), INT[0]),
    "integers rounded to tens": (lambda np, x: np.round(x, -1), np.array([15, 25, 34])),
    "integers rounded to tenths": (lambda np, x: np.round(x, 1), np.array([2**60 + 1])),
    "elements as quantiles": (lambda np, x: np.quantile(x, [0.4, 0.9], method="higher"), np.array([1, 2, 2**60 + 1])),
    "elements as quantiles beside NaN": (lambda np, x: np.nanpercentile(x, 40, axis=1, method="nearest"), INT),
    "a sparse grid": (lambda np, x: np.meshgrid(x, x[:2], x, sparse=True), np.array([1.0, 2.0, 3.0])),
    "least squares with rows left over": (lambda np, x: np.linalg.lstsq(x, np.array([1.0, 0, 2]))[:2], INT.T * 1.0),
    "borders by axis": (lambda np, x: np.pad(x, {0: 1, -1: (0, 2)}), INT),
    "residuals": (lambda np, x: np.linalg.lstsq(x, np.ones((2, 2)) + 1j)[1], INT * 1.0),
    "a rank by a bound": (lambda np, x: np.linalg.matrix_rank(x, tol=3.5), INT * 1.0),
    "the rank of a vector": (lambda np, x: np.linalg.matrix_rank(x) * np.int64(1), INT[0]),
    "the triangle alone": (lambda np, x: np.abs(np.linalg.qr(x, "r")), INT * 1.0),
    "conditions of singular matrices": (lambda np, x: np.linalg.cond(x), np.array([np.zeros((2, 2)), np.eye(2), np.ones((2, 2))])),
    "the least integer as a vector": (lambda np, x: np.linalg.norm(x, 3), np.array([-2**31], np.int32)),
    "norms of nothing": (lambda np, x: [np.linalg.norm(x, INF, 1), np.linalg.matrix_norm(x, ord=2)], np.zeros((2, 0))),
    "one triangle of a matrix with a factor": (lambda np, x: np.linalg.cholesky(x), np.array([[2.0, 9.0], [1.0, 3.0]])),
    "a product of many": (lambda np, x: np.linalg.multi_dot([x[0], x.T, x]), INT * 1.0),
    "medians of infinities": (lambda np, x: np.median(x, axis=1), np.array([[-INF, -INF], [INF, INF], [1, 2]])),
}
REFUSED = {
    "two axes cut along the third": lambda x: np.dsplit(x, 1), "a vector cut in rows": lambda x: np.vsplit(x[0], 1),
    "no parts": lambda x: np.array_split(x, 0), "an outer product of matrices": lambda x: np.linalg.outer(x, x),
    "weights of another shape without an axis": lambda x: np.average(x, weights=np.ones(3)),
    "weights of the wrong length": lambda x: np.average(x, 0, weights=np.ones(3)),
    "one point": lambda x: np.gradient(x[:, :1]), "steps of another length": lambda x: np.gradient(x, np.ones(4), axis=1),
    "ends that do not fit": lambda x: np.ediff1d(x.astype(np.int8), to_end=np.array([0.5])),
    "quantiles of complex numbers": lambda x: np.quantile(x * 1j, 0.5), "letters": lambda x: np.trim_zeros(x, "c"),
    "no such number of an axis": lambda x: np.einsum(x, [0, -1], [0]), "no such letter": lambda x: np.einsum(x, [0, 52], [0]),
    "more functions than conditions": lambda x: np.piecewise(x, [x > 1], [1, 2, 3]),
    "choices by numbers": lambda x: np.select([1, 0], [x, x]), "more choices than conditions": lambda x: np.select([x > 1], [x, x]),
    "a plane of one axis": lambda x: np.rot90(x, 1, (0, 0)), "fewer values than points": lambda x: np.interp(x, [1, 2], [1]),
    "a negative number of points": lambda x: np.linspace(x, 1, -1), "two names of one number": lambda x: np.nanvar(x, ddof=1, correction=2),
    "no such way to convolve": lambda x: np.convolve(x[0], x[0], "all"), "a matrix as a vector": lambda x: np.vander(x),
    "one matrix": lambda x: np.linalg.multi_dot([x]), "no axis for rows": lambda x: np.linalg.tensorinv(x, 0),
    "fractions as exponents": lambda x: np.ldexp(x * 1.0, 1.5), "sizes of complex numbers": lambda x: np.fabs(x * 1j),
    "an axis that is not there": lambda x: np.gradient(x * 1.0, axis=2), "a maximum of nothing": lambda x: np.max(x, where=x > 0),
    "half an element of a border": lambda x: np.pad(x, 1.5), "a border of less than nothing": lambda x: np.pad(x, -1, "edge"),
    "lines of nothing": lambda x: np.apply_along_axis(lambda line: line.sum(), 0, x[:, :0]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_values_and_dtypes_are_those_of_arrays(name):
    function, x = CALLS[name]
    found, expected = function(np, rg.tensor(x)), function(np, x)
    for ours, theirs in zip(found, expected, strict=True) if isinstance(expected, (list, tuple)) else [(found, expected)]:
        assert isinstance(ours, rg.Tensor)
        np.testing.assert_allclose(ours.data, theirs, rtol=1e-12)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_in_words(name):
    for x in (INT, rg.tensor(INT)):
        with pytest.raises((ValueError, TypeError, IndexError)) as raised:
            REFUSED[name](x)
    assert isinstance(raised.value, RetrogradeError)


def test_an_axis_that_is_not_there_and_a_matrix_without_an_answer_are_the_errors_of_numpy():
    x = rg.tensor(INT * 1.0)
    for call in (lambda: np.sum(x, 3), lambda: rg.moveaxis(x, 5, 0), lambda: np.flip(x, 2)):
        with pytest.raises(np.exceptions.AxisError) as raised:
            call()
        assert isinstance(raised.value, (rg.errors.OutOfRangeError, ValueError))
    for call in (lambda: np.linalg.inv(x[:, :1] * x[:, :1].T), lambda: np.linalg.cholesky(-x[:, :2])):
        with pytest.raises(np.linalg.LinAlgError, match="no answer") as raised:
            call()
        assert isinstance(raised.value, rg.errors.ArgumentError)


def test_what_is_left_over_has_the_gradient_of_the_whole_quotients():
    x, y = rg.tensor([7.5, -7.5, 0.0], requires_grad=True), rg.tensor([2.0, 2.0, -3.0], requires_grad=True)
    np.fmod(x, y).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    assert y.grad.tolist() == [-3, 3, 0]


def test_a_variance_is_never_negative():
    x = rg.tensor([1.0, 2.0])
    with np.errstate(divide="ignore"):
        assert rg.var(x, correction=3) == INF
        assert rg.var(x, correction=3, where=np.array([True, True])) == INF
    with pytest.raises(DTypeError, match="order"):
        rg.nanquantile(x * 1j, 0.5)


def test_a_line_between_finite_points_keeps_its_gradient_beside_infinite_ones():
    x = np.array([0.25, 1.0])
    found = rg.grad(lambda x: np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 8.0])).sum())(x)
    assert found.tolist() == [2, 6]


def test_least_squares_take_the_unit_of_rounding_for_a_bound_below_zero():
    # Singular values without rounding, the last one between the unit of rounding and six times that, as many as there are rows.
    x = np.eye(6, 4) * [1.0, 2.0**-2, 2.0**-3, 2.0**-51]
    for rcond, rank in ((-1, 4), (None, 3)):
        assert int(np.linalg.lstsq(rg.tensor(x), rg.tensor(x[:, 0]), rcond=rcond)[2]) == rank
        assert np.linalg.lstsq(x, x[:, 0], rcond=rcond)[2] == rank
    for shape in ((0, 0), (0, 4), (4, 0)):
        x = np.zeros(shape)
        found, expected = np.linalg.lstsq(rg.tensor(x), rg.tensor(x[:, :0])), np.linalg.lstsq(x, x[:, :0])
        assert [np.shape(part) for part in found] == [np.shape(part) for part in expected]


def test_lists_are_handed_on_to_numpy_as_lists():
    x = np.array([[0.1, 0.5], [0.7, 1.5], [0.3, 0.9]])
    edges = [np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 2.0])]
    found, expected = drop_in.histogramdd(rg.tensor(x), bins=list(map(rg.tensor, edges))), np.histogramdd(x, bins=edges)
    np.testing.assert_array_equal(found[0], expected[0])
    columns = [rg.tensor(x[:, 0]), rg.tensor(x[:, 1])]
    np.testing.assert_array_equal(drop_in.histogramdd(columns, bins=edges)[0], expected[0])
    np.testing.assert_array_equal(np.asarray(drop_in.piecewise([0, 0], rg.tensor([True, False]), [1])), [1, 0])


def test_places_along_one_axis_are_not_those_along_all():
    for x in (SOLID[0], rg.tensor(SOLID[0, :3, :3])):
        with pytest.raises(TypeError):
            np.gradient(x, np.arange(3.0))


def test_a_place_before_which_an_axis_is_rolled_must_be_there():
    for start in (-4, 4):
        with pytest.raises(np.exceptions.AxisError):
            np.rollaxis(rg.tensor(SOLID), 0, start)
    assert np.rollaxis(rg.tensor(SOLID), 0, 3).shape == np.rollaxis(SOLID, 0, 3).shape


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
@pytest.mark.parametrize("shape", [(1, 0), (1, 3), (3, 1)])
def test_a_triangle_of_no_square_matrix_is_an_error(name, shape):
    with pytest.raises(RetrogradeError, match="square"):
        getattr(np.linalg, name)(rg.tensor(np.ones(shape)))
