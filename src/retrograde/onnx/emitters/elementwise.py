"""Ops by element as nodes of ONNX."""

import math

import numpy as np

from ...core.value import Value
from ...dtypes import common_dtype
from ..building import emits
from ..dimensions import Dimension
from ..nodes import Node

#: Ops that are one operator of the same meaning.
_SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "isnan": "IsNaN", "isinf": "IsInf", "log": "Log",
    "negative": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "positive": "Identity", "contiguous": "Identity", "mish": "Mish",
    "contiguous_backward": "Identity", "bitwise_invert": "BitwiseNot",
}
#: Those of them that runtimes know for floats only, and that mean nothing else for integers.
_OF_FLOATS = frozenset(["ceil", "floor", "round", "isnan", "isinf"])
#: Ops of two operands in the dtype of the result.
_BINARY = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow"}
#: Ops of two operands in the dtype that both are brought to; the result may have another one.
_COMPARED = {"greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less", "less_equal": "LessOrEqual", "equal": "Equal",
             "maximum": "Max", "minimum": "Min", "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr",
             "bitwise_xor": "BitwiseXor"}
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
#: Operators that runtimes have for floats only, or not for booleans and small integers.
_WIDE = {"Max", "Min"}


def _dtype_of(value):
    return value.dtype if isinstance(value, (Node, np.ndarray, np.generic,
                                             Value)) else np.dtype(np.int64) if isinstance(value, Dimension) else None


def met(*operands):
    """The dtype that operands are brought to; numbers of Python take that of what they meet."""
    strong = [d for d in map(_dtype_of, operands) if d is not None]
    dtype = common_dtype(strong) if strong else np.dtype(np.float32)
    if dtype.kind in "biu" and any(type(o) is float for o in operands):
        return np.dtype(np.float32)
    return np.dtype(np.int64) if dtype.kind == "b" and any(type(o) is int for o in operands) else dtype


@emits(*_SAME)
def _same(e, node, x):
    operator, dtype = _SAME[node.name], node.dtype if node.dtype.kind != "b" else met(x)
    if node.name in _OF_FLOATS and dtype.kind in "biu":
        # Of integers these are what they are, and runtimes know them for floats only.
        return e.add("Identity", [e(x)]) if node.dtype.kind != "b" else e.add(operator, [e(x, np.float32)])
    if node.name == "bitwise_invert" and dtype.kind == "b":
        operator = "Not"
    return e.add(operator, [e(x, dtype)])


@emits(*_BINARY)
def _binary(e, node, x, y):
    return e.add(_BINARY[node.name], [e(x, node.dtype), e(y, node.dtype)])


@emits(*_COMPARED)
def _compared(e, node, x, y):
    dtype, operator = met(x, y), _COMPARED[node.name]
    if dtype.kind == "b" and node.name.startswith("bitwise"):
        return e.add({"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}[operator], [e(x, dtype), e(y, dtype)])
    wide = np.dtype(np.int32) if dtype.kind == "b" and operator != "Equal" else dtype
    found = e.add(operator, [e(x, wide), e(y, wide)])
    return e.cast(found, node.dtype) if operator in _WIDE and wide != node.dtype else found


@emits("not_equal")
def _not_equal(e, node, x, y):
    dtype = met(x, y)
    return e.add("Not", [e.add("Equal", [e(x, dtype), e(y, dtype)])])


@emits(*_LOGICAL)
def _logical(e, node, x, y):
    return e.add(_LOGICAL[node.name], [e(x, np.bool_), e(y, np.bool_)])


@emits("logical_not")
def _logical_not(e, node, x):
    return e.add("Not", [e(x, np.bool_)])


@emits("isfinite")
def _isfinite(e, node, x):
    if met(x).kind != "f":
        return e.add("Equal", [e(x), e(x)])
    return e.add("Not", [e.add("Or", [e.add("IsNaN", [e(x)]), e.add("IsInf", [e(x)])])])


@emits("where")
def _where(e, node, condition, x, y):
    return e.add("Where", [e(condition, np.bool_), e(x, node.dtype), e(y, node.dtype)])


@emits("clip")
def _clip(e, node, x, low=None, high=None):
    found = e(x, node.dtype)
    found = found if low is None else e.add("Max", [found, e(low, node.dtype)])
    return found if high is None else e.add("Min", [found, e(high, node.dtype)])


@emits("hardtanh")
def _hardtanh(e, node, x, low=-1.0, high=1.0):
    return _clip(e, node, x, low, high)


@emits("square")
def _square(e, node, x):
    found = e(x, node.dtype)
    return e.add("Mul", [found, found])


@emits("rsqrt")
def _rsqrt(e, node, x):
    return e.add("Reciprocal", [e.add("Sqrt", [e(x, node.dtype)])])


@emits("remainder")
def _remainder(e, node, x, y):
    x, y = e(x, node.dtype), e(y, node.dtype)
    if node.dtype.kind in "iu":
        return e.add("Mod", [x, y])
    # The sign of the divisor, as NumPy has it: that of ONNX for floats is of the dividend.
    rest = e.add("Mod", [x, y], fmod=1)
    is_other = e.add("And", [e.add("Not", [e.add("Equal", [rest, e(0, node.dtype)])]),
                             e.add("Less", [e.add("Mul", [e.add("Sign", [rest]), e.add("Sign", [y])]), e(0, node.dtype)])])
    return e.add("Where", [is_other, e.add("Add", [rest, y]), rest])


@emits("floor_divide")
def _floor_divide(e, node, x, y):
    x, y = e(x, node.dtype), e(y, node.dtype)
    if node.dtype.kind in "iu":
        return e.add("Div", [e.add("Sub", [x, e.add("Mod", [x, y])]), y])
    return e.add("Floor", [e.add("Div", [x, y])])


@emits("trunc")
def _trunc(e, node, x):
    x = e(x, node.dtype)
    return e.add("Mul", [e.add("Sign", [x]), e.add("Floor", [e.add("Abs", [x])])])


@emits("silu")
def _silu(e, node, x):
    x = e(x, node.dtype)
    return e.add("Mul", [x, e.add("Sigmoid", [x])])


@emits("gelu_erf")
def _gelu_erf(e, node, x):
    return e.add("Gelu", [e(x, node.dtype)])


@emits("gelu_tanh")
def _gelu_tanh(e, node, x):
    return e.add("Gelu", [e(x, node.dtype)], approximate="tanh")


@emits("elu")
def _elu(e, node, x, alpha=1.0):
    return e.add("Elu", [e(x, node.dtype)], alpha=float(alpha))


@emits("leaky_relu")
def _leaky_relu(e, node, x, slope=0.01):
    return e.add("LeakyRelu", [e(x, node.dtype)], alpha=float(slope))


@emits("softplus")
def _softplus(e, node, x, beta=1.0):
    if beta == 1:
        return e.add("Softplus", [e(x, node.dtype)])
    scaled = e.add("Softplus", [e.add("Mul", [e(x, node.dtype), e(beta, node.dtype)])])
    return e.add("Div", [scaled, e(beta, node.dtype)])


@emits("log_sigmoid")
def _log_sigmoid(e, node, x):
    return e.add("Neg", [e.add("Softplus", [e.add("Neg", [e(x, node.dtype)])])])


@emits("exp2")
def _exp2(e, node, x):
    return e.add("Pow", [e(2, node.dtype), e(x, node.dtype)])


@emits("log2", "log10")
def _log(e, node, x):
    base = {"log2": 2, "log10": 10}[node.name]
    return e.add("Mul", [e.add("Log", [e(x, node.dtype)]), e(1 / math.log(base), node.dtype)])


@emits("expm1")
def _expm1(e, node, x):
    """tanh(x / 2) (exp(x) + 1), in which nothing is lost near zero; far from it exp(x) - 1, of which an infinity stays one."""
    x, one = e(x, node.dtype), e(1, node.dtype)
    grown = e.add("Exp", [x])
    near = e.add("Mul", [e.add("Tanh", [e.add("Mul", [x, e(0.5, node.dtype)])]), e.add("Add", [grown, one])])
    is_near = e.add("Less", [e.add("Abs", [x]), one])
    return e.add("Where", [is_near, near, e.add("Sub", [grown, one])])


@emits("log1p")
def _log1p(e, node, x):
    """log(u) x / (u - 1) with u = 1 + x, whose rounding cancels out (Kahan)."""
    x, one = e(x, node.dtype), e(1, node.dtype)
    u = e.add("Add", [x, one])
    rest = e.add("Sub", [u, one])
    is_none, is_endless = e.add("Equal", [rest, e(0, node.dtype)]), e.add("IsInf", [u])
    log = e.add("Log", [u])
    safe = e.add("Where", [e.add("Or", [is_none, is_endless]), one, rest])
    found = e.add("Where", [is_endless, log, e.add("Div", [e.add("Mul", [log, x]), safe])])
    return e.add("Where", [is_none, x, found])


@emits("logaddexp")
def _logaddexp(e, node, x, y):
    x, y = e(x, node.dtype), e(y, node.dtype)
    less = e.add("Neg", [e.add("Abs", [e.add("Sub", [x, y])])])
    return e.add("Add", [e.add("Max", [x, y]), e.add("Softplus", [less])])


@emits("astype")
def _astype(e, node, x, dtype, copy=True, device=None):
    if isinstance(x, Node) and x.dtype == node.dtype:
        return e.add("Identity", [e(x)])
    return e.cast(e(x), node.dtype)


@emits("hypot")
def _hypot(e, node, x, y):
    """By the greater of both, so that no square overflows."""
    x, y = [e.add("Abs", [e(each, node.dtype)]) for each in (x, y)]
    most, least = e.add("Max", [x, y]), e.add("Min", [x, y])
    is_plain = e.add("And", [e.add("Less", [e(0, node.dtype), most]), e.add("Not", [e.add("IsInf", [most])])])
    ratio = e.add("Div", [least, e.add("Where", [is_plain, most, e(1, node.dtype)])])
    found = e.add("Mul", [most, e.add("Sqrt", [e.add("Add", [e.add("Mul", [ratio, ratio]), e(1, node.dtype)])])])
    return e.add("Where", [is_plain, found, most])


@emits("deg2rad")
def _deg2rad(e, node, x):
    return e.add("Mul", [e(x, node.dtype), e(math.pi / 180, node.dtype)])


@emits("cbrt")
def _cbrt(e, node, x):
    x = e(x, node.dtype)
    return e.add("Mul", [e.add("Sign", [x]), e.add("Pow", [e.add("Abs", [x]), e(1 / 3, node.dtype)])])


@emits("logit")
def _logit(e, node, x):
    x = e(x, node.dtype)
    return e.add("Sub", [e.add("Log", [x]), e.add("Log", [e.add("Sub", [e(1, node.dtype), x])])])
