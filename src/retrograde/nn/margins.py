"""Losses of distances, margins and ranks, with the arguments of `torch.nn.functional`. Targets are 1 and -1, or class numbers."""

from ..core.explain import explaining
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.axes.products import cumprod
from ..ops.axes.reductions import norm
from ..ops.axes.searches import any as any_of
from ..ops.elementary.arithmetic import sqrt
from ..ops.elementary.comparisons import clip, maximum, minimum, where
from ..ops.elementary.conversions import as_floats
from ..ops.manipulation.gathering import take_along_axis
from ..ops.manipulation.movements import expand_dims, reshape
from ..ops.networks.activation import log_sigmoid, relu, softplus
from ..ops.networks.classification import check_classes
from ..ops.networks.loss import reduced
from ..tensor.creation import arange, asarray


@explaining
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The `p`-norm of the differences along the last axis, to which `eps` is added.

    >>> rg.nn.functional.pairwise_distance(rg.tensor([[3.0, 4.0]]), rg.zeros(1, 2), eps=0.0)
    tensor([5.])
    """
    x1, x2 = as_floats(x1, x2)
    return norm(x1 - x2 + eps, p, -1, keepdim)


@explaining
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    r"""$1 - \cos$ of the angle between vectors that belong together (target 1), $\max(0, \cos - m)$ of others (target -1)."""
    input1, input2 = as_floats(input1, input2)
    lengths = ((input1 * input1).sum(axis=-1) + _TINY) * ((input2 * input2).sum(axis=-1) + _TINY)
    cosine = (input1 * input2).sum(axis=-1) / sqrt(lengths)
    return reduced(where(target == 1, 1 - cosine, 0) + where(target == -1, clip(cosine - margin, 0, None), 0), reduction)


_TINY = 1e-12


@explaining
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    r"""$\max(0, -y (x_1 - x_2) + m)$: `input1` is to rank above `input2` where the target is 1, below where it is -1."""
    input1, input2 = as_floats(input1, input2)
    return reduced(clip(asarray(target) * (input2 - input1) + margin, 0, None), reduction)


@explaining
def hinge_embedding_loss(input, target, margin=1.0, reduction="mean"):
    r"""The distance itself where the target is 1, $\max(0, m - x)$ where it is -1."""
    (input,) = as_floats(input)
    return reduced(where(target != 1, clip(margin - input, 0, None), 0) + where(target != -1, input, 0), reduction)


@explaining
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
    r"""$\max(0, d(a, p) - d(a, n) + m)$: an anchor is to be nearer to `positive` than to `negative` by a margin.

    `swap` takes the distance from `positive` to `negative` where that is the smaller one.
    """
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda x, y: pairwise_distance(x, y, p, eps), margin=margin, swap=swap,
        reduction=reduction)


@explaining
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """`triplet_margin_loss` with a distance of your own; `pairwise_distance` if there is none."""
    if margin <= 0:
        raise ArgumentError(f"a triplet loss needs a margin above 0, got {margin}")
    distance = distance_function or pairwise_distance
    apart = distance(anchor, negative)
    if swap:
        apart = minimum(apart, distance(positive, negative))
    return reduced(clip(distance(anchor, positive) - apart + margin, 0, None), reduction)


@explaining
def soft_margin_loss(input, target, reduction="mean"):
    r"""$\ln(1 + e^{-y x})$ with targets 1 and -1."""
    (input,) = as_floats(input)
    return reduced(softplus(asarray(target) * -input), reduction)


@explaining
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction="mean"):
    r"""$\frac1C \sum_{i \ne y} w_y \max(0, m - x_y + x_i)^p$ for scores of C classes and the number y of the right one."""
    target = asarray(target)
    if input.ndim < 2 and target.size == 1:  # one score alone is of one class
        input, target = reshape(input, -1), reshape(target, ())
    if input.ndim not in (1, 2):
        raise ShapeError(f"scores must be (classes,) or (batch, classes), got shape {tuple(input.shape)}")
    check_classes(input, target, weight)
    (input,) = as_floats(input)
    classes, target = arange(input.shape[-1]), expand_dims(target, -1)
    # Of the right class nothing is computed: an infinite score less itself is not a number.
    above = relu(where(classes == target, 0, margin - take_along_axis(input, target, -1) + input))
    terms = above if p == 1 else above**p
    if weight is not None:
        terms = terms * asarray(weight)[target]
    return reduced(terms.mean(axis=-1), reduction)


@explaining
def multilabel_margin_loss(input, target, reduction="mean"):
    r"""$\frac1C \sum_j \sum_i \max(0, 1 - x_{y_j} + x_i)$ over the right classes $y_j$ and all others $i$.

    The target holds the numbers of the right classes, and ends with the first -1.
    """
    target = asarray(target)
    if input.ndim == target.ndim == 0:
        input, target = reshape(input, 1), reshape(target, 1)
    if input.ndim not in (1, 2) or target.shape != input.shape:
        raise ShapeError(f"scores and target must both be (classes,) or (batch, classes), got shapes {tuple(input.shape)} and "
                         f"{tuple(target.shape)}")
    if target.dtype.kind not in "iu":
        raise DTypeError(f"class numbers must be integers, got {target.dtype}; convert them, as in target.astype(rg.int64)")
    (input,), classes = as_floats(input), arange(input.shape[-1])
    counts = cumprod((target >= 0).astype("int64"), -1) == 1
    chosen = maximum(target, 0)
    is_right = any_of((expand_dims(chosen, -1) == classes) & expand_dims(counts, -1), axis=-2)
    above = relu(1 - expand_dims(take_along_axis(input, chosen, -1), -1) + expand_dims(input, -2))
    terms = where(expand_dims(counts, -1) & ~expand_dims(is_right, -2), above, 0)
    return reduced(terms.sum(axis=(-2, -1)) / input.shape[-1], reduction)


@explaining
def multilabel_soft_margin_loss(input, target, weight=None, reduction="mean"):
    r"""Mean over classes of the cross entropy of yes-or-no targets from logits, each class times its `weight`."""
    (input,) = as_floats(input)
    terms = -(target * log_sigmoid(input) + (1 - asarray(target)) * log_sigmoid(-input))
    return reduced((terms if weight is None else terms * weight).mean(axis=-1), reduction)
