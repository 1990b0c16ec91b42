"""Pieces: ops that concatenate arrays, or scatter them into zeros, as the places of those arrays in the result."""

from typing import NamedTuple

import numpy as np

from ...core.symbol import Symbol
from ..graph.views import index_map

#: A result of more pieces is cheaper to join in memory than to compute where it is needed.
MOST_IN_LOOPS = 4
#: A result of more pieces is copied together by NumPy.
_MOST = 4096
#: Ops whose pieces leave nothing between them.
FILLED = frozenset(["concatenate", "stack"])


class Piece(NamedTuple):
    """One array among several that make up another.

    axes   for each axis of `source`: (axis of the whole, where the piece starts on it, 1 or -1), None for an axis of length 1
           that the whole has not
    fixed  (axis of the whole, place) for each axis that the source has not
    """

    source: object
    axes: tuple
    fixed: tuple = ()


def are_tiles(node, pieces):
    """Whether several arrays of one shape fill a node, so that they can be written where they stand in it."""
    return node.op.name in FILLED and len(pieces) > 1 and len({piece.source.shape for piece in pieces}) == 1


def _padded(node):
    source, widths, value = node.args
    if not isinstance(source, Symbol) or not isinstance(value, (int, float)):
        return None
    befores = np.broadcast_to(np.asarray(widths if source.ndim else 0, dtype=int), (source.ndim, 2))[:, 0]
    return [Piece(source, tuple((i, int(at), 1) for i, at in enumerate(befores)))], value


def _concatenated(node):
    parts, axis = node.args
    if axis is None or not all(hasattr(part, "shape") for part in parts):
        return None
    if len(parts) > (_MOST if len({part.shape for part in parts}) == 1 else MOST_IN_LOOPS):
        return None
    axis, at, found = axis % node.ndim, 0, []
    for part in parts:
        found.append(Piece(part, tuple((i, at if i == axis else 0, 1) for i in range(node.ndim))))
        at += part.shape[axis]
    return [piece for piece in found if piece.source.size], 0


def _stacked(node):
    parts, axis = node.args
    if len(parts) > _MOST or not all(hasattr(part, "shape") for part in parts):
        return None
    axis = axis % node.ndim
    others = [i for i in range(node.ndim) if i != axis]
    return [Piece(part, tuple((i, 0, 1) for i in others), ((axis, at),)) for at, part in enumerate(parts)], 0


def _added(node):
    """Zeros with an array added at slices and integers, which never meet."""
    source, shape, index = node.args
    parts = index if isinstance(index, tuple) else (index,)
    if not isinstance(source, Symbol) or not all(
        i is None or i is Ellipsis or isinstance(i, (slice, int)) and not isinstance(i, bool) for i in parts
    ):
        return None
    node_like = _GETITEM, tuple(shape), (index,)
    steps = index_map(*node_like)
    # A source that is broadcast over the positions is not one piece.
    if steps is None or np.broadcast_to(0, tuple(shape))[index].shape != source.shape:
        return None
    axes, fixed = [None] * source.ndim, []
    for axis, (offset, along) in enumerate(steps):
        moving = [j for j, step in enumerate(along) if step]
        if not moving:
            fixed.append((axis, offset))
        # Steps of 1 or -1 alone: with others there would be gaps, which bounds cannot tell.
        elif len(moving) == 1 and abs(along[moving[0]]) == 1 and axes[moving[0]] is None:
            axes[moving[0]] = (axis, offset, along[moving[0]])
        else:
            return None
    return [Piece(source, tuple(axes), tuple(fixed))], 0


class _Getitem:
    @staticmethod
    def kernel(x, index):
        return x[index]


_GETITEM = _Getitem()
PIECES = {"pad": _padded, "concatenate": _concatenated, "stack": _stacked, "scatter_add": _added}
