"""Losses: predictions compared with targets. Arguments and results are those of `torch.nn.functional`.

Prediction and target should have one shape: others broadcast, with a BroadcastWarning.
`reduction` is "mean" over all elements, "sum" of them, or "none" for one loss per element.
"""

import numpy as np

from ...core.explain import explaining
from ...core.value import Value
from ...core.warn import warn
from ...errors import ArgumentError, BroadcastWarning, ShapeError
from ...shapes import mismatch
from .._families import loss
from .._native import by_small_rows
from .._samples import call, of, uniform
from ..axes.reductions import mean, sum
from ..elementary.arithmetic import abs, mirrored, sign
from ..elementary.comparisons import clip, where
from ..elementary.conversions import as_floats
from ..elementary.exponential import exp
from ..manipulation.movements import unbroadcast
from ..special.entropies import xlogy
from .activation import sigmoid, softplus

_PAIRS = tuple(call((2, 3), (2, 3), reduction=r) for r in ("mean", "sum", "none"))


def reduced(values, reduction):
    """`values` brought together as `reduction` says."""
    if reduction == "mean":
        return mean(values)
    if reduction == "sum":
        return sum(values)
    if reduction == "none":
        return values
    raise ArgumentError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')


def as_array(target):
    """`target`, as an array if it is a list."""
    return np.asarray(target) if isinstance(target, (list, tuple)) else target


def check_pair(input, target):
    """Warn if prediction and target have different shapes that broadcast: each element is then compared with more than its own.

    Traced values are not looked at: they were as arrays, when the shape of the result was asked for.
    """
    shape, other = getattr(input, "shape", ()), getattr(target, "shape", ())
    if shape == other or not shape or not other or isinstance(input, Value) or isinstance(target, Value):
        return
    if found := mismatch([shape, other]):
        raise ShapeError(found)
    warn(f"input and target have the shapes {shape} and {other}, which broadcast to {np.broadcast_shapes(shape, other)}, so that "
         f"elements are compared with more than their own; bring them to one shape, as in target.reshape(input.shape)",
         BroadcastWarning)


def share(g, values, reduction):
    """The cotangent of each of `values` from that of what they were reduced to."""
    return g / (values.size or 1) if reduction == "mean" else g


def _of_difference(slope):
    """The rules of a loss of `input - target` from its derivative there, `slope(difference, *parameters)`."""

    def rule(g, input, target, reduction, *parameters):
        difference = input - target
        return share(g, difference, reduction) * slope(difference, *parameters)

    return rule


@loss(faster=by_small_rows, samples=_PAIRS)
def mse_loss(input, target, /, reduction="mean"):
    r"""Mean of the squared differences between `input` and `target`.

    $z = \tfrac1n \sum_i (x_i - y_i)^2 \;\Rightarrow\; \bar x_i = \tfrac2n \bar z\,(x_i - y_i),\; \bar y = -\bar x$;
    without the $1/n$ for "sum" and "none".
    """
    target = as_array(target)
    check_pair(input, target)
    input, target = as_floats(input, target)
    difference = input - target
    return reduced(difference * difference, reduction)


_mse_rule = _of_difference(lambda d: 2 * d)
mse_loss.defvjp(
    lambda g, input, target, reduction: unbroadcast(_mse_rule(g, input, target, reduction), input.shape),
    lambda g, input, target, reduction: unbroadcast(-_mse_rule(g, input, target, reduction), target.shape),
)


@loss(faster=by_small_rows, aliases=("mae_loss",), samples=tuple(
    call(of((2, 3), uniform(1, 3)), of((2, 3), uniform(-3, 0.9)), reduction=r) for r in ("mean", "sum", "none")))
def l1_loss(input, target, /, reduction="mean"):
    r"""Mean of the absolute differences between `input` and `target`; the derivative where they are equal is 0.

    $z = \tfrac1n \sum_i |x_i - y_i| \;\Rightarrow\; \bar x_i = \tfrac1n \bar z \operatorname{sign}(x_i - y_i),\;
    \bar y = -\bar x$; without the $1/n$ for "sum" and "none".
    """
    target = as_array(target)
    check_pair(input, target)
    input, target = as_floats(input, target)
    return reduced(abs(input - target), reduction)


_l1_rule = _of_difference(lambda d: mirrored(sign(d)))
l1_loss.defvjp(
    lambda g, input, target, reduction: unbroadcast(_l1_rule(g, input, target, reduction), input.shape),
    lambda g, input, target, reduction: unbroadcast(-_l1_rule(g, input, target, reduction), target.shape),
)


@loss(faster=by_small_rows, is_real=True,
      samples=tuple(call((2, 3), (2, 3), reduction=r, delta=d) for r, d in (("mean", 1.0), ("sum", 0.5), ("none", 9.0))))
def huber_loss(input, target, /, reduction="mean", delta=1.0):
    r"""Half the squared difference where that is at most `delta`, and a straight line beyond.

    With $d = x - y$: $\ell = \tfrac12 d^2$ if $|d| \le \delta$, else $\delta\,(|d| - \tfrac12\delta)$.
    $\bar x_i = \tfrac1n \bar z \min(\max(d_i, -\delta), \delta),\; \bar y = -\bar x$; without the $1/n$ for "sum" and "none".
    """
    if delta <= 0:
        raise ArgumentError(f"huber_loss needs delta > 0, got {delta}")
    target = as_array(target)
    check_pair(input, target)
    input, target = as_floats(input, target)
    size = abs(input - target)
    near = np.minimum(size, delta)
    return reduced(near * (size - 0.5 * near), reduction)


_huber_rule = _of_difference(lambda d, delta: clip(d, -delta, delta))
huber_loss.defvjp(
    lambda g, input, target, reduction, delta: unbroadcast(_huber_rule(g, input, target, reduction, delta), input.shape),
    lambda g, input, target, reduction, delta: unbroadcast(-_huber_rule(g, input, target, reduction, delta), target.shape),
)


@explaining
def kl_div(input, target, reduction="mean", log_target=False):
    r"""Divergence (Kullback and Leibler) of probabilities `target` from those whose logarithms `input` holds: the terms
    $y\,(\log y - x)$, 0 where $y$ is 0. With `log_target` the target is logarithms too. "batchmean" divides the sum by the number
    of rows, which is the divergence itself; "mean" by that of elements.

    >>> rg.nn.functional.kl_div(rg.log(rg.tensor([[0.5, 0.5]])), rg.tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931472)
    """
    input, target = as_floats(input, target)
    terms = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return sum(terms) / terms.shape[0] if terms.ndim else terms
    return reduced(terms, reduction)


def smooth_l1_loss(input, target, /, reduction="mean", beta=1.0):
    """`huber_loss` with `delta` = `beta`, divided by `beta`; `l1_loss` if `beta` is 0."""
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss needs beta >= 0, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return huber_loss(input, target, reduction, beta) / beta


_PROBABLE = of((2, 3), uniform(0.1, 0.9))


@loss(faster=by_small_rows, samples=(
               call((2, 3), _PROBABLE), call((2, 3), _PROBABLE, reduction="sum", pos_weight=np.array([1.0, 2.0, 0.5])),
               call((2, 3), _PROBABLE, weight=np.array([[1.0], [2.0]]), reduction="none")))
def binary_cross_entropy_with_logits(input, target, /, weight=None, reduction="mean", pos_weight=None):
    r"""Cross entropy of independent yes-or-no `target`s (from 0 to 1), from logits; safe for large ones.

    `weight` multiplies each loss, `pos_weight` the part of the positive targets.

    $\ell = w\,[(1 - y)\,x + c \ln(1 + e^{-x})]$ with $c = 1 + (p - 1)\,y$
    $\;\Rightarrow\; \bar x = \bar\ell\, w\,[(1 - y) - c\,\sigma(-x)],\;
    \bar y = \bar\ell\, w\,[(p - 1) \ln(1 + e^{-x}) - x]$
    """
    target = as_array(target)
    check_pair(input, target)
    input, target = as_floats(input, target)
    losses = (1 - target) * input + _positive(target, pos_weight) * softplus(-input)
    return reduced(_weighted(losses, weight), reduction)


def _positive(target, pos_weight):
    return 1 if pos_weight is None else 1 + (pos_weight - 1) * target


def _weighted(losses, weight):
    return losses if weight is None else losses * weight


def _logits_rule(g, input, target, weight, reduction, pos_weight):
    slopes = (1 - target) - _positive(target, pos_weight) * sigmoid(-input)
    return unbroadcast(share(g, slopes, reduction) * _weighted(slopes, weight), input.shape)


def _logits_target_rule(g, input, target, weight, reduction, pos_weight):
    slopes = 0 * target - input
    if pos_weight is not None:
        slopes = slopes + (pos_weight - 1) * softplus(-input)
    return unbroadcast(share(g, slopes, reduction) * _weighted(slopes, weight), target.shape)


binary_cross_entropy_with_logits.defvjp(_logits_rule, _logits_target_rule)


@loss(samples=(call(_PROBABLE, _PROBABLE), call(_PROBABLE, _PROBABLE, weight=np.array([[1.0], [2.0]]), reduction="sum"),
               call(_PROBABLE, _PROBABLE, reduction="none")))
def binary_cross_entropy(input, target, /, weight=None, reduction="mean"):
    r"""Cross entropy of yes-or-no `target`s from the probabilities `input`; logarithms stop at -100.

    Raises an ArgumentError for numbers outside of 0 to 1; compiled code does not look.

    $\ell = -w\,[y \ln x + (1 - y) \ln(1 - x)] \;\Rightarrow\; \bar x = \bar\ell\, w\,\frac{x - y}{x (1 - x)},\;
    \bar y = \bar\ell\, w\,[\ln(1 - x) - \ln x]$

    Better from logits: `binary_cross_entropy_with_logits`.
    """
    target = as_array(target)
    check_pair(input, target)
    _check_chances(input, "; of logits, which may be any number, binary_cross_entropy_with_logits is the loss")
    _check_chances(target, " in the target")
    input, target = as_floats(input, target)
    losses = (target - 1) * _logarithm(1 - input) - target * _logarithm(input)
    return reduced(_weighted(losses, weight), reduction)


def _check_chances(x, hint):
    """Raise an ArgumentError if `x` has numbers outside of 0 to 1; a traced value has none yet."""
    if isinstance(x, np.ndarray) and x.size and (x.min() < 0 or x.max() > 1):
        raise ArgumentError(f"probabilities must lie between 0 and 1, got {x.min() if x.min() < 0 else x.max()}{hint}")


def _logarithm(x):
    """Natural logarithm, at least -100."""
    return where(x > 0, np.log(where(x > 0, x, 1)), -100).clip(-100, None)


def _binary_rule(g, input, target, weight, reduction):
    slopes = (input - target) / clip(input * (1 - input), 1e-12, None)
    return share(g, slopes, reduction) * _weighted(slopes, weight)


def _binary_target_rule(g, input, weight, reduction):
    slopes = _logarithm(1 - input) - _logarithm(input)
    return share(g, slopes, reduction) * _weighted(slopes, weight)


binary_cross_entropy.defvjp(_binary_rule, _binary_target_rule)
