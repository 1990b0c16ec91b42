"""Batch and instance norm as functions: they keep running statistics up to date, in place."""

from math import prod

from ..core.mode import is_repeating, no_grad
from ..errors import ArgumentError, ShapeError
from ..ops.manipulation.movements import reshape
from ..ops.networks.normalization import check_channels, check_floats, fixed_norm, moments, standardize_channels
from ..tensor.creation import ones, zeros
from .spelling import spelled


@spelled
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Each channel of `input`, (batch, channels, ...), brought to mean 0 and variance 1, times `weight` plus `bias`.

    With `training`, mean and variance are those of the batch, and the running ones, unless they are None, move towards them
    by the part `momentum`, in place: the variance as estimated for the population, with one less than the number of elements
    as the divisor. Otherwise the running ones are used.

    Ioffe and Szegedy, "Batch normalization" (2015).

    >>> rg.nn.functional.batch_norm(rg.tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0).tolist()
    [[-1.0], [1.0]]
    """
    if input.ndim == 1 and not input.size and weight is None and bias is None:
        return input * 1  # nothing, whose channels nobody can count
    _check(input, running_mean, running_var, weight, bias)
    if not training:
        if running_mean is None or running_var is None:
            raise ArgumentError("batch_norm needs running_mean and running_var unless training=True")
        return fixed_norm(input, running_mean, running_var, weight, bias, eps)
    if not input.size:
        return _of_nothing(input, weight, bias)
    axes = (0, *range(2, input.ndim))
    if _count(input, axes) < 2:
        raise ShapeError(f"batch_norm needs more than 1 value per channel when training, got shape {tuple(input.shape)}")
    _follow(running_mean, running_var, input, axes, momentum)
    return standardize_channels(input, weight, bias, None, eps)


@spelled
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):
    """`batch_norm` of each example alone, over all axes of `input`, (batch, channels, ...), after the channels.

    The running statistics move towards the means over the batch; with `use_input_stats` False they are used.

    Ulyanov, Vedaldi and Lempitsky, "Instance normalization" (2016).
    """
    _check(input, running_mean, running_var, weight, bias)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ArgumentError("instance_norm needs running_mean and running_var unless use_input_stats=True")
        return fixed_norm(input, running_mean, running_var, weight, bias, eps)
    if not input.size:
        return _of_nothing(input, weight, bias)
    axes = tuple(range(2, input.ndim))
    if _count(input, axes) < 2:
        raise ShapeError(f"instance_norm needs more than 1 spatial element when training, got shape {tuple(input.shape)}")
    _follow(running_mean, running_var, input, axes, momentum)
    return standardize_channels(input, weight, bias, input.shape[1], eps)


def _of_nothing(x, weight, bias):
    """The norm of an empty batch, which has no statistics and leaves the running ones as they are."""
    return fixed_norm(x, zeros(x.shape[1], dtype=x.dtype), ones(x.shape[1], dtype=x.dtype), weight, bias)


def _check(x, running_mean, running_var, weight, bias):
    check_floats(x)
    check_channels(x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)


def _count(x, axes):
    return prod(x.shape[a] for a in axes)


def _follow(running_mean, running_var, x, axes, momentum):
    """Move the running statistics towards those of `x` over `axes`, averaged over the batch."""
    if running_mean is None and running_var is None or is_repeating():
        return
    count = _count(x, axes)
    with no_grad():
        _, location, variance = moments(x.detach(), axes)
        for running, found in ((running_mean, location), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                found = reshape(found.mean(axis=0) if axes[0] else found, running.shape)
                running[...] = running + (found - running) * momentum
