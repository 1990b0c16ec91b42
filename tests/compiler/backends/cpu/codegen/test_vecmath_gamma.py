"""The gamma function's logarithm and its derivative, and the inverse of the error function, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from harness import LANES, compile_named
from scipy import special

RANDOM = np.random.default_rng(0)
POSITIVE = np.concatenate([
    RANDOM.uniform(0, 12, 300), RANDOM.uniform(0.9, 1.1, 60), RANDOM.uniform(1.4, 2.1, 100), 2.0 ** RANDOM.uniform(-1000, 990, 200),
    RANDOM.uniform(10, 200, 100), np.arange(1, 30) * 0.5, [np.nextafter(10, 0), np.nextafter(1.5, 0), np.nextafter(2.5, 0)]])
NEGATIVE = -np.concatenate([RANDOM.uniform(0, 20, 400), 2.0 ** RANDOM.uniform(-300, 30, 100)])
INSIDE = np.concatenate([
    RANDOM.uniform(-1, 1, 300), 1 - 2.0 ** -RANDOM.uniform(1, 53, 200), -(1 - 2.0 ** -RANDOM.uniform(1, 53, 100)),
    2.0 ** RANDOM.uniform(-1000, -1, 100)])


def _log_gamma(x):
    return mp.log(abs(mp.gamma(x))) if -1e5 < x < 0 else mp.re(mp.loggamma(x))


CASES = {
    "lgamma of positive numbers": ("lgamma", _log_gamma, POSITIVE, 3),
    "lgamma of negative numbers": ("lgamma", _log_gamma, NEGATIVE, 6),
    "digamma of positive numbers": ("digamma", mp.digamma, POSITIVE, 4),
    "digamma of negative numbers": ("digamma", mp.digamma, NEGATIVE, 3),
    "erfinv": ("erfinv", mp.erfinv, INSIDE, 4),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_error_is_bounded(case, dtype):
    """In units of the last place, and near zeros, where those are small, in units of that of 1."""
    name, reference, x, bound = CASES[case]
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x = x[np.isfinite(x) & (x != 0) & ((x > 0) | (x != np.floor(x))) & ((name != "erfinv") | (np.abs(x) < 1))]
    found, least = compile_named(name, dtype, LANES[dtype])(x), np.finfo(dtype).eps if name != "erfinv" else 0
    for value, result in zip(x.tolist(), found, strict=True):
        with mp.workdps(60):
            exact = reference(mp.mpf(value))
            if abs(exact) < np.finfo(dtype).max:
                unit = max(float(np.spacing(np.abs(result))), float(least))
                assert abs(mp.mpf(float(result)) - exact) <= (0.51 if dtype == "float32" else bound) * unit, value


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv"])
def test_edges_are_scipys(name):
    x = np.array([0.0, -0.0, 1, -1, 2, -2, -1e20, np.inf, -np.inf, np.nan, 1e306, 1e-300, 1.5, -3.5])
    expected = {"lgamma": special.gammaln, "digamma": special.digamma, "erfinv": special.erfinv}[name](x)
    expected = np.where(np.isinf(x) & (name == "lgamma"), np.inf, expected)  # that of -inf is +inf: |gamma| grows without end
    for dtype in ("float32", "float64"):
        with np.errstate(over="ignore"):
            found, wanted = compile_named(name, dtype, 4)(x[:10].astype(dtype)), expected[:10].astype(dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(compile_named(name, "float64", 4)(x), expected, rtol=1e-12)
