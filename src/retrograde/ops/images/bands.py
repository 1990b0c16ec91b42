"""Bands: linear maps along one axis in which each result is a sum of a few elements, with weights that are constants.

Resampling is made of them. The transpose of such a map is another one, so its derivative adds nothing to memory at positions:
each element collects what it gave to.
"""

from math import prod

import numpy as np

from ...shapes import one_axis
from .._families import composite
from .._native import small
from .._samples import call
from ..elementary.comparisons import where
from ..linalg.contractions import matmul
from ..manipulation.gathering import take
from ..manipulation.movements import reshape

#: To choose elements of a row that do not lie side by side takes as long as so many products with a row of a matrix.
_APART = 8
#: A sum of more elements than this is a product with a matrix.
_MOST = 32


@composite(is_public=False, told="", samples=(
    call((2, 3), columns=np.array([[0, 1, 2], [1, 2, 2]]), weights=np.array([[0.5, 0.2, 1.0], [0.5, 0.8, 0.0]]), axis=1),
    call((3, 2), columns=np.array([[2, 2]]), weights=np.array([[1.0, 1.0]]), axis=0),
    call((2, 40, 2), columns=np.array([[3, 39], [7, 0]]), weights=np.array([[0.5, 1.0], [1.5, 0.5]]), axis=1)))
def weighted(x, /, columns, weights, axis):
    r"""For each row $j$ of a band the sum of the elements `columns[:, j]` of `x` along `axis`, times `weights[:, j]`.

    $z_j = \sum_k w_{k j}\, x_{c_{k j}}$, whose transpose has the same form:
    $\bar x_i = \sum_{k j :\, c_{k j} = i} w_{k j} \bar z_j$.
    """
    axis = one_axis(axis, x.ndim)
    if (found := banded(x, columns, weights, axis)) is not None:
        return found
    most, is_last = len(columns), axis == x.ndim - 1
    if most > _MOST or x.shape[axis] <= most * (_APART if is_last else 1) and most > 1:
        return _product(x, columns, weights, axis)
    along = [-1 if a == axis else 1 for a in range(x.ndim)]
    total = None
    for places, factors in zip(columns, weights, strict=True):
        part = take(x, places, axis)
        part = part if (factors == 1).all() else part * factors.astype(x.dtype).reshape(along)
        total = part if total is None else total + part
    is_met = (weights != 0).any(axis=0)
    return total if is_met.all() else where(is_met.reshape(along), total, np.zeros((), x.dtype))


def banded(x, columns, weights, axis):
    """`weighted` of a small array by a kernel; None if there is none."""
    if x.__class__ is not np.ndarray or columns.__class__ is not np.ndarray or columns.dtype != np.int64:
        return None
    shape, (taps, count) = x.shape, columns.shape
    result = np.empty((*shape[:axis], count, *shape[axis + 1 :]), x.dtype)
    sizes = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), count, taps
    arrays = x, columns, weights if weights.dtype == x.dtype else weights.astype(x.dtype)
    return result if small("along", sizes, arrays, (result,)) else None


#: The transposes of bands that nobody writes to, with these, which so stay alive.
_turned: dict = {}
_MOST_TURNED = 64


def _transposed(columns, weights, count):
    if columns.flags.writeable or weights.flags.writeable:
        return _transpose(columns, weights, count)
    key = id(columns), id(weights), count
    if key not in _turned:
        if len(_turned) >= _MOST_TURNED:
            _turned.clear()
        _turned[key] = columns, weights, frozen(_transpose(columns, weights, count))
    return _turned[key][2]


def frozen(arrays):
    """The `arrays`, which nobody may write to any more."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _transpose(columns, weights, count):
    rows = np.broadcast_to(np.arange(columns.shape[1]), columns.shape)
    return band(columns.ravel(), rows.ravel(), weights.ravel(), (count, columns.shape[1]))


def _weighted_rule(g, x_shape, columns, weights, axis):
    turned, factors = _transposed(columns, weights, x_shape[axis])
    return weighted(g, turned, factors, axis)


weighted.defvjp(_weighted_rule)


def band(rows, columns, weights, shape):
    """The columns and weights, as `weighted` has them, of a matrix of `shape` with these elements; those at one place add up."""
    places, index = np.unique(rows * shape[1] + columns, return_inverse=True)
    weights = np.bincount(index.reshape(-1), weights, len(places))
    places, weights = places[weights != 0], weights[weights != 0]
    row, column = np.divmod(places, shape[1])
    count = np.bincount(row, minlength=shape[0])
    rank = np.arange(len(row)) - (np.cumsum(count) - count)[row]
    # What fills up a row is its own last element, with weight 0: a number that is not finite stays where it belongs.
    last = np.zeros(shape[0], int)
    last[row] = column
    found = np.tile(last, (max(int(count.max(initial=0)), 1), 1))
    factors = np.zeros(found.shape)
    found[rank, row], factors[rank, row] = column, weights
    return found, factors


def _product(x, columns, weights, axis):
    """`weighted` as a product with the whole matrix."""
    count, rows = x.shape[axis], columns.shape[1]
    matrix = np.zeros((rows, count))
    np.add.at(matrix, (np.arange(rows), columns), weights)
    matrix, before = matrix.astype(x.dtype), x.shape[:axis]
    if axis == x.ndim - 1:
        return reshape(matmul(reshape(x, (-1, count)), matrix.T), (*before, rows))
    return reshape(matmul(matrix, reshape(x, (*before, count, -1))), (*before, rows, *x.shape[axis + 1 :]))
