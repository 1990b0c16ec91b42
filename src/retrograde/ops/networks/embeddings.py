"""Embeddings: rows of a table, chosen by numbers."""

from math import prod

import numpy as np

from ...core.mode import current, is_recording
from ...errors import DTypeError, ShapeError
from ...shapes import one_axis
from .._arrays import arrays
from .._families import indexing
from .._native import by_shape, small
from .._samples import call
from ..elementary.comparisons import equal, where
from ..manipulation.gathering import checked_positions, take
from ..manipulation.movements import expand_dims, reshape
from ..manipulation.selections import scatter_add

_ROWS = np.array([[2, 0, 2], [1, 1, 3]])


def _embedding_in_ops(input, weight, padding_idx):  # noqa: ARG001 - an expansion has the arguments of its op
    return take(weight, checked_positions(input, weight.shape[0]), 0)


@indexing(keeps_sizes=True, faster=by_shape, makes_views=False, optional=("weight",), expansion=_embedding_in_ops, samples=(
    call(_ROWS, (4, 3)), call(np.array([0, 2]), (4, 3), 1), call(np.array(2), (4, 3), -1)))
def embedding(input, /, weight, padding_idx=None):  # noqa: ARG001 - the derivative reads it
    r"""The rows of `weight` at the positions `input`; the axis of rows is replaced by the axes of `input`.

    The row `padding_idx` receives no gradient. A position that is negative or too great raises an OutOfRangeError.

    $z_{\dots j} = w_{i_{\dots} j}$, so $\bar w$ is zero but for $\bar z$ added at the rows chosen, that of the padding aside.
    """
    _check(input, weight)
    if (found := _by_kernel(input, weight)) is not None:
        return found
    return np.take(weight, checked_positions(input, weight.shape[0]), 0)


def _by_kernel(input, weight):
    """The rows of a small table by a kernel; None if there is none, or a position is out of range."""
    if input.__class__ is not np.ndarray or weight.__class__ is not np.ndarray or input.dtype != np.int64:
        return None
    result = np.empty((*input.shape, weight.shape[1]), weight.dtype)
    return result if small("take_rows", (*weight.shape, input.size), (weight, input), (result,)) else None


def _check(input, weight):
    if weight.ndim != 2:
        raise ShapeError(f"embedding needs a weight of two axes, got shape {tuple(weight.shape)}")
    if input.dtype.kind not in "iu":
        raise DTypeError(f"embedding needs integers as positions, got {input.dtype}")


def _embedding_rule(g, input, weight_shape, padding_idx):
    if padding_idx is not None:
        g = where(expand_dims(equal(input, one_axis(padding_idx, weight_shape[0])), -1), 0, g)
    # The check was made on the way forward; compiled code need not make it again, nor wait with updates for it.
    return scatter_add(g, weight_shape, (checked_positions(input, weight_shape[0]),))


embedding.defvjp(None, _embedding_rule)


@indexing(keeps_sizes=True, faster=by_shape, makes_views=False, is_public=False, optional=("weight",),
          expansion=_embedding_in_ops, samples=(call(_ROWS, (4, 3)), call(np.array([0, 2]), (4, 3), 1)),
          skips={"gradient memory": "the array of a RowGradient is made when it is read"})
def embedding_by_rows(input, /, weight, padding_idx=None):
    """As `embedding`, but the gradient that `backward` leaves on `weight` is the rows that were chosen, and their positions."""
    return embedding(input, weight, padding_idx)


def _rows_rule(g, input, weight_shape, padding_idx):
    if not _are_rows_taken():
        return _embedding_rule(g, input, weight_shape, padding_idx)
    count = prod(input.shape)
    positions, rows = reshape(input, (count,)), reshape(g, (count, weight_shape[1]))
    if padding_idx is not None:
        is_padding = equal(positions, one_axis(padding_idx, weight_shape[0]))
        if is_padding.__class__ is rows.__class__ is np.ndarray:
            positions, rows = positions[~is_padding], rows[~is_padding]
        else:  # how many there are is not known
            rows = where(expand_dims(is_padding, -1), 0, rows)
    return arrays.rows(checked_positions(positions, weight_shape[0]), rows, weight_shape)


def _are_rows_taken():
    """Whether this walk can carry rows: there is a kind for them, one example, and no derivative of the gradient is wanted."""
    if not arrays.rows or is_recording():
        return False
    tracer = None if (mode := current()) is None else mode.tracer
    return tracer is None or not (tracer.is_batch or tracer.is_lazy)


embedding_by_rows.defvjp(None, _rows_rule)


def one_hot(input, /, num_classes=-1):
    """Integers as rows of zeros with a one at that place; `num_classes` is the length, by default the greatest plus one.

    >>> rg.nn.functional.one_hot(rg.tensor([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    if input.dtype.kind not in "iu":
        raise DTypeError(f"one_hot needs integers, got {input.dtype}")
    count = int(input.max()) + 1 if num_classes == -1 else num_classes
    return equal(expand_dims(checked_positions(input, count), -1), np.arange(count)).astype(np.int64)
