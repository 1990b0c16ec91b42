"""Embeddings and bags of them as functions, with PyTorch's arguments."""

import numpy as np

from ..core.mode import is_recording, no_grad
from ..core.value import Value
from ..errors import ArgumentError, ShapeError
from ..ops.axes.finding import searchsorted
from ..ops.axes.reductions import max as greatest
from ..ops.axes.reductions import norm
from ..ops.axes.reductions import sum as summed
from ..ops.elementary.comparisons import not_equal, where
from ..ops.manipulation.gathering import take
from ..ops.manipulation.movements import expand_dims, reshape
from ..ops.manipulation.segments import segment_max, segment_sum
from ..ops.networks.embeddings import embedding as looked_up
from ..ops.networks.embeddings import embedding_by_rows
from ..shapes import one_axis
from ..tensor import rows as _rows  # noqa: F401 - what a gradient by rows is

_MODES = ("sum", "mean", "max")


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the positions `input`, integers of any shape.

    padding_idx         a row that receives no gradient
    max_norm            rows that are looked up and longer, by the norm `norm_type`, are shortened to this first, in place
    scale_grad_by_freq  whether the gradient of a row is divided by how often it is looked up
    sparse              whether the gradient that `backward` leaves on `weight`, if that is a leaf, is a `RowGradient`: the rows
                        that were looked up and their positions

    >>> rg.nn.functional.embedding(rg.tensor([2, 0]), rg.tensor([[1.0], [2.0], [3.0]])).tolist()
    [[3.0], [1.0]]
    """
    if max_norm is not None:
        _shorten(input, weight, max_norm, norm_type)
    # What an op has made has a rule, which takes whole gradients.
    has_rows = sparse and is_recording() and isinstance(weight, Value) and weight.is_leaf
    rows = (embedding_by_rows if has_rows else looked_up)(input, weight, padding_idx)
    if not scale_grad_by_freq:
        return rows
    flat = reshape(input, -1)
    counts = take(segment_sum(np.ones(flat.shape, rows.dtype), flat, weight.shape[0]), input, 0)
    still = rows.detach()
    return still + (rows - still) * expand_dims(1 / counts, -1)


def _shorten(input, weight, max_norm, norm_type):
    """Bring the rows of `weight` at `input` to the length `max_norm` at most."""
    with no_grad():
        rows = looked_up(input, weight, None)
        lengths = norm(rows, norm_type, -1, keepdims=True)
        weight[input] = rows * where(lengths > max_norm, max_norm / (lengths + 1e-7), np.ones((), rows.dtype))


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """The mean, sum or greatest of the rows of `weight` at each bag of positions: a line of `input`, (bags, length).

    Where `input` is one line, `offsets` says where each bag of it begins; with `include_last_offset` also where the last one
    ends. `per_sample_weights` multiplies rows before a sum; rows that are `padding_idx` do not count. What is made of an empty
    bag is zero. For the other arguments see `embedding`.

    >>> weight = rg.tensor([[1.0], [3.0], [5.0]])
    >>> rg.nn.functional.embedding_bag(rg.tensor([0, 1, 2]), weight, rg.tensor([0, 2])).tolist()
    [[2.0], [5.0]]
    """
    if mode not in _MODES or per_sample_weights is not None and mode != "sum":
        raise ArgumentError('mode must be "sum", "mean" or "max", and "sum" with per_sample_weights, got ' + repr(mode))
    if input.ndim != (2 if offsets is None else 1):
        wanted = "(bags, length) without offsets" if offsets is None else "(positions,) with offsets"
        raise ShapeError(f"embedding_bag needs positions of shape {wanted}, got shape {tuple(input.shape)}")
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    rows = rows if per_sample_weights is None else rows * expand_dims(per_sample_weights, -1)
    counts = None if padding_idx is None else expand_dims(not_equal(input, one_axis(padding_idx, weight.shape[0])), -1)
    if offsets is None:
        return _of_lines(rows, mode, counts)
    return _of_parts(rows, mode, counts, offsets[:-1] if include_last_offset else offsets)


def _of_lines(rows, mode, counts):
    """Bags of equal length, (bags, length, features)."""
    if counts is None:
        return greatest(rows, 1) if mode == "max" else summed(rows, 1) if mode == "sum" else rows.mean(axis=1)
    number = summed(counts, 1)
    if mode == "max":
        return where(number == 0, 0, greatest(where(counts, rows, -np.inf), 1))
    return _shared(summed(where(counts, rows, 0), 1), number, mode)


def _of_parts(rows, mode, counts, offsets):
    """Bags that begin at `offsets`, of rows (all positions, features)."""
    bags = offsets.shape[0]
    # The last of the bags that begin here or before: those before it that begin at the same place are empty.
    bag = searchsorted(offsets, np.arange(rows.shape[0]), side="right") - 1
    number = segment_sum(np.ones((rows.shape[0], 1), np.int64) if counts is None else counts.astype("int64"), bag, bags)
    if mode == "max":
        found = segment_max(rows if counts is None else where(counts, rows, -np.inf), bag, bags)
        return where(number == 0, 0, found)
    return _shared(segment_sum(rows if counts is None else where(counts, rows, 0), bag, bags), number, mode)


def _shared(total, number, mode):
    return total if mode == "sum" else total / where(number == 0, 1, number).astype(total.dtype)
