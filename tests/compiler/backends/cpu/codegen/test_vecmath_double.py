"""float64 results against mpmath, over all exponents of the domain."""

import mpmath as mp
import numpy as np
import pytest
from harness import LANES, compile_named

HUGE = 1.7e308


def _asinh(x):
    # mpmath cancels for small and negative numbers.
    magnitude = abs(x)
    return mp.sign(x) * mp.log1p(magnitude + magnitude**2 / (1 + mp.sqrt(magnitude**2 + 1)))


def _gelu_tanh(x):
    return x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


# name: (reference, lower and upper end of the domain in which results are finite, greatest error)
UNARY = {
    "exp": (mp.exp, -750, 709.7, 2),
    "exp2": (lambda x: mp.mpf(2) ** x, -1080, 1023.9, 2),
    "expm1": (mp.expm1, -750, 709.7, 2),
    "log": (mp.log, 0, HUGE, 2),
    "log2": (lambda x: mp.log(x) / mp.log(2), 0, HUGE, 2),
    "log10": (mp.log10, 0, HUGE, 2),
    "log1p": (mp.log1p, -1, HUGE, 2),
    "sin": (mp.sin, -HUGE, HUGE, 2),
    "cos": (mp.cos, -HUGE, HUGE, 2),
    "tan": (mp.tan, -HUGE, HUGE, 2),
    "asin": (mp.asin, -1, 1, 2),
    "acos": (mp.acos, -1, 1, 2),
    "atan": (mp.atan, -HUGE, HUGE, 2),
    "sinh": (lambda x: (mp.expm1(x) - mp.expm1(-x)) / 2, -710, 710, 2),
    "cosh": (mp.cosh, -710, 710, 2),
    "tanh": (lambda x: mp.expm1(2 * x) / (mp.expm1(2 * x) + 2), -400, 400, 2),
    "asinh": (_asinh, -HUGE, HUGE, 2),
    "acosh": (mp.acosh, 1, HUGE, 2),
    "atanh": (lambda x: (mp.log1p(x) - mp.log1p(-x)) / 2, -1, 1, 2),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), -HUGE, HUGE, 1),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0, HUGE, 2),
    "reciprocal": (lambda x: 1 / x, -HUGE, HUGE, 0.5),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), -750, 750, 2),
    "log_sigmoid": (lambda x: -mp.log1p(mp.exp(-x)), -750, 750, 2),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), -750, 750, 2),
    "silu": (lambda x: x / (1 + mp.exp(-x)), -760, 750, 4),
    "erf": (mp.erf, -7, 7, 4),
    "erfc": (mp.erfc, -7, 27.5, 4),
    "gelu": (lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, -38.7, 40, 4),
    "gelu_tanh": (_gelu_tanh, -23, 40, 4),
}
BINARY = {"power": (mp.power, 4), "atan2": (mp.atan2, 2), "hypot": (mp.hypot, 2), "logaddexp": (None, 4)}


def _worst(found, exact):
    """The greatest error in units of the last place of the exact results."""
    errors = []
    for value, target in zip(found.tolist(), exact, strict=True):
        unit = mp.mpf(float(np.spacing(abs(float(target)))))
        errors.append(float(abs(mp.mpf(value) - target) / unit) if np.isfinite(float(target)) else 0.0)
    return max(errors)


def _domain(low, high, random):
    everyday = random.standard_normal(400) * random.choice([0.3, 1, 3, 10], 400)
    even = random.uniform(max(low, -800), min(high, 800), 400)
    spread = 2.0 ** random.uniform(-1074, 1023.9, 400) * random.choice([1, -1], 400)
    x = np.concatenate([everyday, even, spread])
    return x[(x > low) & (x < high) & (x != 0)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", UNARY)
def test_error_is_bounded_over_the_whole_range(name):
    reference, low, high, bound = UNARY[name]
    x = _domain(low, high, np.random.default_rng(0))
    found = compile_named(name, "float64", LANES["float64"])(x)
    with mp.workdps(40):
        assert _worst(found, [reference(mp.mpf(value)) for value in x.tolist()]) <= bound


def test_sine_of_the_hardest_double_is_right():
    # 6381956970095103 * 2^797 comes closest of all doubles to a multiple of pi / 2 (Muller, Elementary Functions).
    x = np.array([6381956970095103 * 2.0**797, -6381956970095103 * 2.0**797, 1e22, 2.0**1023])
    with mp.workdps(400):
        for name, reference in (("sin", mp.sin), ("cos", mp.cos), ("tan", mp.tan)):
            found = compile_named(name, "float64", 4)(x)
            assert _worst(found, [reference(mp.mpf(value)) for value in x.tolist()]) <= 2


def test_sine_and_tangent_next_to_multiples_of_a_quarter_turn():
    turns = np.unique(np.geomspace(1, 2**52, 600).round())
    x = turns * (np.pi / 2)
    x = np.concatenate([x, np.nextafter(x, 0), -x])
    with mp.workdps(60):
        for name, reference in (("sin", mp.sin), ("cos", mp.cos), ("tan", mp.tan)):
            found = compile_named(name, "float64", 4)(x)
            assert _worst(found, [reference(mp.mpf(value)) for value in x.tolist()]) <= 2


def _pairs(name, random):
    if name == "power":
        x = np.exp(random.uniform(-700, 700, 800)) * random.choice([1, -1], 800)
        x = np.concatenate([x, random.uniform(0.9, 1.1, 800)])
        y = np.where(x < 0, random.integers(-3, 3, 1600), random.standard_normal(1600) * 2)
        y[800:] *= 1000
        return x, y
    if name == "logaddexp":
        return random.uniform(1, 700, (2, 800))
    return np.exp(random.uniform(-700, 700, (2, 800))) * random.choice([1, -1], (2, 800))


@pytest.mark.parametrize("name", BINARY)
def test_error_of_two_operands_is_bounded(name):
    reference, bound = BINARY[name]
    x, y = _pairs(name, np.random.default_rng(2))
    found = compile_named(name, "float64", 4, inputs=2)(x, y)
    reference = reference or (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)))
    with mp.workdps(40):
        exact = [mp.re(reference(mp.mpf(a), mp.mpf(b))) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        assert _worst(found, exact) <= bound
