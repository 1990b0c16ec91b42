"""Special values against NumPy, and results that do not depend on the number of lanes."""

import numpy as np
import pytest
from harness import LANES, bits_of, compile_named

INFINITY = np.inf
NUMPY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": np.reciprocal,
}
# name: results at -inf, -0, 0 and inf
LIMITS = {
    "sigmoid": (0.0, 0.5, 0.5, 1.0),
    "log_sigmoid": (-INFINITY, -np.log(2), -np.log(2), -0.0),
    "softplus": (0.0, np.log(2), np.log(2), INFINITY),
    "silu": (-0.0, -0.0, 0.0, INFINITY),
    "erf": (-1.0, -0.0, 0.0, 1.0),
    "erfc": (2.0, 1.0, 1.0, 0.0),
    "gelu": (-0.0, -0.0, 0.0, INFINITY),
    "gelu_tanh": (-0.0, -0.0, 0.0, INFINITY),
}
BINARY = {"power": np.power, "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp, "remainder": np.remainder}
DTYPES = ("float32", "float64")


def _special(dtype):
    limits = np.finfo(dtype)
    magnitudes = [0.0, 0.5, 1.0, 2.0, 3.0, 1e30, limits.max, limits.tiny, limits.smallest_subnormal, np.inf]
    return np.array([*magnitudes, *(-x for x in magnitudes), np.nan], dtype)


def _assert_same(found, expected, inexact=2):
    """Equal with sign where the result is zero, infinite or NaN; elsewhere within a few units of the last place."""
    is_plain = np.isfinite(expected) & (expected != 0)
    assert np.array_equal(bits_of(found[~is_plain]), bits_of(expected[~is_plain]))
    with np.errstate(all="ignore"):
        error = np.abs(found[is_plain] - expected[is_plain]) / np.spacing(np.abs(expected[is_plain]))
    assert np.all(error <= inexact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMPY)
def test_special_values_are_those_of_numpy(name, dtype):
    x = _special(dtype)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](x)
    _assert_same(compile_named(name, dtype, LANES[dtype])(x), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_activations(name, dtype):
    x = np.array([-INFINITY, -0.0, 0.0, INFINITY, np.nan], dtype)
    _assert_same(compile_named(name, dtype, LANES[dtype])(x), np.array([*LIMITS[name], np.nan], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs_are_those_of_numpy(name, dtype):
    odd = 2.0 ** (24 if dtype == "float32" else 53) - 1
    values = np.append(_special(dtype), np.array([odd, -odd, odd + 1, 0.99999, -1.00001], dtype))
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        # In extended precision, since NumPy's float32 versions of these are themselves a few units off.
        expected = BINARY[name](x.astype(np.longdouble), y.astype(np.longdouble)).astype(dtype)
    if name == "logaddexp":
        is_cancelling = np.isfinite(expected) & (np.abs(expected) < 0.5)
        x, y, expected = x[~is_cancelling], y[~is_cancelling], expected[~is_cancelling]
    _assert_same(compile_named(name, dtype, LANES[dtype], inputs=2)(x, y), expected, inexact=4)


def _mixed(dtype):
    random = np.random.default_rng(5)
    integer = f"uint{np.dtype(dtype).itemsize * 8}"
    patterns = random.integers(0, np.iinfo(integer).max, 3001, dtype=integer).view(dtype)
    usual = [(random.standard_normal(3001) * size).astype(dtype) for size in (0.1, 1, 10, 1000)]
    return np.concatenate([_special(dtype), patterns, *usual])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*NUMPY, *LIMITS])
def test_vectors_give_the_bits_of_scalars(name, dtype):
    x = _mixed(dtype)
    vectors = compile_named(name, dtype, LANES[dtype])(x)
    assert np.array_equal(bits_of(vectors), bits_of(compile_named(name, dtype, 1)(x)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf"])
def test_wider_vectors_give_the_same_bits(name, dtype):
    x = _mixed(dtype)
    wider = compile_named(name, dtype, LANES[dtype] * 2)(x)
    assert np.array_equal(bits_of(wider), bits_of(compile_named(name, dtype, LANES[dtype])(x)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_vectors_of_two_operands_give_the_bits_of_scalars(name, dtype):
    x = _mixed(dtype)
    y = np.random.default_rng(6).permutation(x)
    vectors = compile_named(name, dtype, LANES[dtype], inputs=2)(x, y)
    assert np.array_equal(bits_of(vectors), bits_of(compile_named(name, dtype, 1, inputs=2)(x, y)))
