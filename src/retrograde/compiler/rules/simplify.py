"""Simplifying: what constants make known, and nodes that the rules of the table replace."""

import numpy as np

from ..graph.constants import SMALL, first, is_uniform
from .rule import Call, applied, by_op
from .table import RULES

_BY_OP = by_op(RULES)


def folded(op, args, shape, dtype):
    """The array of `dtype` that `op` makes of constants; None where it is too large."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    # Equal elements stay one number, however large the result: nothing is written to memory.
    if (op.broadcasts or op.name == "broadcast_to") and arrays and all([is_uniform(a) for a in arrays]):
        scalars = [first(a) if isinstance(a, np.ndarray) else a for a in args]
        with np.errstate(all="ignore"):
            value = first(arrays[0]) if op.name == "broadcast_to" else op.kernel(*map(np.asarray, scalars))
        return np.broadcast_to(np.asarray(value).astype(dtype), shape) if all([a.size for a in arrays]) else None
    size = int(np.prod(shape))
    # Large results are computed by the program: a constant of their size would lie in it, and on disk.
    if size > SMALL:
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(op.kernel(*args)).astype(dtype, copy=False)
    return np.broadcast_to(first(found), shape) if found.size and is_uniform(found) else found


def simplified(op, args, shape, dtype):
    """(op, args) for the same values at less cost, or a node that has them, such as one of `args` where nothing is to be done."""
    # Most nodes have no rule at all.
    if op.name not in _BY_OP:
        return op, args
    found = applied(_BY_OP, Call(op, args, shape, dtype))
    return (found.op, found.args) if found.__class__ is Call else found
