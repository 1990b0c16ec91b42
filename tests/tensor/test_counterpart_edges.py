"""Functions of NumPy on tensors at the edges that NumPy's own tests try: the same values and dtypes as on arrays."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, RetrogradeError

INT, UNSIGNED = np.array([[5, 1, 3], [2, 8, 8]]), np.array([255, 128, 1], np.uint8)
HALF = np.array([[np.nan, 1, 2], [3, np.nan, 5]])
INF = np.inf
CALLS = {
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
