"""Rules of `getitem` with arrays of positions: the forms that loops and kernels can follow."""

from ...core.symbol import Symbol
from ..graph.infer import called
from .index import WHOLE, Index, column, in_row_major_order, may_have_arrays


def positions_along_one_axis(call):
    """`take`, of what slices leave along the other axes."""
    x, index = call.args[0], _index_of(call)
    if index is None or len(index.arrays) != 1:
        return None
    (axis,) = index.arrays
    # Slices first, since they cost nothing: positions are then looked up in what is left.
    rest = tuple([WHOLE if i == axis else part for i, part in enumerate(index.parts)])
    return call.by("take", x if index.is_whole else called("getitem", x, rest), index.parts[axis], axis)


def one_of_each_row(call):
    """`take_along_axis`, whose result needs no check of rows."""
    x, index = call.args[0], _index_of(call)
    if index is None or not index.is_each_row(x.shape):
        return None
    return call.by("reshape", called("take_along_axis", x, column(index.parts[1]), 1), call.shape)


def positions_along_the_first_axes(call):
    """`take` of lines, in row-major order."""
    x, index = call.args[0], _index_of(call)
    if index is None or not index.is_of_first_axes:
        return None
    count = len(index.arrays)
    lines = called("reshape", x, (-1, *x.shape[count:]))
    return call.by("take", lines, in_row_major_order(index.parts[:count], x.shape), 0)


def _index_of(call):
    """The `Index` of a choice by arrays; None of others, and of nothing to choose from."""
    x = call.args[0]
    if not may_have_arrays(call.args[1]) or not isinstance(x, Symbol) or not x.size:
        return None
    index = Index.of(call.args[1], x.ndim)
    return index if index is not None and index.arrays and not index.has_integers else None
