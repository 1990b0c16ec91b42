"""Cross entropy over many classes, whose scores are never all in memory: some classes after the others, forward and backward.

The gradient in the inputs is the mean of the classes' weights by their chances, less the weights of the target. That mean is
attention of the inputs to the weights, and is found beside the loss in one walk, as Dao et al., "FlashAttention" (2022), find
theirs: sums are scaled anew where a greater score is met. The gradient in the weights takes a second walk, in which scores are
computed again; where one chunk has all classes there is nothing to compute again, and chances are kept for it.
"""

import numpy as np

from ..core.function import Function
from ..core.mode import is_recording
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.axes.reductions import max as greatest
from ..ops.axes.reductions import sum as summed
from ..ops.elementary.comparisons import maximum, where
from ..ops.elementary.conversions import after, astype
from ..ops.elementary.exponential import exp, log
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.gathering import checked_positions, take
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import expand_dims, reshape, transpose
from ..ops.networks._quantizing import PLAIN, format_of
from ..ops.networks.activation import softmax
from ..ops.networks.classification import check_classes
from ..ops.networks.loss import reduced
from ..ops.networks.quantized import dequantize, quantized_linear, quantized_linear_input
from ..tensor.creation import asarray, full, zeros
from ..transforms.autocast import autocast

#: Less than any score, and its differences are finite.
_LEAST = -1e30


def chunked_cross_entropy(input, linear_weight, target, chunk, reduction="mean", ignore_index=-100, format=None):
    """`cross_entropy(input @ linear_weight.T, target)`, with scores of `chunk` classes at a time in memory.

    `input` is (..., features), `linear_weight` (classes, features), or with a `format` rows of blocks of quantised weights, and
    `target` (...), of class numbers. The mean of no target that counts is 0. Computed in float32, or in float64.
    """
    if type(chunk) is not int or chunk < 1:
        raise ArgumentError(f"chunk is how many classes are computed at a time, an integer of at least 1, got {chunk!r}")
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"reduction must be mean, sum or none, got {reduction!r}")
    input, linear_weight, target = asarray(input), asarray(linear_weight), asarray(target)
    classes, rows = _checked(input, linear_weight, target, format), reshape(input, (-1, input.shape[-1]))
    flat = reshape(target, -1)
    is_valid = flat != ignore_index
    found = where(is_valid, flat, 0)
    check_classes(_Scores((rows.shape[0], classes)), found)
    found = checked_positions(found, classes)
    with autocast(enabled=False):
        wide = rows if rows.dtype == np.float64 else astype(rows, np.float32)
        weight = linear_weight if format not in (None, PLAIN) else astype(linear_weight, wide.dtype)
        losses = where(is_valid, _Chunked.apply(wide, weight, found, format, min(chunk, classes)), 0)
        if reduction == "mean":
            return summed(losses) / maximum(summed(astype(is_valid, losses.dtype)), 1)
        return reduced(losses, reduction) if reduction == "sum" else reshape(losses, target.shape)


class _Scores:
    """The shape of scores that nobody has."""

    def __init__(self, shape):
        self.shape, self.ndim = shape, len(shape)


def _checked(input, weight, target, format):
    """How many classes there are; an error if these do not fit each other."""
    if input.ndim < 1 or weight.ndim != 2 or tuple(target.shape) != tuple(input.shape[:-1]):
        raise ShapeError(f"a loss by chunks needs input (..., features), weights (classes, features) and target (...), got "
                         f"{tuple(input.shape)}, {tuple(weight.shape)} and {tuple(target.shape)}")
    if target.dtype.kind not in "iu":
        raise DTypeError(f"a loss by chunks needs class numbers, integers, got {target.dtype}")
    features = weight.shape[1] if format is None else format_of(format).row_weights(weight.shape[1])
    if features != input.shape[-1]:
        raise ShapeError(f"weights of {features} features do not fit input of {input.shape[-1]}")
    return weight.shape[0]


def _numbers(rows, format):
    return rows if format in (None, PLAIN) else dequantize(rows, format)


class _Part:
    """The weights of the classes from `first` to `last`."""

    def __init__(self, weight, format, first, last):
        self.format, self.places = None if format == PLAIN else format, (first, last)
        self.rows = weight[first:last] if self.format is None else weight

    def scores(self, x):
        """The scores of the classes."""
        if self.format is None:
            return matmul(x, transpose(self.rows))
        return quantized_linear(x, self.rows, self.format, *self.places)

    def weighted(self, powers):
        """The sum of the weights of the classes, each times a number."""
        if self.format is None:
            return matmul(powers, self.rows)
        return quantized_linear_input(powers, self.rows, self.format, *self.places)


class _Chunked(Function):
    """The loss of each row; `target` (rows,) has class numbers that are in range."""

    @staticmethod
    def forward(ctx, x, weight, target, format, chunk):
        needs_slope = ctx.needs_input_grad[0]
        top, total = full((x.shape[0], 1), _LEAST, dtype=x.dtype), zeros(x.shape[0], 1, dtype=x.dtype)
        mean = zeros(*x.shape, dtype=x.dtype)
        for first in range(0, weight.shape[0], chunk):
            part = _Part(weight, format, first, min(first + chunk, weight.shape[0]))
            # Compiled, each chunk waits for the one before it, whose scores are then gone.
            scores = part.scores(after(x, top))
            new = maximum(top, greatest(scores, -1, keepdims=True))
            powers, shrunk = exp(scores - new), exp(top - new)
            top, total = new, total * shrunk + summed(powers, -1, keepdims=True)
            if needs_slope:
                mean = mean * shrunk + part.weighted(powers)
        own = _numbers(take(weight, target, 0), format)
        logs = log(total)
        chances = powers / total if chunk >= weight.shape[0] and ctx.needs_input_grad[1] else None
        ctx.save_for_backward(x, weight, target, top, logs, mean / total - own if needs_slope else None, chances)
        ctx.chunk, ctx.format = chunk, format
        # The difference of great scores first: a logarithm that is added to one of them is rounded away.
        return reshape(top, -1) - summed(x * own, -1) + reshape(logs, -1)

    @staticmethod
    def backward(ctx, g):
        x, weight, target, top, logs, slope, chances = ctx.saved_tensors
        with autocast(enabled=False):
            g, to_weight = expand_dims(g, -1), None
            if is_recording():
                return *_slopes_again(g, x, weight, target, ctx), None, None, None
            if chances is not None:
                to_weight = _part_slope(g, x, target, chances, 0)
            elif ctx.needs_input_grad[1]:
                to_weight = _weight_slope(g, x, weight, target, (top, logs), ctx.chunk)
            return None if slope is None else g * slope, to_weight, None, None, None


def _slopes_again(g, x, weight, target, ctx):
    """The gradients in the inputs and in the weights where they are differentiated again: sums of the forward pass are no part of
    the graph, so all is made of both anew, with all scores in memory.
    """
    part = _Part(weight, ctx.format, 0, weight.shape[0])
    scores = part.scores(x)
    slope = (softmax(scores, -1) - _is_own(target, scores, 0)) * g
    to_input, to_weight = ctx.needs_input_grad[:2]
    return part.weighted(slope) if to_input else None, matmul(transpose(slope), x) if to_weight else None


def _is_own(target, scores, first):
    """1 for the class of each row, and 0 for all others from `first` on."""
    return astype(expand_dims(target, -1) == np.arange(first, first + scores.shape[1]), scores.dtype)


def _weight_slope(g, x, weight, target, sums, chunk):
    """The gradient in the weights, one chunk after the other."""
    found, waited, (top, logs) = [], g, sums
    for first in range(0, weight.shape[0], chunk):
        rows = weight[first : first + chunk]
        chances = exp(matmul(after(x, waited), transpose(rows)) - top - logs)
        found.append(_part_slope(g, x, target, chances, first))
        waited = found[-1][:1, :1]
    return concatenate(found, 0) if len(found) > 1 else found[0]


def _part_slope(g, x, target, chances, first):
    """The gradient in the weights of the classes from `first` on, which have these chances in each row."""
    return matmul(transpose((chances - _is_own(target, chances, first)) * g), x)
