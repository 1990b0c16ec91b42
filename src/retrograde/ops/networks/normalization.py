"""Normalisation: numbers that belong together brought to mean 0 and variance 1, or to a mean square of 1.

One op serves layer, batch, group and instance norm, which differ only in what belongs together. Half precision is computed
in float32.
"""

from math import prod

import numpy as np

from ...dtypes import is_float
from ...errors import ArgumentError, DTypeError, ShapeError
from ...shapes import axis_tuple, mismatch
from .._families import composite
from .._native import by_rows
from .._samples import call
from ..axes.reductions import mean, sum
from ..elementary.arithmetic import reciprocal, sqrt
from ..elementary.conversions import astype, is_narrow, narrowed, widened
from ..manipulation.movements import reshape, unbroadcast

#: Runs of so many numbers have a mean and a variance of their own, on the way to those of all; not where all are fewer than the
#: second, and in cache when they are read again.
_LONG_RUN, _MANY = 16, 32768


def moments(x, axis):
    """`x` less its mean over `axis`, that mean, and the variance there; the reduced axes stay, with size 1.

    Over axes that do not lie side by side, as the batch and the pixels of a channel, those of each run of numbers are found first
    and put together: the variance of all is the mean of theirs, each with the square of how far its mean is from that of all. Chan,
    Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
    """
    x = widened(x)
    outer, inner = _runs(x, axis)
    location = mean(x, inner, keepdims=True)
    centred = x - location
    variance = mean(centred * centred, inner, keepdims=True)
    if not outer:
        return centred, location, variance
    # One reading of `x` gives both: the distances from a run's own mean are squared while the run is in cache.
    total = mean(location, outer, keepdims=True)
    apart = location - total
    return x - total, total, mean(variance + apart * apart, outer, keepdims=True)


def _runs(x, axis):
    """The reduced axes before those that are not, and the last ones, whose numbers lie side by side: (outer, inner)."""
    axes = axis_tuple(axis, x.ndim)
    inner = tuple([a for a in axes if all([n in axes for n in range(a, x.ndim)])])
    outer = tuple([a for a in axes if a not in inner])
    # A run of a few numbers costs more than to read all of them twice.
    is_worth_it = prod([x.shape[a] for a in inner]) >= _LONG_RUN and prod(x.shape) >= _MANY
    return (outer, inner) if is_worth_it else ((), axis)


def _standard(x, axis, eps):
    """`x` brought to mean 0 and variance 1 over `axis`, and by what its distances from the mean were multiplied."""
    centred, _, variance = moments(x, axis)
    factor = reciprocal(sqrt(variance + eps))
    return centred * factor, factor


def _affine(x, weight, bias):
    """`x` times `weight` plus `bias`, each of which may be None."""
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias


def _of_the_type(z, x):
    """`z`, which was computed from `widened(x)`, in the type of `x`, whatever the types of weights made of it."""
    return narrowed(z, x) if is_narrow(x) else astype(z, x.dtype)


def _standardize_in_ops(x, weight, bias, axis, eps):
    return _of_the_type(_affine(_standard(x, axis, eps)[0], weight, bias), x)


def check_floats(x):
    """Raise a DTypeError unless `x` has floats: of integers the result would be rounded."""
    if not is_float(x.dtype):
        raise DTypeError(f"floats are needed, got {x.dtype}; convert them, as in x.astype(rg.float32)")


def _result_shape(x, weight, bias, *_):
    check_floats(x)
    shapes = [() if p is None else p.shape for p in (weight, bias)]
    if mismatch([x.shape, *shapes]) or np.broadcast_shapes(x.shape, *shapes) != tuple(x.shape):
        raise ShapeError(f"weight and bias must broadcast to the shape of x, {tuple(x.shape)}, got {shapes[0]} and {shapes[1]}")
    return tuple(x.shape)


def _dtype_of_x(x, *_):
    """What is normalized keeps its type, whatever that of the weight is."""
    return x.dtype


@composite(faster=by_rows, is_composite=False, expansion=_standardize_in_ops, result_shape=_result_shape, result_dtype=_dtype_of_x,
           optional=("weight", "bias"), samples=(
    call((2, 5)), call((2, 5), (5,), (5,)), call((3, 2, 4), (2, 1), (2, 1), axis=(0, 2)), call((2, 2, 3), (3,), axis=(-2, -1)),
    call((2, 3), None, (3,), axis=0, eps=0.1)))
def standardize(x, /, weight=None, bias=None, axis=-1, eps=1e-5):
    r"""`x` less its mean over `axis`, divided by its standard deviation there, times `weight` plus `bias`.

    `eps` is added to the variance. `weight` and `bias` broadcast against `x`.

    $z = w\,y + b$ with $y = r\,(x - m)$, $m = \tfrac1n \sum_i x_i$, $r = (\tfrac1n \sum_i (x_i - m)^2 + \epsilon)^{-1/2}$.
    With $h = w \bar z$: $\bar x = r\,(h - \tfrac1n \sum_i h_i - y\,\tfrac1n \sum_i h_i y_i)$, $\bar w = \bar z\, y$ and
    $\bar b = \bar z$, summed over what the operand was repeated for.

    >>> rg.standardize(rg.tensor([1.0, 3.0]), eps=0.0)
    tensor([-1.,  1.])
    """
    _result_shape(x, weight, bias)
    wide = widened(x)
    result = wide - np.mean(wide, axis, keepdims=True)
    result *= 1 / np.sqrt(np.mean(result * result, axis, keepdims=True) + eps)
    return _affine(result, weight, bias).astype(x.dtype, copy=False)


def _standardize_rule(g, needs, x, weight, bias_shape, axis, eps):
    normal, factor = _standard(x, axis, eps)
    if weight is not None and not _is_constant(weight.shape, x, axis):
        given = g * weight
        return (
            factor * (given - mean(given, axis, keepdims=True) - normal * mean(given * normal, axis, keepdims=True))
            if needs[0] else None,
            unbroadcast(g * normal, weight.shape) if needs[1] else None,
            unbroadcast(g, bias_shape) if needs[2] else None,
        )
    # What is the same for all that is summed comes after the sums: those for `x` are the ones that weight and bias need.
    g = widened(g)
    slope, along = (sum(part, axis, keepdims=True) for part in (g, g * normal))
    count = prod([x.shape[a] for a in axis_tuple(axis, x.ndim)])
    scale = factor if weight is None else factor * weight
    summed = slope if _is_constant(bias_shape, x, axis) else g
    return (
        scale * (g - slope / count - normal * (along / count)) if needs[0] else None,
        None if weight is None or not needs[1] else _reshaped(unbroadcast(along, weight.shape), weight.shape),
        _reshaped(unbroadcast(summed, bias_shape), bias_shape) if needs[2] else None,
    )


def _is_constant(shape, x, axis):
    """Whether what has a shape that broadcasts against `x` is the same along the axes `axis`."""
    return all([n == 1 for n, a in zip(reversed(shape), reversed(range(x.ndim)), strict=False) if a in axis_tuple(axis, x.ndim)])


standardize.defvjp_all(_standardize_rule)


def layer_norm(x, /, normalized_shape, weight=None, bias=None, eps=1e-5):
    """`standardize` over the last axes, whose shape is `normalized_shape`, as those of `weight` and `bias` are.

    Ba, Kiros and Hinton, "Layer normalization" (2016).

    >>> rg.nn.functional.layer_norm(rg.tensor([[1.0, 3.0], [2.0, 2.0]]), (2,), eps=0.0625).shape
    (2, 2)
    """
    return standardize(x, weight, bias, _last_axes(x, normalized_shape, weight, bias), eps)


def _last_axes(x, normalized_shape, *parameters):
    """The last axes of `x`, checked to have the shape `normalized_shape`, and so the `parameters`."""
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    if not shape or tuple(x.shape[x.ndim - len(shape) :]) != shape or x.ndim < len(shape):
        raise ShapeError(f"the last axes of the input must have the shape normalized_shape={shape}, got {tuple(x.shape)}")
    if wrong := [tuple(p.shape) for p in parameters if p is not None and tuple(p.shape) != shape]:
        raise ShapeError(f"weight and bias must have the shape normalized_shape={shape}, got {wrong[0]}")
    return tuple(range(-len(shape), 0))


def group_norm(x, /, num_groups, weight=None, bias=None, eps=1e-5):
    """`standardize` of each group of channels of each example; `x` is (batch, channels, ...), `weight` (channels,).

    Wu and He, "Group normalization" (2018).

    >>> rg.nn.functional.group_norm(rg.ones(2, 6, 4), 3).shape
    (2, 6, 4)
    """
    channels = x.shape[1] if x.ndim > 1 else 0
    if num_groups < 1 or not channels or channels % num_groups:
        raise ArgumentError(f"num_groups must divide the channels of (batch, channels, ...), got {num_groups} and {x.shape}")
    check_floats(x)
    check_channels(x, weight=weight, bias=bias)
    return standardize_channels(x, weight, bias, num_groups, eps)


def _in_groups(x, num_groups):
    """The shape in which `standardize` takes `x`, that of its weight and bias, and the axes that are reduced."""
    if num_groups is None:
        return x.shape, (x.shape[1], *[1] * (x.ndim - 2)), (0, *range(2, x.ndim))
    split = num_groups, x.shape[1] // num_groups
    return (x.shape[0], *split, prod(x.shape[2:])), (*split, 1), (2, 3)


def _reshaped(x, shape):
    if x is None or x.shape == shape:
        return x
    return x.reshape(shape) if x.__class__ is np.ndarray else reshape(x, shape)


def _channels_shape(x, weight, bias, *_):
    check_floats(x)
    check_channels(x, weight=weight, bias=bias)
    if len(x.shape) < 2:
        raise ShapeError(f"(batch, channels, ...) are needed, got shape {tuple(x.shape)}")
    return tuple(x.shape)


def _standardize_channels_in_ops(x, weight, bias, num_groups, eps):
    shape, split, axes = _in_groups(x, num_groups)
    return _reshaped(standardize(_reshaped(x, shape), _reshaped(weight, split), _reshaped(bias, split), axes, eps), x.shape)


@composite(is_public=False, is_composite=False, expansion=_standardize_channels_in_ops, optional=("weight", "bias"), told="",
           result_shape=_channels_shape, result_dtype=_dtype_of_x, samples=(
    call((3, 2, 4), (2,), (2,)), call((2, 3), (3,), None, eps=0.1), call((2, 4, 3), (4,), (4,), num_groups=2),
    call((2, 6, 2, 2), None, (6,), 3), call((2, 3, 4), (3,), (3,), 3), call((2, 4, 3), num_groups=1)))
def standardize_channels(x, /, weight=None, bias=None, num_groups=None, eps=1e-5):
    r"""`standardize` of each channel of `x`, (batch, channels, ...), over the batch, or of `num_groups` groups of channels of each
    example; `weight` and `bias` are (channels,).

    The same numbers in other shapes: its derivatives are those of `standardize`.
    """
    # Whoever calls it has seen to shapes and types.
    shape, split, axes = _in_groups(x, num_groups)
    found = standardize.op.large(_reshaped(x, shape), _reshaped(weight, split), _reshaped(bias, split), axes, eps)
    return _reshaped(found, x.shape)


def _standardize_channels_rule(g, needs, x, weight, weight_shape, bias_shape, num_groups, eps):
    shape, split, axes = _in_groups(x, num_groups)
    found = standardize.op.joint.function(
        _reshaped(g, shape), needs, _reshaped(x, shape), _reshaped(weight, split), split if bias_shape else (), axes, eps)
    return tuple([_reshaped(*pair) for pair in zip(found, (x.shape, weight_shape, bias_shape), strict=True)])


standardize_channels.defvjp_all(_standardize_channels_rule)


def check_channels(x, **tensors):
    """Raise a ShapeError unless each of `tensors`, by their names, is None or has a number for each channel of `x`."""
    shape = x.shape[1:2]
    for name, tensor in tensors.items():
        if tensor is not None and tensor.shape != shape:
            raise ShapeError(f"{name} must have one number for each channel of the input, (batch, channels, ...), got shape "
                             f"{tuple(tensor.shape)} for an input of {tuple(x.shape)}")


def fixed_norm(x, /, location, variance, weight=None, bias=None, eps=1e-5):
    """`x`, (batch, channels, ...), less `location`, divided by the root of `variance`: batch norm by known statistics.

    >>> rg.ops.normalization.fixed_norm(rg.ones(1, 2), rg.zeros(2), rg.tensor([1.0, 4.0]), eps=0.0)
    tensor([[1. , 0.5]])
    """
    factor = reciprocal(sqrt(variance + eps))
    factor = factor if weight is None else factor * weight
    centred = x - per_channel(location, x.ndim)
    return astype(_affine(centred, per_channel(factor, x.ndim), per_channel(bias, x.ndim)), x.dtype)


def per_channel(x, ndim):
    """`x`, one number per channel, in a shape that broadcasts with (batch, channels, ...) of `ndim` axes; None stays None."""
    return None if x is None else reshape(x, (-1, *[1] * (ndim - 2)))


def _root_factor(x, axis, eps):
    """One over the root of the mean square of `x` over `axis`."""
    return reciprocal(sqrt(mean(x * x, axis, keepdims=True) + eps))


def _rms_norm_in_ops(x, normalized_shape, weight, eps):
    wide, axis, eps = _rms_terms(x, normalized_shape, weight, eps)
    return _of_the_type(_affine(wide * _root_factor(wide, axis, eps), weight, None), x)


def _rms_shape(x, normalized_shape, weight, _):
    check_floats(x)
    _last_axes(x, normalized_shape, weight)
    return tuple(x.shape)


def _rms_terms(x, normalized_shape, weight, eps):
    check_floats(x)
    axis = _last_axes(x, normalized_shape, weight)
    return widened(x), axis, float(np.finfo(np.float32 if x.dtype.itemsize < 4 else x.dtype).eps) if eps is None else eps


@composite(faster=by_rows, is_composite=False, expansion=_rms_norm_in_ops, result_shape=_rms_shape, result_dtype=_dtype_of_x,
           optional=("weight",), samples=(call((2, 5), 5), call((2, 5), [5], (5,)), call((2, 2, 3), [2, 3], (2, 3), eps=0.1)))
def rms_norm(x, /, normalized_shape, weight=None, eps=None):
    r"""`x` divided by the root of its mean square over the last axes, of shape `normalized_shape`, times `weight`.

    `eps` is added to the mean square; by default it is the distance from 1 to the next number of the type.
    Zhang and Sennrich, "Root mean square layer normalization" (2019).

    $z = w\,y$ with $y = r x$, $r = (\tfrac1n \sum_i x_i^2 + \epsilon)^{-1/2}$. With $h = w \bar z$:
    $\bar x = r\,(h - y\,\tfrac1n \sum_i h_i y_i)$ and $\bar w = \sum \bar z\, y$ over the leading axes.
    """
    wide, axis, eps = _rms_terms(x, normalized_shape, weight, eps)
    result = wide * (1 / np.sqrt(np.mean(wide * wide, axis, keepdims=True) + eps))
    return _affine(result, weight, None).astype(x.dtype, copy=False)


def _rms_rule(g, needs, x, normalized_shape, weight, eps):
    wide, axis, eps = _rms_terms(x, normalized_shape, weight, eps)
    factor = _root_factor(wide, axis, eps)
    normal, given = wide * factor, g if weight is None else g * weight
    return (
        factor * (given - normal * mean(given * normal, axis, keepdims=True)) if needs[0] else None,
        None if weight is None or not needs[1] else unbroadcast(g * normal, weight.shape),
    )


rms_norm.defvjp_all(_rms_rule)

