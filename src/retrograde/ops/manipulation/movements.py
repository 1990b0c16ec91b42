"""Movement: the same elements in another place. Results are views where NumPy gives views."""

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ...shapes import axis_tuple, one_axis
from .._arrays import arrays
from .._families import movement
from .._samples import call


@movement(samples=(call((2, 3), shape=(3, 2)), call((2, 3), shape=-1), call((2, 0), shape=(0, 5)), call((), shape=(1, 1))))
def reshape(x, /, shape, copy=None):
    r"""`x` with another `shape`, in row-major order; one size may be -1 and is found from the others.

    `copy` says whether to copy the elements; with False it is an error if that has to be, and None copies where it has to be.

    The same elements in the same order: $\bar x$ is $\bar z$ in the shape of $x$.

    >>> rg.reshape(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), -1)
    tensor([1., 2., 3., 4.])
    """
    if copy is not None:
        return np.reshape(x, shape, copy=copy)
    return x.reshape(shape) if x.__class__ is np.ndarray else np.reshape(x, shape)  # the method is five times as fast


reshape.defvjp(lambda g, x_shape: reshape(g, x_shape))


@movement(aliases=("permute",), samples=(call((2, 3, 4), axes=(2, 0, 1)), call((2, 3), axes=(-1, 0)), call((), axes=())))
def permute_dims(x, /, axes):
    r"""`x` with its axes in the order `axes`.

    $\bar x$ is $\bar z$ with its axes put back by the inverse permutation.
    """
    return np.transpose(x, axes)


permute_dims.defvjp(lambda g, axes: permute_dims(g, _inverse(axes)))


def _inverse(axes):
    return tuple(map(int, np.argsort(axis_tuple(axes, len(axes)))))


@movement(aliases=("swapaxes",), samples=(call((2, 3, 4)), call((2, 3, 4), axis1=0, axis2=-1)))
def transpose(x, /, axis1=-2, axis2=-1):
    r"""`x` with two axes exchanged, by default the last two.

    The exchange is its own inverse: $\bar x$ is $\bar z$ with the same axes exchanged.
    """
    return np.swapaxes(x, axis1, axis2)


transpose.defvjp(lambda g, axis1, axis2: transpose(g, axis1, axis2))


@movement(aliases=("expand",), samples=(call((3,), shape=(2, 3)), call((2, 1), shape=(4, 2, 3)), call((), shape=(2,))))
def broadcast_to(x, /, shape):
    r"""`x` repeated, without a copy, to fill `shape`.

    $\bar x$ is the sum of $\bar z$ over the repetitions.
    """
    if x.__class__ is np.ndarray and x.size == 1 and shape.__class__ is tuple and len(shape) >= x.ndim and x.dtype.isbuiltin == 1:
        repeated = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))  # at a third of the cost, for what most walks start with
        repeated.flags.writeable = False
        return repeated
    return np.broadcast_to(x, shape)


broadcast_to.defvjp(lambda g, x_shape: unbroadcast(g, x_shape))


def unbroadcast(g, shape):
    """`g` summed over the axes that broadcasting from `shape` added."""
    return arrays.fit(g, (shape, g.dtype))


@movement(samples=(call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=(-1,))))
def flip(x, /, axis=None):
    r"""`x` in reverse order along `axis`: None for all axes, an integer or a tuple.

    The reversal is its own inverse: $\bar x$ is $\bar z$ reversed.
    """
    return np.flip(x, axis if axis is None else axis_tuple(axis, np.ndim(x)))


flip.defvjp(lambda g, axis: flip(g, axis))


@movement(result_shape=lambda x, pad_width, _: _padded_shape(x, pad_width), result_dtype=lambda x, *_: x.dtype,
          skips={"exported": "its public face, borders.pad, has all modes"}, samples=(
    call((2, 3), pad_width=((1, 0), (2, 1))), call((3,), pad_width=1, value=2.0), call((0, 2), pad_width=1), call((), pad_width=0)))
def pad(x, /, pad_width, value=0):
    r"""`x` with a border of `value`: `pad_width` has (before, after) for each axis, or one number for all.

    $\bar x$ is $\bar z$ without the border; `shrink` is the derivative, and the other way round.
    """
    widths = border_widths(pad_width, np.ndim(x))
    if x.__class__ is not np.ndarray or x.dtype == object or np.ndim(value):
        return np.pad(x, widths, constant_values=value) if widths else np.copy(x)
    # What np.pad comes to after a while.
    result = np.full([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)], value, x.dtype)
    result[tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True)])] = x
    return result


pad.defvjp(lambda g, x_shape, pad_width: shrink(g, _inside(pad_width, x_shape)))


def _padded_shape(x, pad_width):
    widths = border_widths(pad_width, x.ndim)
    return tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])


def border_widths(pad_width, ndim):
    """`pad_width` as (before, after) for each of `ndim` axes: whole numbers of at least 0."""
    if pad_width.__class__ is tuple and len(pad_width) == ndim and all([_is_pair(pair) for pair in pad_width]):
        return pad_width
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu" and given.size:
        raise DTypeError(f"pad_width must be whole numbers, got {pad_width!r}")
    if given.size and given.min() < 0:
        raise ArgumentError(f"pad_width must be at least 0, got {pad_width!r}")
    widths = given.reshape(0, 2) if ndim == 0 and given.size == 0 else np.broadcast_to(given, (ndim, 2))
    return tuple((int(before), int(after)) for before, after in widths)


def _is_pair(pair):
    return pair.__class__ is tuple and len(pair) == 2 and all([n.__class__ is int and n >= 0 for n in pair])


def _inside(pad_width, shape):
    widths = border_widths(pad_width, len(shape))
    return tuple((before, before + n) for (before, _), n in zip(widths, shape, strict=True))


@movement(samples=(call((3, 4), ranges=((1, 3), (0, 2))), call((3,), ranges=((1, 1),))))
def shrink(x, /, ranges):
    r"""The part of `x` between (start, stop) along each axis; None keeps an axis whole.

    $\bar x$ is $\bar z$ with a border of zeros; `pad` is the derivative, and the other way round.
    """
    if len(ranges) != x.ndim:
        raise ShapeError(f"shrink needs one range per axis, got {len(ranges)} for {x.ndim} axes")
    for r, n in zip(ranges, x.shape, strict=True):
        if r is not None and not 0 <= r[0] <= r[1] <= n:
            raise ShapeError(f"each range must satisfy 0 <= start <= stop <= {n}, got {tuple(r)}")
    return x[tuple(slice(None) if r is None else slice(*r) for r in ranges)]


shrink.defvjp(lambda g, x_shape, ranges: pad(g, _outside(ranges, x_shape)))


def _outside(ranges, shape):
    pairs = zip(ranges, shape, strict=True)
    return tuple((0, 0) if r is None else (r[0], n - r[1]) for r, n in pairs)


@movement(samples=(call((2, 3), axis=0), call((2, 3), axis=-1), call((2,), axis=(0, 2)), call((), axis=0)))
def expand_dims(x, /, axis=0):
    r"""`x` with new axes of size 1 at the positions `axis` of the result.

    $\bar x$ is $\bar z$ in the shape of $x$.
    """
    return np.expand_dims(x, axis)


expand_dims.defvjp(lambda g, x_shape: reshape(g, x_shape))


@movement(samples=(call((1, 3, 1)), call((1, 3, 1), axis=-1), call((1, 3), axis=(0,))))
def squeeze(x, /, axis=None):
    r"""`x` without the axes `axis`, which must have size 1; None for all of that size.

    $\bar x$ is $\bar z$ in the shape of $x$.
    """
    return np.squeeze(x, axis if axis is None else axis_tuple(axis, x.ndim))


squeeze.defvjp(lambda g, x_shape: reshape(g, x_shape))


@movement(samples=(call((2, 3, 4), source=0, destination=-1), call((2, 3), source=(0, 1), destination=(1, 0))))
def moveaxis(x, /, source, destination):
    r"""`x` with the axes `source` moved to the positions `destination`; the others keep their order.

    $\bar x$ is $\bar z$ with the axes moved back.
    """
    return np.moveaxis(x, source, destination)


moveaxis.defvjp(lambda g, source, destination: moveaxis(g, destination, source))


def ravel(x, /):
    """`x` as one row of elements."""
    return reshape(x, -1)


def matrix_transpose(x, /):
    """`x` with its last two axes exchanged; raises a ShapeError for fewer than two axes."""
    if np.ndim(x) < 2:
        raise ShapeError(f"matrix_transpose needs at least 2 axes, got shape {np.shape(x)}")
    return transpose(x)


def flatten(x, /, start_axis=0, end_axis=-1):
    """`x` with the axes from `start_axis` to `end_axis` (inclusive) made one."""
    start, end = one_axis(start_axis, x.ndim or 1), one_axis(end_axis, x.ndim or 1)
    if start > end:
        raise ShapeError(f"flatten needs start_axis <= end_axis, got {start_axis} and {end_axis}")
    return reshape(x, (*x.shape[:start], -1, *x.shape[end + 1 :]) if x.size else _flat(x.shape, start, end))


def _flat(shape, start, end):
    size = int(np.prod(shape[start : end + 1], dtype=int))
    return (*shape[:start], size, *shape[end + 1 :])
