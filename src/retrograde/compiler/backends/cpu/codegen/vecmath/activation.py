"""sigmoid, log_sigmoid, softplus, silu, gelu and gelu_tanh, precise in relative terms also where tiny; slopes of the last three."""

import math
from typing import NamedTuple

from .exponential import exp_of_nonpositive, exponential, exponential_less_one, reduce, reduce_nonpositive, scale, scale_down
from .logarithmic import log1p_of_exp
from .special import ZERO_ABOVE
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
# The normal distribution beyond x by e^(-x^2 / 2) / (x + c) in t = (x - c) / (x + c), minimax (Remez exchange in 60 digits),
# with last digits for which rounding errors are small in float32; and c.
_RATIO = {
    "float32": (
        0.74441606, -0.5655617, 0.31542507, -0.116053045, 0.017406432,
        0.0064930487, -0.0031755571, -0.00049492304, 0.0004222632, 0.00011089038,
    ),
    "float64": (
        0.769193049750063, -0.6653825028900566, 0.4953056159699769, -0.313533156671315,
        0.16502036617036497, -0.06911863870597469, 0.02079506680017293, -0.0029933767753952045,
        -0.0007978694007391444, 0.0005448991037641348, -5.9375715956736286e-05, -4.976300187265268e-05,
        1.668116318594997e-05, 3.981472328689677e-06, -2.769100427168951e-06, -3.377214301383401e-07,
        4.3275433739929177e-07, 4.360693383791583e-08, -6.537652259126524e-08, -1.0222955709989801e-08,
        7.202112775401796e-09, 2.022541555708482e-09,
    ),
}
_CENTRE = {"float32": 3.5, "float64": 5.0}
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
    return _gelu(k, x, _tail(k, x))


@function
def gelu_slope(k, x):
    """The derivative of `gelu`; its error is small beside 1."""
    return _gelu_slope(k, x, _tail(k, x))


@function_for("float32", "float64", results=2)
def gelu_and_slope(k, x):
    """`gelu` and its derivative, which have nearly all in common."""
    tail = _tail(k, x)
    return _gelu(k, x, tail), _gelu_slope(k, x, tail)


class _Tail(NamedTuple):
    """The normal distribution beyond |x|: `ratio` e^r `power` / (|x| + c).

    magnitude   |x|, bounded where gelu is zero or x
    share       |x| / (|x| + c)
    """

    magnitude: object
    share: object
    ratio: object
    r: object
    power: object


def _tail(k, x):
    bound, centre = ZERO_ABOVE[k.dtype] * math.sqrt(2), _CENTRE[k.dtype]
    magnitude = k.abs(x)
    magnitude = k.where(k.less(bound, magnitude), bound, magnitude)
    half = k.multiply(magnitude, -0.5)
    exponent = k.multiply(half, magnitude)
    power, r = reduce_nonpositive(k, exponent, k.fma(half, magnitude, k.negative(exponent)))
    share = k.divide(magnitude, k.add(magnitude, centre))
    t, (constant, *others) = k.fma(share, 2, -1), _RATIO[k.dtype]
    return _Tail(magnitude, share, k.fma(k.polynomial(t, others), t, constant), r, power)


def _gelu(k, x, tail):
    # x < 0: -|x| times the tail; otherwise x less that.
    part = k.multiply(tail.share, tail.ratio)
    part = scale_down(k, k.fma(part, exponential_less_one(k, tail.r), part), tail.power)
    return k.where(k.greater_equal(x, 0), k.subtract(x, part), k.negative(part))


def _gelu_slope(k, x, tail):
    # x < 0: the tail less |x| e^(-x^2 / 2) / sqrt(2 pi); otherwise 1 less that.
    inverse = k.fma(tail.share, -1 / _CENTRE[k.dtype], 1 / _CENTRE[k.dtype])
    difference = k.fma(tail.ratio, inverse, k.multiply(tail.magnitude, -1 / math.sqrt(2 * math.pi)))
    part = scale_down(k, k.multiply(difference, exponential(k, tail.r)), tail.power)
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
