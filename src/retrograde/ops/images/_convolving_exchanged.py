"""Convolutions with kernel and result exchanged, which the compiler makes of those whose kernel is larger than their result.

In z[i] = sum over k of w[k] x[s i + d k - p], the places of the result and those of the kernel differ in nothing but that one of
them is summed over. Code for images runs along the places of a result; where these are few, it runs along those of the kernel
instead: a convolution is the gradient of a weight, and the other way round, with stride and dilation, and batch and channels,
exchanged.
"""

from math import prod

from ..manipulation.movements import permute_dims, reshape
from ._convolving import Geometry

#: A kernel so many times as large as the result is exchanged with it.
_WIDER = 1.25
#: A sum of fewer products than this is not worth a loop along them.
_LEAST = 64


def exchanged(conv2d_weight, x, weight, bias, *sizes):
    """`conv2d` as `conv2d_weight`; NotImplemented where it does not pay."""
    geometry = _exchangeable(x.shape, weight.shape, sizes, _is_wide)
    if geometry is None or prod(weight.shape[1:]) < _LEAST:
        return NotImplemented
    shape = geometry.outputs, geometry.batch, *geometry.result
    z = _swapped(conv2d_weight(_swapped(x), _swapped(weight), shape, *_others(geometry)))
    return z if bias is None else z + reshape(bias, (-1, 1, 1))


def exchanged_to_input(conv2d_input, x, weight, shape, *sizes):
    """`conv2d_input` as another one; NotImplemented where it does not pay."""
    geometry = _exchangeable(shape, weight.shape, sizes, _is_large)
    if geometry is None:
        return NotImplemented
    swapped = geometry.channels, geometry.batch, *geometry.image
    return _swapped(conv2d_input(_swapped(weight), _swapped(x), swapped, *_others(geometry)))


def exchanged_to_weight(conv2d, x, y, shape, *sizes):
    """`conv2d_weight` as `conv2d`; NotImplemented where it does not pay."""
    geometry = _exchangeable(x.shape, shape, sizes, _is_wide)
    if geometry is None:
        return NotImplemented
    return _swapped(conv2d(_swapped(x), _swapped(y), None, *_others(geometry)))


def _swapped(x):
    """`x` with its first two axes exchanged."""
    return permute_dims(x, (1, 0, 2, 3))


def _others(geometry):
    """Stride, padding and dilation of the convolution with kernel and result exchanged."""
    return geometry.dilation, tuple([before for before, _ in geometry.padding]), geometry.stride


def _is_wide(geometry):
    """Whether the kernel is wider than the result: rows of either are what loops run along."""
    return _extent(geometry.kernel, geometry.dilation)[1] >= _WIDER * _extent(geometry.result, geometry.stride)[1]


def _is_large(geometry):
    """Whether the kernel has more places than the result: each number of the input meets all of either."""
    return prod(_extent(geometry.kernel, geometry.dilation)) >= _WIDER * prod(_extent(geometry.result, geometry.stride))


def _extent(shape, steps):
    return [n * step for n, step in zip(shape, steps, strict=True)]


def _exchangeable(image, kernel, sizes, is_worth_it):
    """The geometry of a convolution whose kernel is to be exchanged with its result; None of others."""
    geometry = Geometry.of(image, kernel, *sizes)
    if geometry.groups > 1 or 0 in image or any(before != after for before, after in geometry.padding) or not is_worth_it(geometry):
        return None
    swapped = Geometry.of(image, (*kernel[:2], *geometry.result), *_others(geometry), 1)
    return geometry if swapped.result == geometry.kernel else None
