"""Losses that are minus the logarithm of a likelihood: of normal and Poisson distributions, and of sequences (CTC)."""

from math import log as ln
from math import pi

import numpy as np

from ..core.explain import explaining
from ..errors import DTypeError, OutOfRangeError, ShapeError, TraceError
from ..ops.elementary.comparisons import clip, maximum, where
from ..ops.elementary.conversions import as_floats, narrowed, widened
from ..ops.elementary.exponential import exp, log, logaddexp
from ..ops.manipulation.gathering import checked_positions, take, take_along_axis
from ..ops.manipulation.joins import concatenate, stack
from ..ops.manipulation.movements import broadcast_to, expand_dims, pad, reshape
from ..ops.networks.loss import reduced
from ..tensor.creation import arange, asarray, full
from ..transforms.grad import stop_gradient
from ..transforms.scan import scan


@explaining
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    r"""$\tfrac12 (\ln v + (x - y)^2 / v)$ for a predicted mean x and variance v, which counts as at least `eps`.

    `full` adds $\tfrac12 \ln 2 \pi$. One variance may serve all numbers of the last axis.
    """
    (input, target), var = as_floats(input, target), asarray(var)
    var = expand_dims(var, -1) if var.ndim and var.shape == input.shape[:-1] else var
    var = var + stop_gradient(clip(var, eps, None) - var)
    losses = (log(var) + (input - target) ** 2 / var) * 0.5
    return reduced(losses + 0.5 * ln(2 * pi) if full else losses, reduction)


@explaining
def poisson_nll_loss(input, target, log_input=True, full=False, eps=1e-8, reduction="mean"):
    r"""$e^x - y x$ for a predicted logarithm of the rate, or $x - y \ln(x + \epsilon)$ for the rate itself.

    `full` adds Stirling's approximation of $\ln y!$ where the target is above 1.
    """
    input, target = as_floats(input, asarray(target))
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        large = maximum(target, 1)
        losses = losses + where(target > 1, large * log(large) - large + 0.5 * log(2 * pi * large), 0)
    return reduced(losses, reduction)


#: The logarithm of a chance that is none, finite so that its derivative is a number.
_NEVER = -1e30


@explaining
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    r"""Minus the logarithm of the chance that frames spell a target, with blanks and repetitions left out (Graves et al., 2006).

    log_probs       (frames, examples, classes), or without the axis of examples: logarithms of chances
    targets         (examples, longest) class numbers, or those of all examples in one row
    input_lengths   how many frames each example has; `target_lengths` likewise

    "mean" divides by the lengths of targets first. Where the target is too long for the frames the loss is infinite, or 0 with
    `zero_infinity`; no gradient flows there.

    With labels $l$, blanks between them, and $\alpha_t(s)$ the logarithm of the chance to have come to place s after frame t:
    $\alpha_{t+1}(s) = p_{t+1}(l_s) + \ln(e^{\alpha_t(s)} + e^{\alpha_t(s-1)} + [l_s \ne l_{s-2}]\, e^{\alpha_t(s-2)})$.
    """
    if log_probs.ndim == 2:
        one = ctc_loss(expand_dims(log_probs, 1), reshape(asarray(targets), (1, -1)), reshape(asarray(input_lengths), (1,)),
                       reshape(asarray(target_lengths), (1,)), blank, "none" if reduction == "none" else reduction, zero_infinity)
        return reshape(one, ())
    targets, input_lengths, target_lengths = asarray(targets), asarray(input_lengths), asarray(target_lengths)
    _check_sequences(log_probs, targets, input_lengths, target_lengths)
    # Logarithms of the chances of whole sequences are large numbers, of which half precision keeps no digit behind the point.
    log_probs, given = widened(log_probs), log_probs
    input_lengths = _frames(input_lengths, log_probs.shape[0])
    labels = _with_blanks(_in_rows(targets, target_lengths), blank)
    ends = _ends(maximum(log_probs, _NEVER), labels, blank, input_lengths)
    places = expand_dims(2 * target_lengths.astype("int64"), -1)
    last, before = (take_along_axis(ends, maximum(p, 0), -1)[:, 0] for p in (places, places - 1))
    losses = -where(target_lengths > 0, logaddexp(last, before), last)
    losses = where(losses > -_NEVER / 2, 0.0 if zero_infinity else float("inf"), losses)
    losses = losses / maximum(target_lengths, 1).astype(losses.dtype) if reduction == "mean" else losses
    return narrowed(reduced(losses, reduction), given)


def _check_sequences(log_probs, targets, *lengths):
    """Raise an error of ours unless all are of one number of examples, and integers where they should be."""
    if log_probs.ndim != 3:
        raise ShapeError(f"log_probs must be (frames, examples, classes), or (frames, classes), got shape {tuple(log_probs.shape)}")
    count = log_probs.shape[1]
    if any([tuple(n.shape) != (count,) for n in lengths]) or targets.ndim == 2 and targets.shape[0] != count:
        raise ShapeError(f"targets and both lengths must be of the {count} examples that log_probs, (frames, examples, classes), "
                         f"has, got shapes {tuple(targets.shape)}, {tuple(lengths[0].shape)} and {tuple(lengths[1].shape)}")
    if wrong := [x.dtype for x in (targets, *lengths) if x.dtype.kind not in "iu"]:
        raise DTypeError(f"targets and lengths must be integers, got {wrong[0]}; convert them, as in targets.astype(rg.int64)")


def _frames(lengths, count):
    """`lengths`, none of which may be more than the `count` of frames; compiled code checks it as well."""
    try:
        return checked_positions(lengths, count + 1)
    except OutOfRangeError:
        found = lengths.tolist()
        raise OutOfRangeError(f"input_lengths must lie between 0 and the number of frames, {count}, got {found}") from None


def _in_rows(targets, lengths):
    """Targets as one row for each example."""
    if targets.ndim == 2:
        return targets
    if getattr(lengths, "is_traced", False):
        raise TraceError("targets of all examples in one row need target_lengths with numbers, which these have not while they are "
                         "traced by jit; give the targets as (examples, longest), or lengths from outside of the jitted function")
    lengths = np.asarray(lengths)
    places = (np.cumsum(lengths) - lengths)[:, None] + np.arange(max(lengths, default=0))
    return take(targets, np.minimum(places, max(targets.size - 1, 0)), axis=0)


def _with_blanks(targets, blank):
    """Labels with a blank before, between and behind them."""
    blanks = full(targets.shape, blank, dtype=targets.dtype)
    pairs = reshape(stack([blanks, targets], -1), (targets.shape[0], 2 * targets.shape[1]))
    return concatenate([pairs, full((targets.shape[0], 1), blank, dtype=targets.dtype)], 1)


def _ends(log_probs, labels, blank, lengths):
    """For each example and place the logarithm of the chance to be there after the last frame."""
    count = labels.shape[1]
    spelt = take_along_axis(log_probs, broadcast_to(labels, (log_probs.shape[0], *labels.shape)), -1)
    may_skip = (labels != blank) & (labels != pad(labels, ((0, 0), (2, 0)), blank)[:, :count])
    start = where(arange(count) < 2, spelt[0], _NEVER)

    def stepped(alpha, frame):
        number, chances = frame
        one, two = (pad(alpha, ((0, 0), (n, 0)), _NEVER)[:, :count] for n in (1, 2))
        ahead = logaddexp(logaddexp(alpha, one), where(may_skip, two, _NEVER)) + chances
        return where(number < expand_dims(lengths, -1), ahead, alpha), None

    if log_probs.shape[0] == 1:
        return start
    return scan(stepped, start, (np.arange(1, log_probs.shape[0]), spelt[1:]))[0]
