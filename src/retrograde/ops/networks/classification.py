"""Losses of classification: logits or log-probabilities compared with classes.

The class axis is axis 1, or axis 0 of an input with one axis: (C,), (N, C), (N, C, d1, ...). Targets are class numbers,
of the input's shape without that axis.
"""

from typing import Any

import numpy as np

from ...core.value import Value
from ...dtypes import is_float
from ...errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from .._families import loss
from .._native import by_shape, small
from .._samples import call, of, uniform
from ..axes.reductions import sum
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats
from ..manipulation.gathering import checked_positions, lines, pick, take, unpick
from ..manipulation.movements import expand_dims
from .activation import log_softmax, softmax
from .loss import as_array, reduced

_CLASSES, _PIXELS = np.array([2, 0, -100, 1]), np.array([[0, 2], [1, -100]])
_WEIGHTS = np.array([1.0, 0.5, 2.0])
_SHARES = of((4, 3), uniform(0.1, 0.6))


def _class_axis(input):
    return 1 if input.ndim > 1 else 0


def check_classes(input, target, weight=None, ignore_index=None):
    """Raise an error of ours unless the class numbers `target`, and the `weight` of classes, fit the scores `input`."""
    if input.ndim == 0:
        raise ShapeError("scores need an axis of classes, got shape ()")
    axis, found = _class_axis(input), tuple(target.shape)
    count, shape = input.shape[axis], (*input.shape[:axis], *input.shape[axis + 1 :])
    if found != shape:
        hint = "; drop the last axis, as in target.squeeze(-1)" if found == (*shape, 1) else ""
        hint = "; probabilities, or one-hot rows, must be floats" if found == tuple(input.shape) else hint
        raise ShapeError(f"the target must have one class number for each example, shape {shape} for scores of "
                         f"{tuple(input.shape)}, got {found}{hint}")
    if target.dtype.kind not in "iub":
        raise DTypeError(f"class numbers must be integers, got {target.dtype}; convert them, as in target.astype(rg.int64)")
    if weight is not None and tuple(weight.shape) != (count,):
        raise ShapeError(f"weight must have one number for each of the {count} classes, got shape {tuple(weight.shape)}")
    numbers = target.raw if isinstance(target, Value) else target
    # As unsigned numbers, negative ones are too great.
    if isinstance(numbers, np.ndarray) and (numbers.view(f"u{numbers.itemsize}") >= count).any():
        _check_range(numbers, count, ignore_index)


def _check_range(numbers, count, ignore_index):
    is_wrong = ((numbers < 0) | (numbers >= count)) & (numbers != ignore_index)
    if is_wrong.any():
        ignored = "" if ignore_index is None else f", or be ignore_index={ignore_index}"
        raise OutOfRangeError(f"class numbers must lie between 0 and {count - 1}{ignored}, got {numbers[is_wrong].flat[0]}")


def _valid(target, ignore_index):
    """Which targets count, and the targets with 0 in place of the others."""
    is_valid = np.not_equal(target, ignore_index)
    return is_valid, where(is_valid, target, 0)


def _importance(is_valid, classes, weight, dtype):
    """How much each target counts in a loss of type `dtype`."""
    return is_valid.astype(dtype) if weight is None else where(is_valid, take(weight, classes), 0).astype(dtype)


def _reduced_by(losses, importance, reduction):
    """`losses`, importance included, reduced: their mean is weighted."""
    return sum(losses) / sum(importance) if reduction == "mean" else reduced(losses, reduction)


def _portion(is_valid, importance, reduction):
    """What part of the cotangent each loss receives, before its importance; none of a mean of nothing."""
    return where(is_valid, 1 / where(is_valid, sum(importance), 1), 0) if reduction == "mean" else 1.0


@loss(samples=(call((4, 3), _CLASSES), call((4, 3), _CLASSES, weight=_WEIGHTS, reduction="sum"),
               call((2, 3, 2), _PIXELS, weight=_WEIGHTS), call((3,), np.array(1)), call((4, 3), _CLASSES, reduction="none")))
def nll_loss(input, target, /, weight=None, ignore_index=-100, reduction="mean"):
    r"""Negative log-likelihood of the classes `target` under the log-probabilities `input`.

    `weight` has one number per class; targets equal to `ignore_index` do not count. The mean is weighted.

    $z = -\sum_n w_{y_n} x_{n y_n} / \sum_n w_{y_n} \;\Rightarrow\;
    \bar x_{n c} = -\bar z\, w_{y_n} [c = y_n] / \sum_n w_{y_n}$
    """
    target = as_array(target)
    check_classes(input, target, weight, ignore_index)
    (input,) = as_floats(input)
    is_valid, classes = _valid(target, ignore_index)
    importance = _importance(is_valid, classes, weight, input.dtype)
    # Where an ignored target points, there may be an infinity.
    losses = where(is_valid, -pick(input, classes, _class_axis(input)), 0)
    return _reduced_by(losses * importance, importance, reduction)


def _nll_rule(g, input_shape, target, weight, ignore_index, reduction):
    is_valid, classes = _valid(target, ignore_index)
    importance = _importance(is_valid, classes, weight, g.dtype)
    given = -g * _portion(is_valid, importance, reduction) * importance
    return unpick(given, input_shape, classes, 1 if len(input_shape) > 1 else 0)


nll_loss.defvjp(_nll_rule, None)


def _cross_entropy_in_ops(input, target, weight, ignore_index, reduction, label_smoothing):
    (input,) = as_floats(input)
    if is_float(target.dtype):
        return _soft_loss(input, target, weight, reduction, label_smoothing)
    check_classes(input, target, weight, ignore_index)
    axis = _class_axis(input)
    is_valid, classes = _valid(target, ignore_index)
    importance = _importance(is_valid, classes, weight, input.dtype)
    shifted = input - input.max(axis=axis, keepdims=True)
    total = np.log(sum(np.exp(shifted), axis))
    losses = where(is_valid, total - pick(shifted, classes, axis), 0) * importance
    if label_smoothing:
        even = expand_dims(total, axis) - shifted
        even = sum(even if weight is None else even * _per_class(weight, input), axis) * is_valid
        losses = losses * (1 - label_smoothing) + even * (label_smoothing / input.shape[axis])
    return _reduced_by(losses, importance, reduction)


@loss(faster=by_shape, is_composite=False, expansion=_cross_entropy_in_ops, optional=("weight",), samples=(
    call((4, 3), _CLASSES), call((4, 3), _CLASSES, weight=_WEIGHTS, reduction="none"), call((4, 3), _SHARES),
    call((2, 3, 2), _PIXELS, weight=_WEIGHTS, label_smoothing=0.1), call((3,), np.array(1), reduction="sum"),
    call((4, 3), _SHARES, weight=_WEIGHTS, label_smoothing=0.2, reduction="sum"), call((3,), of((3,), uniform(0.1, 0.6)))))
def cross_entropy(input, target, /, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    r"""Cross entropy between the softmax of the logits `input` and `target`: class numbers, or one probability per class.

    `weight` has one number per class; class numbers equal to `ignore_index` do not count; `label_smoothing` moves that
    part of each target's probability to all classes evenly. A logit of minus infinity rules its class out.

    With $q$ the target's probabilities, $p$ the softmax and $w$ the weights,
    $\ell_n = -\sum_c w_c q_{n c} \ln p_{n c} \;\Rightarrow\;
    \bar x_{n c} = \bar\ell_n\,(p_{n c} \sum_k w_k q_{n k} - w_c q_{n c})$

    >>> rg.ops.classification.cross_entropy(rg.tensor([[0.0, 0.0]]), rg.tensor([1]))
    tensor(0.6931472)
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"label_smoothing must lie between 0 and 1, got {label_smoothing}")
    axis, target, (input,) = _class_axis(input), as_array(target), as_floats(input)
    is_simple = weight is None and not label_smoothing and not 0 <= ignore_index < input.shape[axis] and reduction in _REDUCTIONS
    if is_simple and (losses := _by_kernel("cross_entropy", input, target, axis, reduction)) is not None:
        return losses if reduction == "none" else np.add.reduce(losses, None) / (losses.size if reduction == "mean" else 1)
    if weight is not None or label_smoothing or not _is_plain(target, ignore_index, input.shape, axis):
        return _cross_entropy_in_ops(input, target, weight, ignore_index, reduction, label_smoothing)
    shifted = input - np.maximum.reduce(input, axis, keepdims=True)
    losses = np.log(sum(np.exp(shifted), axis))
    losses -= shifted[lines(input.shape, target, axis)]
    return reduced(losses, reduction)


_REDUCTIONS = ("mean", "sum", "none")


def _by_kernel(name, input, target, axis, reduction):
    """What a kernel gives for class numbers along the last axis; None if there is none, or one is out of range."""
    is_last = axis == input.ndim - 1
    if not is_last or target.__class__ is not np.ndarray or target.dtype != np.int64 or target.shape != input.shape[:axis]:
        return None
    sizes, is_of_classes = (target.size, input.shape[axis]), name == "cross_entropy_slopes"
    result = np.empty(input.shape if is_of_classes else target.shape, input.dtype)
    sizes = (*sizes, int(reduction == "mean")) if is_of_classes else sizes
    return result if small(name, sizes, (input, target), (result,)) else None


def _is_plain(target, ignore_index, shape, axis):
    """Whether `target` has class numbers only: none is ignored, and none is out of range."""
    if target.dtype.kind not in "iu" or target.ndim == 0 or 0 <= ignore_index < shape[axis]:
        return False
    if target.shape != shape[:axis] + shape[axis + 1 :]:
        return False
    # As unsigned numbers, negative ones are too great.
    return not (target.view(f"u{target.itemsize}") >= shape[axis]).any()


def _per_class(weight, input):
    """One weight per class in a shape that broadcasts with `input`; 1 without weights."""
    return 1 if weight is None else weight.reshape((-1,) + (1,) * max(input.ndim - 2, 0))


def _soft_loss(input, target, weight, reduction, label_smoothing):
    axis = _class_axis(input)
    if input.shape != target.shape:
        is_of_classes = target.shape == (*input.shape[:axis], *input.shape[axis + 1 :])
        hint = f"; class numbers must be integers, not {target.dtype}: write target.astype(rg.int64)" if is_of_classes else ""
        raise ShapeError(f"class probabilities must have the shape of the logits, {input.shape}, got {target.shape}{hint}")
    if weight is not None and tuple(weight.shape) != (input.shape[axis],):
        raise ShapeError(f"weight must have one number for each of the {input.shape[axis]} classes, got {tuple(weight.shape)}")
    weighted = _smoothed(target, label_smoothing, axis) * _per_class(weight, input)
    # A class without probability adds nothing, even if its logit rules it out.
    terms = where(weighted == 0, 0, weighted * where(weighted == 0, 0, log_softmax(input, axis)))
    losses = -sum(terms, axis)
    return reduced(losses, reduction)


def _smoothed(target, label_smoothing, axis):
    if not label_smoothing:
        return target
    return target * (1 - label_smoothing) + label_smoothing / target.shape[axis]


def _cross_entropy_rule(g, input, target, weight, ignore_index, reduction, label_smoothing):
    if is_float(target.dtype):
        return _soft_rule(g, input, target, weight, reduction, label_smoothing)
    slopes = cross_entropy_slopes(input, target, weight, ignore_index, reduction, label_smoothing)
    return slopes * (expand_dims(g, _class_axis(input)) if reduction == "none" else g)


def _slopes_in_ops(input, target, weight, ignore_index, reduction, label_smoothing):
    axis = _class_axis(input)
    factors, hard, even = _factors(input, target, weight, ignore_index, reduction, label_smoothing)
    _, classes = _valid(target, ignore_index)
    classes = checked_positions(classes, input.shape[axis])
    slopes = softmax(input, axis) * factors - (_class_numbers(input, axis) == expand_dims(classes, axis)) * hard
    return slopes - even * _per_class(weight, input) if label_smoothing else slopes


def _class_numbers(input, axis):
    """The numbers of the classes along their axis."""
    return np.arange(input.shape[axis]).reshape((-1,) + (1,) * (input.ndim - axis - 1))


def _factors(input, target, weight, ignore_index, reduction, label_smoothing) -> tuple[Any, Any, Any]:
    """What multiplies the softmax, the target's class and all classes in the slopes of each loss."""
    axis, count = _class_axis(input), input.shape[_class_axis(input)]
    is_valid, classes = _valid(target, ignore_index)
    importance = _importance(is_valid, classes, weight, input.dtype)
    portion = _portion(is_valid, importance, reduction)
    hard = expand_dims(importance * ((1 - label_smoothing) * portion), axis)
    if not label_smoothing:
        return hard, hard, None
    even = expand_dims(is_valid.astype(input.dtype) * (label_smoothing / count * portion), axis)
    return hard + even * (count if weight is None else sum(weight)), hard, even


@loss(is_public=False, faster=by_shape, is_composite=False, expansion=_slopes_in_ops, samples=(
    call((4, 3), _CLASSES, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0),
    call((2, 3, 2), _PIXELS, weight=_WEIGHTS, ignore_index=-100, reduction="sum", label_smoothing=0.1)))
def cross_entropy_slopes(input, target, /, weight, ignore_index, reduction, label_smoothing):
    r"""Derivatives of `cross_entropy` in the logits, for class numbers.

    $z_{n c} = a_n p_{n c} - b_{n c}$ with the softmax $p \;\Rightarrow\;
    \bar x_{n c} = a_n p_{n c}\,(\bar z_{n c} - \sum_k \bar z_{n k} p_{n k})$
    """
    axis = _class_axis(input)
    is_simple = weight is None and not label_smoothing and not 0 <= ignore_index < input.shape[axis]
    if is_simple and (slopes := _by_kernel("cross_entropy_slopes", input, target, axis, reduction)) is not None:
        return slopes
    if weight is not None or label_smoothing or not _is_plain(target, ignore_index, input.shape, axis):
        return _slopes_in_ops(input, target, weight, ignore_index, reduction, label_smoothing)
    slopes = np.exp(input - np.maximum.reduce(input, axis, keepdims=True))
    slopes /= sum(slopes, axis, True)
    slopes[lines(input.shape, target, axis)] -= 1
    if reduction == "mean":
        slopes *= 1 / (target.size or 1)
    return slopes


def _slopes_rule(g, input, target, weight, ignore_index, reduction, label_smoothing):
    axis = _class_axis(input)
    factors, _, _ = _factors(input, target, weight, ignore_index, reduction, label_smoothing)
    chances = softmax(input, axis)
    return factors * chances * (g - sum(g * chances, axis, True))


cross_entropy_slopes.defvjp(_slopes_rule, None)


def _soft_rule(g, input, target, weight, reduction, label_smoothing):
    axis = _class_axis(input)
    weighted = _smoothed(target, label_smoothing, axis) * _per_class(weight, input)
    slopes = softmax(input, axis) * sum(weighted, axis, True) - weighted
    return slopes * _given(g, input, axis, reduction)


def _given(g, input, axis, reduction):
    """The cotangent of each loss, with an axis for the classes."""
    if reduction == "none":
        return expand_dims(g, axis)
    return g * (input.shape[axis] / (input.size or 1)) if reduction == "mean" else g


def _target_rule(g, input, weight, reduction, label_smoothing):
    axis = _class_axis(input)
    slopes = -log_softmax(input, axis) * _per_class(weight, input) * (1 - label_smoothing)
    return slopes * _given(g, input, axis, reduction)


def _weight_rule(g, input, target, weight, z, ignore_index, reduction, label_smoothing):
    axis = _class_axis(input)
    logs = -log_softmax(input, axis)
    if is_float(target.dtype):
        shares = _smoothed(target, label_smoothing, axis)
        terms = where(shares == 0, 0, logs * shares) * _given(g, input, axis, reduction)
    else:
        is_valid, classes = _valid(target, ignore_index)
        chosen = (_class_numbers(input, axis) == expand_dims(classes, axis)) & expand_dims(is_valid, axis)
        shares = chosen * (1 - label_smoothing) + expand_dims(is_valid, axis) * (label_smoothing / input.shape[axis])
        terms = where(shares == 0, 0, logs * shares)
        if reduction == "mean":
            terms = (terms - chosen * z) / sum(_importance(is_valid, classes, weight, input.dtype))
        terms = terms * (expand_dims(g, axis) if reduction == "none" else g)
    return sum(terms, tuple([i for i in range(input.ndim) if i != axis]))


cross_entropy.defvjp(_cross_entropy_rule, _target_rule, _weight_rule)
