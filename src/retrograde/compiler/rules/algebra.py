"""Rules of elementwise ops and movements: what changes nothing, and what a cheaper op gives as well."""

import numpy as np

from ...core.symbol import Symbol
from ..graph.constants import first, is_uniform
from ..graph.infer import called
from ..graph.views import index_map

#: Powers that are one product or two, which lose no more than a step by rounding: whether the last one is a square.
_PRODUCTS = {2: True, 3: False, 4: True}


def is_number(argument, value):
    """Whether an argument is a number, or an array of nothing else."""
    if isinstance(argument, np.ndarray):
        return is_uniform(argument) and first(argument) == value
    return argument.__class__ in (int, float) and argument == value


def operand(call):
    """The first operand of an op that changes nothing."""
    x = call.args[0]
    return x if isinstance(x, Symbol) else None


def operand_of_the_dtype(call):
    """The operand of a cast to the dtype that it has."""
    x = call.args[0]
    return x if isinstance(x, Symbol) and x.dtype == call.dtype else None


def operand_in_place(call):
    """The operand of a movement that moves nothing."""
    x = call.args[0]
    if not isinstance(x, Symbol) or x.shape != call.shape:
        return None
    return x if call.op.name in ("reshape", "broadcast_to") or _keeps_order(call.op, call.args[1:], call.shape) else None


def _keeps_order(op, rest, shape):
    """Whether a movement to the same shape moves nothing."""
    # One row of elements has one order.
    if sum(n != 1 for n in shape) < 2:
        return True
    axes = range(len(shape))
    return index_map(op, shape, rest) == [(0, tuple([int(i == axis and shape[i] > 1) for i in axes])) for axis in axes]


def first_power(call):
    """The base, where the exponent is 1."""
    base, exponent = call.args
    return _shown(base, call) if is_number(exponent, 1) else None


def power_of_products(call):
    """Squares and products, where the exponent is small and whole."""
    base, exponent = call.args
    if not isinstance(base, Symbol) or (base.shape, base.dtype) != (call.shape, call.dtype):
        return None
    # An operand that is broadcast or converted is left alone: the product would have another shape, or another rounding.
    for whole, is_of_square in _PRODUCTS.items():
        if is_number(exponent, whole):
            square = called("multiply", base, base) if whole > 2 else base
            return call.by("multiply", square, square if is_of_square else base)
    return None


def times_one(call):
    """The other factor, where one is 1."""
    for x, y in (call.args, call.args[::-1]):
        if is_number(y, 1) and (found := _shown(x, call)) is not None:
            return found
    return None


def divided_by_one(call):
    """The dividend, where the divisor is 1."""
    x, y = call.args
    return x if is_number(y, 1) and _is_result(x, call) else None


def choice_of_the_same(call):
    """What is chosen, where both choices are one, as where derivatives alone must choose."""
    _, x, y = call.args
    return x if x is y and _is_result(x, call) else None


def inverted_truth(call):
    """The logical op, for truth values."""
    return call.by("logical_not", *call.args) if call.dtype.kind == "b" else None


def _is_result(x, call):
    return isinstance(x, Symbol) and (x.shape, x.dtype) == (call.shape, call.dtype)


def added_to_zero(x):
    """`x` with +0 for -0, as numbers are once they were added to zeros, where NumPy's sums begin."""
    if x.dtype.kind in "iub":
        return x
    zero = np.zeros((), x.dtype)
    return x + zero if isinstance(x, np.ndarray) else called("add", x, zero)


def _shown(x, call):
    """An operand in the shape of the result; None if its dtype is another one."""
    if not isinstance(x, Symbol) or x.dtype != call.dtype:
        return None
    return x if x.shape == call.shape else call.by("broadcast_to", x, call.shape)
