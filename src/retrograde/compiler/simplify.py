"""Simplifying: ops that do nothing, or that a cheaper op does as well, bit for bit."""

from ..core import registry
from ..core.symbol import Symbol

_SAME_SHAPE = frozenset(["reshape", "broadcast_to", "expand_dims", "squeeze", "transpose", "permute_dims", "moveaxis"])
_SAME = frozenset(["positive", "contiguous", "contiguous_backward", "copy_to_device"])


def simplified(op, args, shape, dtype):
    """(op, args) for the same values at less cost, or one of `args` where nothing is to be done."""
    source = args[0] if args else None
    if not isinstance(source, Symbol):
        return op, args
    if op.name in _SAME or (op.name == "astype" and source.dtype == dtype):
        return source
    if op.name in _SAME_SHAPE and source.shape == shape and _keeps_order(op, shape):
        return source
    change = _CHANGES.get(op.name)
    return (op, args) if change is None else change(op, args, shape, dtype)


def _keeps_order(op, shape):
    """Whether a movement to the same shape cannot have moved anything."""
    return op.name in ("reshape", "broadcast_to") or sum(n != 1 for n in shape) < 2


def _power(op, args, _, dtype):
    base, exponent = args
    if _is_number(exponent, 1) and base.dtype == dtype:
        return base
    if _is_number(exponent, 2) and base.dtype == dtype:
        return registry.get("multiply"), (base, base)
    return op, args


def _multiply(op, args, _, dtype):
    x, y = args
    if _is_number(y, 1) and x.dtype == dtype:
        return x
    return op, args


def _is_number(argument, value):
    return argument.__class__ in (int, float) and argument == value


def _sum(op, args, shape, dtype):
    """A sum over axes of length 1 moves its argument, no more."""
    x = args[0]
    named = dict(zip(op.arguments, args, strict=True))
    if x.dtype == dtype and x.size == _size(shape) and x.size and named.get("where") is None:
        return registry.get("reshape"), (x, shape)
    return op, args


def _size(shape):
    size = 1
    for n in shape:
        size *= n
    return size


_CHANGES = {"power": _power, "multiply": _multiply, "divide": _multiply, "sum": _sum, "max": _sum, "min": _sum, "prod": _sum}
