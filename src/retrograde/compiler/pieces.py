"""Pieces: ops that concatenate arrays, or scatter them into zeros, as the places of those arrays in the result."""

from typing import NamedTuple

import numpy as np

from ..core.symbol import Symbol
from .views import index_map

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


def tiled(pieces, shape):
    """("concatenate" or "stack", arrays in order, axis) for the sum of `pieces`, each of them in zeros of `shape`; None where they
    do not fill it, side by side along one axis.
    """
    moved = {(i, axis[0]) for piece in pieces for i, axis in enumerate(piece.axes) if axis is not None}
    if any([axis is None or axis[2] != 1 for piece in pieces for axis in piece.axes]):
        return None
    if all([piece.fixed for piece in pieces]):
        return _stack_of(pieces, moved, shape)
    return None if any([piece.fixed for piece in pieces]) else _row_of(pieces, shape)


def _stack_of(pieces, moved, shape):
    """As `tiled`, for arrays without the axis along which they stand."""
    axes = {axis for piece in pieces for axis, _ in piece.fixed}
    axis = min(axes)
    others = [i for i in range(len(shape)) if i != axis]
    pieces = sorted(pieces, key=lambda piece: piece.fixed)
    is_full = len(axes) == 1 and [piece.fixed[0][1] for piece in pieces] == list(range(shape[axis]))
    whole = tuple([shape[i] for i in others])
    is_plain = moved == set(enumerate(others)) and all([len(p.fixed) == 1 and p.source.shape == whole for p in pieces])
    return ("stack", [piece.source for piece in pieces], axis) if is_full and is_plain else None


def _row_of(pieces, shape):
    """As `tiled`, for arrays with the axis along which they stand."""
    cut = {axis for piece in pieces for axis, n in enumerate(shape) if piece.source.shape[axis] != n}
    if len(cut) != 1 or any([axis[0] != i for piece in pieces for i, axis in enumerate(piece.axes)]):
        return None
    (axis,), at = cut, 0
    pieces = sorted(pieces, key=lambda piece: piece.axes[axis][1])
    for piece in pieces:
        if piece.axes[axis][1] != at:
            return None
        at += piece.source.shape[axis]
    return ("concatenate", [piece.source for piece in pieces], axis) if at == shape[axis] else None


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
    if steps is None or np.broadcast_to(0, tuple(shape))[index].shape != source.shape:
        return None
    axes, fixed = [None] * source.ndim, []
    for axis, (offset, along) in enumerate(steps):
        moving = [j for j, step in enumerate(along) if step]
        if not moving:
            fixed.append((axis, offset))
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
