"""Patterns of layout: in which order of axes results are written to memory."""

import numpy as np

from ...core import registry
from ...core.symbol import Symbol, replaced
from ..graph.recorder import PICK
from ..graph.views import is_reordered
from ..kinds import Facts
from .rule import is_called


def written_as_read(readers):
    """Results of attention written in the order in which they are read: heads beside each other, say, where these are joined next.
    Whoever else reads them sees them through a view.
    """
    makers, facts = {}, Facts()
    for node in readers.nodes:
        if not is_reordered(node) or not any([is_called(reader, "reshape") for reader in readers.of(node)]):
            continue
        heads, order = node.args[0], _order_of(node)
        if _can_be_written(heads, order, readers, facts):
            written = _Written(order)
            makers[heads] = written.heads_made
            makers |= {other: written.taken for other in readers.of(heads) if is_reordered(other) and _order_of(other) == order}
    return makers


def _order_of(node):
    """The order of axes that a node brings its operand to."""
    told = np.broadcast_to(0, tuple(range(node.ndim)))  # an array whose lengths say which axis is which
    return node.op.kernel(told, *node.args[1:]).shape


def _can_be_written(heads, order, readers, facts):
    """Whether a node is the result of a kernel that can write it in another order, and nobody outside sees it."""
    # What is given out keeps the order of axes that its caller sees.
    return not readers.is_given_out(heads) and facts.kind(heads).kernel.can_reorder(heads, order)


class _Written:
    """What is made of results of attention, and of what brings them to the `order` in which they are written."""

    def __init__(self, order):
        self._order, self._moved = order, None

    def heads_made(self, heads, made):
        # The new result is in the order of memory; whoever read the old one finds it behind a view that brings the axes back.
        shape = tuple([heads.shape[axis] for axis in self._order])
        self._moved = Symbol(PICK, (*replaced(heads.args, made.__getitem__), self._order), shape, heads.dtype)
        return Symbol(registry.get("permute_dims"), (self._moved, _inverse(self._order)), heads.shape, heads.dtype)

    def taken(self, _, __):
        return self._moved


def _inverse(order):
    """Where each axis is in an order of axes."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
