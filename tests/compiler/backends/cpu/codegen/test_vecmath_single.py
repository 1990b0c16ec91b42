"""float32 results against references in extended precision, over all exponents."""

import numpy as np
import pytest
from harness import LANES, compile_named, units_in_last_place

special = pytest.importorskip("scipy.special", reason="references for the error function")
wide = np.longdouble


def _normal_distribution(x):
    return special.erfc(-np.asarray(x, np.float64) / np.sqrt(2.0)) / 2


def _sigmoid(x):
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, power) / (1 + power)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu_tanh(x):
    return x * _sigmoid(2 * np.sqrt(2 / wide(np.pi)) * (x + wide("0.044715") * x * x * x))


# name: (reference, greatest error in units of the last place)
UNARY = {
    "exp": (np.exp, 2),
    "exp2": (np.exp2, 2),
    "expm1": (np.expm1, 2),
    "log": (np.log, 2),
    "log2": (np.log2, 2),
    "log10": (np.log10, 2),
    "log1p": (np.log1p, 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 2),
    "asin": (np.arcsin, 2),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 2),
    "sinh": (np.sinh, 2),
    "cosh": (np.cosh, 2),
    "tanh": (np.tanh, 2),
    "asinh": (np.arcsinh, 2),
    "acosh": (np.arccosh, 2),
    "atanh": (np.arctanh, 2),
    "cbrt": (np.cbrt, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "reciprocal": (lambda x: 1 / x, 0.5),
    "sigmoid": (_sigmoid, 2),
    "log_sigmoid": (lambda x: -_softplus(-x), 2),
    "softplus": (_softplus, 2),
    "silu": (lambda x: np.where(x == -np.inf, 0, x * _sigmoid(x)), 4),
    "erf": (lambda x: special.erf(x.astype(np.float64)).astype(wide), 4),
    "erfc": (lambda x: special.erfc(x.astype(np.float64)).astype(wide), 4),
    "gelu": (lambda x: np.where(x == -np.inf, 0, x * _normal_distribution(x)), 4),
    "gelu_tanh": (lambda x: np.where(x == -np.inf, 0, _gelu_tanh(x)), 4),
}


def _all_magnitudes(random, count):
    """Random bit patterns, which spread over all exponents, denormals, infinities and NaN; and everyday numbers."""
    patterns = random.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    usual = [random.uniform(-bound, bound, count // 8).astype(np.float32) for bound in (1, 3, 12, 110, 5e4)]
    return np.concatenate([patterns[np.isfinite(patterns)], *usual])


def test_the_measure_of_errors_sees_one_wrong_bit_sign_and_nan():
    exact = np.array([1.0, 2.0, -0.5, np.nan, np.inf, 3.0, 1e-45], wide)
    found = np.array([1.0, np.nextafter(np.float32(2), np.float32(3)), 0.5, np.nan, np.inf, np.nan, 0], np.float32)
    errors = units_in_last_place(found, exact)
    assert errors[[0, 3, 4]].tolist() == [0, 0, 0]
    assert errors[1] == 1
    assert errors[2] > 1e6
    assert errors[5] == np.inf
    assert 0 < errors[6] < 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", UNARY)
def test_error_is_bounded_over_the_whole_range(name):
    reference, bound = UNARY[name]
    x = _all_magnitudes(np.random.default_rng(0), 200_000)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(wide))
    errors = units_in_last_place(compile_named(name, "float32", LANES["float32"])(x), exact)
    worst = errors.argmax()
    assert errors[worst] <= bound, (x[worst], exact[worst])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_error_is_bounded_next_to_multiples_of_a_quarter_turn(name):
    turns = np.unique(np.geomspace(1, 2**40, 20_000).round())
    x = (turns * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), -x])
    errors = units_in_last_place(compile_named(name, "float32", 8)(x), getattr(np, name)(x.astype(wide)))
    assert errors.max() <= 2


# Where one form of a function takes over from another, or its argument is divided by the next power of two.
JOINTS = {"tanh": (0.25, 0.62), "log": (1.25, 1.45), "log1p": (0.3, 0.36), "asinh": (0.28, 0.38), "softplus": (-1.2, -1.0),
          "exp": (0.3, 0.4), "sin": (0.7, 0.9), "cos": (0.7, 0.9)}


@pytest.mark.parametrize("name", JOINTS)
def test_error_is_bounded_where_two_forms_meet(name):
    reference, bound = UNARY[name]
    low, high = np.sort(np.float32(JOINTS[name]).view(np.int32))
    x = np.arange(low, high, 11, np.int32).view(np.float32)
    errors = units_in_last_place(compile_named(name, "float32", LANES["float32"])(x), reference(x.astype(wide)))
    assert errors.max() <= bound


PAIRS = {"sincos": ("sin", "cos")} | {f"{name}_and_slope": (name, f"{name}_slope") for name in ("gelu", "gelu_tanh", "silu")}


@pytest.mark.parametrize(("both", "names"), PAIRS.items())
def test_what_is_found_together_is_what_is_found_alone(both, names):
    x = np.append(_all_magnitudes(np.random.default_rng(1), 20_000), np.float32([0, -0.0, np.inf, -np.inf, np.nan]))
    for found, name in zip(compile_named(both, "float32", 8, outputs=2)(x), names, strict=True):
        assert np.array_equal(found, compile_named(name, "float32", 8)(x), equal_nan=True)


def _gated_slope(chance, x, slope_of_angle):
    return chance + x * slope_of_angle * chance * (1 - chance)


def _slope_of_gelu_tanh(x):
    rate, cubic = 2 * np.sqrt(2 / wide(np.pi)), wide("0.044715")
    return _gated_slope(_sigmoid(rate * (x + cubic * x * x * x)), x, rate * (1 + 3 * cubic * x * x))


SLOPES = {
    "gelu": lambda x: special.ndtr(x.astype(np.float64)) + x * np.exp(-x * x / 2) / np.sqrt(2 * wide(np.pi)),
    "gelu_tanh": _slope_of_gelu_tanh, "silu": lambda x: _gated_slope(_sigmoid(x), x, 1)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SLOPES)
def test_error_of_slopes_is_small_beside_one(name, dtype):
    x = np.append(np.random.default_rng(4).uniform(-15, 15, 200_000), [0, 200, -200, np.inf, -np.inf]).astype(dtype)
    slope, flat = compile_named(f"{name}_slope", dtype, LANES[dtype]), np.clip(x.astype(wide), -60, 60)
    assert np.abs(slope(x) - SLOPES[name](flat)).max() <= 2 * np.finfo(dtype).eps
    assert np.isnan(slope(np.full(8, np.nan, dtype))).all()


BINARY = {"power": (np.power, 4), "atan2": (np.arctan2, 2), "hypot": (np.hypot, 2), "logaddexp": (np.logaddexp, 4)}


def _pairs(name, random):
    if name == "power":
        x = np.exp(random.uniform(-80, 80, 200_000)) * random.choice([1, -1], 200_000)
        y = np.where(x < 0, random.integers(-9, 9, 200_000), random.standard_normal(200_000) * 3)
        return x.astype(np.float32), y.astype(np.float32)
    if name == "logaddexp":
        # Beyond ln 2 from zero, so that the sum of the two terms does not cancel.
        return random.uniform(1, 100, (2, 200_000)).astype(np.float32)
    return (np.exp(random.uniform(-80, 80, (2, 200_000))) * random.choice([1, -1], (2, 200_000))).astype(np.float32)


@pytest.mark.parametrize("name", BINARY)
def test_error_of_two_operands_is_bounded(name):
    reference, bound = BINARY[name]
    x, y = _pairs(name, np.random.default_rng(2))
    with np.errstate(all="ignore"):
        exact = reference(x.astype(wide), y.astype(wide))
    errors = units_in_last_place(compile_named(name, "float32", 8, inputs=2)(x, y), exact)
    worst = errors.argmax()
    assert errors[worst] <= bound, (x[worst], y[worst], exact[worst])
