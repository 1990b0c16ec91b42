"""Values of a trace that depend on constants alone, as numbers: what a module may keep for its next call."""

import numpy as np

from ...core.mode import current
from ...core.symbol import Symbol, ordered, replaced
from ..graph.recorder import PICK
from .trace import Trace


def known(value):
    """A traced value with numbers, if it depends on nothing but constants; else the value itself."""
    array = _number_of(value.raw) if isinstance(value.raw, Symbol) and value.record is None else None
    return value if array is None else value.algebra.maker(value)(array, None)


def _number_of(node):
    """The array of a node, by the kernels of its ops; None if it depends on what a trace was handed or found outside."""
    made, tracer = {}, current().tracer
    if not isinstance(tracer, Trace):
        return None
    for each in ordered([node]):
        if each.op is None:
            made[each] = tracer.created(each)
            if made[each] is None:
                return None
        else:
            args = replaced(each.args, made.__getitem__)
            with np.errstate(all="ignore"):
                made[each] = args[0][args[1]] if each.op is PICK else each.op.kernel(*args)
    return np.asarray(made[node]).astype(node.dtype, copy=False)
