"""Writing to parts of a tensor, of which a new one is made: diagonals, slices, positions counted through."""

import numpy as np

from ...ops.manipulation import movements, selections
from ...shapes import one_axis
from .. import indexing, kinds
from ..kinds import operand
from ..nn.functional import pad as padded

__all__ = ["constant_pad_nd", "diagonal_scatter", "index_reduce", "nonzero_static", "put", "slice_scatter"]


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """`src` in place of a diagonal."""
    x = movements.moveaxis(operand(input), (dim1, dim2), (-2, -1))
    count = operand(src, "src").shape[-1]
    places = np.arange(count)
    made = selections.set_at(x, src, (..., places + max(-offset, 0), places + max(offset, 0)))
    return movements.moveaxis(made, (-2, -1), (dim1, dim2))


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """`src` in place of a slice along `dim`."""
    x = operand(input)
    return selections.set_at(x, src, (*(slice(None),) * one_axis(dim, x.ndim), slice(start, end, step)))


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """The slices of `source` joined to those at the positions `index` along `dim`, by "prod", "mean", "amax" or "amin"."""
    x, source = operand(input), operand(source, "source")
    if not x.ndim:
        x, index, source = (movements.reshape(part, (-1,)) for part in (x, index, source))
        return movements.reshape(index_reduce(x, 0, index, source, reduce, include_self=include_self), ())
    shape = [1] * x.ndim
    shape[one_axis(dim, x.ndim)] = -1
    places = movements.broadcast_to(movements.reshape(index, tuple(shape)), tuple(source.shape))
    return indexing.scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


def put(input, index, source, accumulate=False):
    """The elements of `source` at positions of the flattened tensor; added to what is there, if asked for."""
    x, index = operand(input), operand(index, "index")
    flat, rows = movements.reshape(x, (-1,)), movements.reshape(index, (-1,))
    made = indexing.index_put(flat, (rows,), movements.reshape(source, (-1,)), accumulate)
    return movements.reshape(made, tuple(x.shape))


def nonzero_static(input, *, size, fill_value=-1):
    """`size` positions of elements that are not 0, a row for each, and rows of `fill_value` where there are fewer."""
    found = np.argwhere(operand(input).detach().numpy())[:size]
    rows = np.full((size, found.shape[1]), fill_value, np.int64)
    rows[: len(found)] = found
    return kinds.made(rows)


def constant_pad_nd(input, pad, value=0):
    """`value` around a tensor, by numbers for both ends of its last axes."""
    return padded(operand(input), tuple(pad), "constant", value)
