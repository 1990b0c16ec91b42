"""Concrete numbers: those that a function reads, while it is traced, out of tensors from outside, or of what it has
made of these alone.

What is compiled then serves as long as these numbers stay what they are, which is seen at each call.
"""

import numpy as np

from ...core.mode import changed
from ...core.symbol import ordered, replaced
from ...ops.random.draws import State
from ..graph.constants import as_constant, has_bits_of
from ..graph.effects import has_effect
from ..run.library_call import computed

#: Numbers are computed anew at each call if all that they are made of has at most so many elements, and so many ops do it.
_MOST_ELEMENTS, _MOST_OPS = 1 << 16, 64
#: Arrays of at most so many elements are compared as bytes.
_COMPARED = 1 << 12


def rereader(symbol, known):
    """A function that computes what `symbol` holds, from tensors from outside, which are `known` by their symbols; None if it
    depends on something else, or is too large for that.
    """
    nodes = ordered([symbol])
    # The state of a generator is another one at each call: what was drawn from it cannot be a constant.
    values = {node: value for node, value in known.items() if not isinstance(value, State)}
    made = [n for n in nodes if n.op is not None]
    are_known = not any([n not in values if n.op is None else has_effect(n) for n in nodes])
    if not are_known or len(made) > _MOST_OPS or not all(map(_is_small, nodes)):
        return None
    leaves = [(n, values[n]) for n in nodes if n.op is None]
    return lambda: _evaluated(symbol, made, {n: value.raw for n, value in leaves})


def _is_small(node):
    """Whether a node may be computed at each call."""
    return node.shape is None or (node.size <= _MOST_ELEMENTS and (node.op is None or hasattr(node.op, "kernel")))


def _evaluated(symbol, made, found):
    with changed(tracer=None), np.errstate(all="ignore"):
        for node in made:
            value = computed(node, replaced(node.args, found.__getitem__))
            found[node] = value if node.shape is None else np.asarray(value).astype(node.dtype, copy=False)
    return found[symbol]


def contents(read):
    """A function whose results are equal as long as those of `read()` have the same elements as now."""
    array = read()
    if array.size <= _COMPARED:
        return lambda: read().tobytes()
    kept = as_constant(array)

    def is_same():
        now = read()
        return (now.shape, now.dtype) == (kept.shape, kept.dtype) and has_bits_of(now, kept)

    return is_same
