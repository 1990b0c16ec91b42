"""A pattern of pooling: relu and its slope meet one number of each window, not each pixel."""

from ...core.symbol import Symbol, replaced
from ..graph.infer import called
from ..graph.recorder import PICK
from ..kernels.loops import reduced_axes
from .rule import is_called


def pooled_first(readers):
    """Max pooling before relu, where nothing else needs what relu gives.

    Results and gradients are the same, bit for bit: relu does not fall, so that the relu of the greatest number is the greatest
    relu. Where that is above zero both come from the same place; elsewhere nothing is handed back.
    """
    makers = {}
    for pool in readers.nodes:
        if is_called(pool, "max_pool2d_with_taps") and is_called(pool.args[0], "relu"):
            slopes = _slopes(pool, readers)
            if slopes is not None:
                makers.update(_Pooled(pool).makers(slopes, readers))
    return makers


def _slopes(pool, readers):
    """Where what a pool hands back goes through the slope of relu; None if anything else reads relu, or asks for indices."""
    found = []
    for reader in readers.of(pool.args[0]):
        if reader is pool:
            continue
        # The slope of relu reads relu too, as `z <= 0`; whatever else reads it needs all of it, and then nothing is saved.
        if not is_called(reader, "less_equal") or not _is_zero(reader.args[1]):
            return None
        found += readers.of(reader)
    handed = [node for pick in readers.of(pool) if pick.args[1] == 1 for node in readers.of(pick)]
    # Indices (`max_pool2d(return_indices=True)`) would be others where a whole window is below zero.
    is_plain = all([is_called(node, "max_pool2d_input") for node in handed])
    is_through = is_plain and {reader for node in handed for reader in readers.of(node)} <= set(found)
    return found if is_through and all([_is_slope(node, handed) for node in found]) else None


def _is_slope(node, handed):
    """Whether a node keeps what is handed back where relu is above zero."""
    return is_called(node, "where") and is_called(node.args[0], "less_equal") and _is_zero(node.args[1]) and node.args[2] in handed


def _is_zero(argument):
    return argument.__class__ in (int, float) and argument == 0


class _Pooled:
    """What is made of one pool of relu, of what it finds, and of the slopes through which it hands back."""

    def __init__(self, pool):
        self._pool, self._value, self._handed = pool, None, {}

    def makers(self, slopes, readers):
        """By node that is replaced what makes its replacement."""
        found = {self._pool: self._pool_made}
        found |= {pick: self._value_made for pick in readers.of(self._pool) if pick.args[1] == 0}
        for slope in slopes:
            found[slope] = self._slope_made
            found |= {total: self._total_made for total in readers.of(slope) if _is_of_whole_images(total)}
        return found

    def _pool_made(self, pool, made):
        relu, *rest = pool.args
        return Symbol(pool.op, (made[relu.args[0]], *rest), pool.shape, pool.dtype)

    def _value_made(self, like, made):
        """The relu of what the pool finds, of the shape of `like`: one node, though its slope needs it as well."""
        if self._value is None:
            self._value = called("relu", Symbol(PICK, (made[self._pool], 0), like.shape, self._pool.args[0].dtype))
        return self._value

    def _slope_made(self, slope, made):
        """What the pool hands back: what comes to it through the slope of relu, put in place."""
        _, zero, found = slope.args
        g, taps, *rest = replaced(found.args, made.__getitem__)
        value = self._value_made(found.args[1], made)
        self._handed[slope] = called("where", called("less_equal", value, 0), zero, g)
        return Symbol(found.op, (self._handed[slope], taps, *rest), found.shape, found.dtype)

    def _total_made(self, total, made):
        # Each number stands somewhere in its window, so that the sum of windows is the sum of what was handed to them.
        return Symbol(total.op, (self._handed[total.args[0]], *total.args[1:]), total.shape, total.dtype)


def _is_of_whole_images(total):
    """Whether a node is a sum over whole images, to which windows hand back all."""
    return is_called(total, "sum") and {total.args[0].ndim - 2, total.args[0].ndim - 1} <= set(reduced_axes(total))
