"""Operators by element: one number of the result for one of each operand."""

from functools import reduce

import numpy as np

from ...ops.elementary.arithmetic import (
    abs,
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    power,
    reciprocal,
    remainder,
    sign,
    sqrt,
    subtract,
)
from ...ops.elementary.bits import bitwise_left_shift, bitwise_right_shift
from ...ops.elementary.comparisons import (
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    where,
)
from ...ops.elementary.conversions import astype
from ...ops.elementary.exponential import exp, expm1, log
from ...ops.elementary.hyperbolic import acosh, asinh, atanh, cosh, sinh
from ...ops.elementary.rounding import ceil, floor, round
from ...ops.elementary.trigonometric import acos, asin, atan, cos, sin, tan, tanh
from ...ops.networks.activation import elu, gelu, hardswish, leaky_relu, mish, relu, sigmoid, silu, softplus
from ...ops.special.error_function import erf
from ..rule import rule
from ..values import is_floating

#: Operators that are an op of ours, and since which version: before that, operands were not broadcast as NumPy does it.
_SAME = {
    "Abs": (abs, 1), "Acos": (acos, 7), "Acosh": (acosh, 9), "Asin": (asin, 7), "Asinh": (asinh, 9), "Atan": (atan, 7),
    "Atanh": (atanh, 9), "Ceil": (ceil, 1), "Cos": (cos, 7), "Cosh": (cosh, 9), "Erf": (erf, 9), "Exp": (exp, 1),
    "Floor": (floor, 1), "IsNaN": (isnan, 9), "Log": (log, 1), "Mish": (mish, 18), "Neg": (negative, 1),
    "Reciprocal": (reciprocal, 1), "Relu": (relu, 1), "Round": (round, 11), "Sigmoid": (sigmoid, 1), "Sign": (sign, 9),
    "Sin": (sin, 7), "Sinh": (sinh, 9), "Softplus": (softplus, 1), "Sqrt": (sqrt, 1), "Tan": (tan, 7), "Tanh": (tanh, 1),
    "Not": (logical_not, 1), "BitwiseNot": (bitwise_invert, 18), "HardSwish": (hardswish, 14), "Add": (add, 7),
    "Sub": (subtract, 7),
    "Mul": (multiply, 7), "And": (logical_and, 7), "Or": (logical_or, 7), "Xor": (logical_xor, 7), "Greater": (greater, 7),
    "GreaterOrEqual": (greater_equal, 12), "Less": (less, 7), "LessOrEqual": (less_equal, 12), "BitwiseAnd": (bitwise_and, 18),
    "BitwiseOr": (bitwise_or, 18), "BitwiseXor": (bitwise_xor, 18),
}


def _unary(function):
    return lambda x, /: function(x)


def _binary(function):
    return lambda x, y, /: function(x, y)


for _name, (_function, _since) in _SAME.items():
    rule(_name, since=_since)((_unary, _binary)[len(_function.op.operands) - 1](_function))


@rule("Equal", since=7)
def _equal(x, y, /):
    if x.dtype == object:
        return np.asarray(x == y, bool)
    return equal(x, y)


@rule("Div", since=7)
def _divide(x, y, /):
    """Of integers cut off towards zero."""
    if is_floating(x):
        return divide(x, y)
    found = floor_divide(x, y)
    if x.dtype.kind == "u":
        return found
    return found + astype(logical_and(less(found, 0), greater_or_less(found * y, x)), x.dtype)


def greater_or_less(x, y):
    """Where two arrays differ."""
    return logical_not(equal(x, y))


@rule("Mod", since=10)
def _mod(x, y, /, *, fmod=0):
    if not fmod:
        return remainder(x, y)
    found = remainder(abs(x), abs(y)) if x.dtype.kind != "u" else remainder(x, y)
    # The sign is that of the dividend, also of a zero.
    return where(less(x, 0), negative(found), found) if x.dtype.kind != "u" else found


@rule("Pow", since=7)
def _power(x, y, /):
    """In the type of the base."""
    if is_floating(x):
        return power(x, astype(y, x.dtype))
    if is_floating(y):
        return astype(power(astype(x, np.float64), astype(y, np.float64)), x.dtype)
    return astype(power(x, astype(y, x.dtype)), x.dtype)


@rule("BitShift", since=11)
def _shift(x, y, /, *, direction):
    return (bitwise_left_shift if direction == "LEFT" else bitwise_right_shift)(x, y)


@rule("IsInf", since=10)
def _is_inf(x, /, *, detect_negative=1, detect_positive=1):
    found = isinf(x)
    if not detect_negative:
        found = logical_and(found, greater(x, 0))
    return found if detect_positive else logical_and(found, less(x, 0))


@rule("Sum", since=8)
def _sum(*inputs):
    return reduce(add, inputs)


@rule("Mean", since=8)
def _mean(*inputs):
    return divide(reduce(add, inputs), len(inputs))


@rule("Max", since=8)
def _max(*inputs):
    return reduce(maximum, inputs)


@rule("Min", since=8)
def _min(*inputs):
    return reduce(minimum, inputs)


@rule("Where", since=9)
def _where(condition, x, y, /):
    if x.dtype == object:
        return np.where(condition, x, y)
    return where(condition, x, y)


@rule("Clip", since=11)
def _clip(x, low=None, high=None, /):
    found = x if low is None else maximum(x, low)
    return found if high is None else minimum(found, high)


@rule("Clip", since=6)
def _clip_by_attributes(x, /, *, min=None, max=None):
    return _clip(x, None if min is None else astype(np.asarray(min), x.dtype), None if max is None
                 else astype(np.asarray(max), x.dtype))


@rule("LeakyRelu")
def _leaky_relu(x, /, *, alpha=0.01):
    return leaky_relu(x, alpha)


@rule("PRelu", since=7)
def _prelu(x, slope, /):
    return where(less(x, 0), x * slope, x)


@rule("Elu")
def _elu(x, /, *, alpha=1.0):
    return elu(x, alpha)


@rule("Celu", since=12)
def _celu(x, /, *, alpha=1.0):
    return maximum(x, 0) + minimum(expm1(x / alpha) * alpha, 0)


@rule("Selu")
def _selu(x, /, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return where(greater(x, 0), x, expm1(minimum(x, 0)) * alpha) * gamma


@rule("HardSigmoid")
def _hard_sigmoid(x, /, *, alpha=0.2, beta=0.5):
    return minimum(maximum(x * alpha + beta, 0), 1)


@rule("ThresholdedRelu", since=10)
def _thresholded_relu(x, /, *, alpha=1.0):
    return where(greater(x, alpha), x, 0)


@rule("Shrink", since=9)
def _shrink(x, /, *, bias=0.0, lambd=0.5):
    one, zero = x - bias, x * 0
    return astype(where(greater(x, lambd), one, where(less(x, -lambd), x + bias, zero)), x.dtype)


@rule("Softsign")
def _softsign(x, /):
    return divide(x, abs(x) + 1)


@rule("Gelu", since=20)
def _gelu(x, /, *, approximate="none"):
    return gelu(x, approximate)


@rule("Swish", since=24)
def _swish(x, /, *, alpha=1.0):
    return silu(x) if alpha == 1 else x * sigmoid(x * alpha)




@rule("Identity")
def _identity(x, /):
    return x
