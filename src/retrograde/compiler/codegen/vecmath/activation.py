"""sigmoid, log_sigmoid, softplus, silu, gelu and gelu_tanh, precise in relative terms also where tiny; slopes of the last three."""

import math
from typing import NamedTuple

from .exponential import exp_of_nonpositive, exponential, exponential_less_one, reduce, scale
from .logarithmic import log1p_of_exp
from .special import ZERO_ABOVE, complement
from .table import function, function_for

# 2 sqrt(2 / pi) and 0.044715 times that, each as a leading and a trailing part.
_LINEAR = {
    "float32": (1.5957691669464111, -4.534068054340423e-08),
    "float64": (1.5957691216057308, -9.96930880911092e-17),
}
_CUBIC = {
    "float32": (0.07135481387376785, 2.3988324659995897e-09),
    "float64": (0.07135481627260025, -6.175149918155315e-19),
}
# The square root of 1/2, likewise.
_SQRT_HALF = {"float32": (0.7071067690849304, 1.2101617485882343e-08), "float64": (0.7071067811865476, -4.833646656726457e-17)}
# Where x e^x is below half the smallest denormal.
_LOWEST = {"float32": -112.0, "float64": -760.0}


@function
def sigmoid(k, x):
    """1 / (1 + e^-x)."""
    power = exp_of_nonpositive(k, k.negative(k.abs(x)))
    below = k.add(power, 1)
    lost = k.subtract(power, k.subtract(below, 1))
    # The remainder of the division, given back, makes up for the rounding of the sum and of the quotient.
    numerator, inverse = k.where(k.less(x, 0), power, 1), k.divide(1, below)
    quotient = k.multiply(numerator, inverse)
    negative = k.negative(quotient)
    remainder = k.fma(negative, lost, k.fma(negative, below, numerator))
    return k.fma(remainder, inverse, quotient)


@function
def silu(k, x):
    """`x` / (1 + e^-x); zero in the limit at minus infinity."""
    return _gated(k, x, _silu_gate(k, x))


@function
def silu_slope(k, x):
    """The derivative of `silu`; its error is small beside 1."""
    return _gated_slope(k, _silu_gate(k, x))


@function_for("float32", "float64", results=2)
def silu_and_slope(k, x):
    """`silu` and its derivative."""
    gate = _silu_gate(k, x)
    return _gated(k, x, gate), _gated_slope(k, gate)


def _silu_gate(k, x):
    bounded = k.clip(x, _LOWEST[k.dtype], -_LOWEST[k.dtype])
    return _gate(k, bounded, None, *reduce(k, k.negative(k.abs(bounded))))


@function
def log_sigmoid(k, x):
    """Logarithm of 1 / (1 + e^-x)."""
    return k.subtract(k.where(k.greater(x, 0), -0.0, x), log1p_of_exp(k, k.negative(k.abs(x))))


@function
def softplus(k, x):
    """Logarithm of 1 + e^x."""
    return k.add(k.where(k.less(x, 0), 0, x), log1p_of_exp(k, k.negative(k.abs(x))))


@function
def gelu(k, x):
    """`x` times the normal distribution function of x; zero in the limit at minus infinity."""
    return _gelu(k, x, *_tail(k, x))


@function
def gelu_slope(k, x):
    """The derivative of `gelu`; its error is small beside 1."""
    return _gelu_slope(k, x, *_tail(k, x))


@function_for("float32", "float64", results=2)
def gelu_and_slope(k, x):
    """`gelu` and its derivative, which have nearly all in common."""
    tail = _tail(k, x)
    return _gelu(k, x, *tail), _gelu_slope(k, x, *tail)


def _tail(k, x):
    """|x|, bounded where both limits are reached, and erfc(|x| / sqrt(2)): twice the normal distribution beyond |x|."""
    bound = ZERO_ABOVE[k.dtype] * math.sqrt(2)
    magnitude = k.abs(x)
    magnitude = k.where(k.less(bound, magnitude), bound, magnitude)
    square = k.multiply(magnitude, magnitude)
    excess = k.fma(magnitude, magnitude, k.negative(square))
    high, low = _SQRT_HALF[k.dtype]
    a = k.multiply(magnitude, high)
    a_low = k.fma(magnitude, low, k.fma(magnitude, high, k.negative(a)))
    return magnitude, complement(k, a, a_low, k.multiply(square, 0.5), k.multiply(excess, 0.5))


def _gelu(k, x, magnitude, tail):
    # x < 0: -|x| tail / 2; otherwise x - |x| tail / 2.
    part = scale(k, *tail.times(k, k.multiply(magnitude, 0.5)))
    return k.where(k.greater_equal(x, 0), k.subtract(x, part), k.negative(part))


def _gelu_slope(k, x, magnitude, tail):
    # x < 0: tail / 2 - |x| e^(-x^2 / 2) / sqrt(2 pi); otherwise 1 less that.
    difference = k.fma(k.multiply(tail.series, 0.5), tail.inverse, k.multiply(magnitude, -1 / math.sqrt(2 * math.pi)))
    part = scale(k, k.multiply(difference, exponential(k, tail.r)), tail.n)
    return k.where(k.greater_equal(x, 0), k.subtract(1, part), part)


@function
def gelu_tanh(k, x):
    """The approximation of gelu by tanh: x / (1 + e^-v), v = 2 sqrt(2 / pi) (x + 0.044715 x^3)."""
    return _gated(k, x, _gelu_tanh_gate(k, x))


@function
def gelu_tanh_slope(k, x):
    """The derivative of `gelu_tanh`; its error is small beside 1."""
    return _gated_slope(k, _gelu_tanh_gate(k, x))


@function_for("float32", "float64", results=2)
def gelu_tanh_and_slope(k, x):
    """`gelu_tanh` and its derivative."""
    gate = _gelu_tanh_gate(k, x)
    return _gated(k, x, gate), _gated_slope(k, gate)


def _gelu_tanh_gate(k, x):
    bound, limit = 12.0 if k.dtype == "float32" else 24.0, -_LOWEST[k.dtype]
    bounded = k.clip(x, -bound, bound)
    high, low = _cubic(k, k.abs(bounded))
    is_past = k.less(limit, high)
    high, low = k.where(is_past, limit, high), k.where(is_past, 0, low)
    steep = k.fma(k.multiply(bounded, bounded), 3 * _CUBIC[k.dtype][0], _LINEAR[k.dtype][0])
    return _gate(k, bounded, steep, *reduce(k, k.negative(high), k.negative(low)))


class _Gate(NamedTuple):
    """1 / (1 + e^-v) in parts.

    bounded        the x of which v is a function, kept where it matters
    steep          the derivative of v, if that is not 1
    power, n       e^-|v| as a number and a power of two; `small` is both
    inverse        1 / (1 + small)
    """

    bounded: object
    steep: object
    power: object
    n: object
    small: object
    inverse: object


def _gate(k, bounded, steep, n, r):
    """The `_Gate` with e^-|v| = 2^n e^r."""
    power = k.add(exponential_less_one(k, r), 1)
    small = scale(k, power, n)
    return _Gate(bounded, steep, power, n, small, k.divide(1, k.add(small, 1)))


def _gated(k, x, gate):
    """x / (1 + e^-v); for negative x it is scaled last, for denormals."""
    left = scale(k, k.multiply(gate.bounded, gate.power), gate.n)
    return k.multiply(k.where(k.less(x, 0), left, x), gate.inverse)


def _gated_slope(k, gate):
    """s + x v' s (1 - s) with s = 1 / (1 + e^-v)."""
    is_left = k.less(gate.bounded, 0)
    chance = k.multiply(k.where(is_left, gate.small, 1), gate.inverse)
    rest = k.multiply(k.where(is_left, 1, gate.small), gate.inverse)
    moved = gate.bounded if gate.steep is None else k.multiply(gate.bounded, gate.steep)
    return k.fma(k.multiply(moved, rest), chance, chance)


def _cubic(k, x):
    """The v of `gelu_tanh` for `x` >= 0, in two parts: its absolute error is the relative error of e^-v."""
    linear, linear_low = _LINEAR[k.dtype]
    cubic, cubic_low = _CUBIC[k.dtype]
    square = k.multiply(x, x)
    excess = k.fma(x, x, k.negative(square))
    term = k.multiply(square, cubic)
    term_low = k.fma(square, cubic, k.negative(term))
    term_low = k.fma(excess, cubic, k.fma(square, cubic_low, term_low))
    total = k.add(term, linear)
    back = k.subtract(total, term)
    lost = k.add(k.subtract(term, k.subtract(total, back)), k.subtract(linear, back))
    total_low = k.add(k.add(lost, term_low), linear_low)
    high = k.multiply(x, total)
    return high, k.fma(x, total_low, k.fma(x, total, k.negative(high)))
