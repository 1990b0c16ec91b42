"""Transforms of signals. Complex numbers have an axis of two at the end, in the way of ONNX."""

import numpy as np

from ...errors import OnnxError
from ...fft import fft, ifft, irfft
from ...ops.complexes import complex as joined
from ...ops.complexes import imag, real
from ...ops.elementary.conversions import astype
from ...ops.manipulation.joins import stack
from ...ops.manipulation.movements import moveaxis
from ...ops.manipulation.patches import unfold
from ..library import element_types
from ..rule import rule
from ..values import integer
from .creation import checked_shape


@rule("DFT", since=20, numbers=(1, 2))
def _dft(x, length=None, axis=None, /, *, inverse=0, onesided=0):
    return transformed(x, length, -2 if axis is None else integer(axis), inverse, onesided)


@rule("DFT", since=17, numbers=(1,))
def _dft_by_attribute(x, length=None, /, *, axis=1, inverse=0, onesided=0):
    return transformed(x, length, axis, inverse, onesided)


def transformed(x, length, axis, inverse, onesided):
    """The transform of `x`, whose last axis has the real part, and the imaginary one if it has two elements."""
    axis %= len(x.shape)
    if axis == len(x.shape) - 1:
        raise OnnxError("the axis of a transform cannot be that of the parts of complex numbers")
    if length is None:
        length = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    length = integer(np.asarray(length))
    checked_shape([length])
    signal = x[..., 0] if x.shape[-1] == 1 else joined(x[..., 0], x[..., 1])
    if inverse and onesided:
        return astype(irfft(signal, length, axis), x.dtype)[..., None]
    found = (ifft if inverse else fft)(signal, length, axis)
    found = stack([astype(real(found), x.dtype), astype(imag(found), x.dtype)], -1)
    return found[(*(slice(None),) * axis, slice(0, length // 2 + 1))] if onesided and not inverse else found


@rule("STFT", since=17, numbers=(1, 3))
def _stft(x, step, window=None, length=None, /, *, onesided=1):
    if length is None and window is None:
        raise OnnxError("STFT needs a window or a length of frames")
    size = window.shape[0] if length is None and window is not None else integer(length)
    frames = moveaxis(unfold(x, 1, size, integer(step)), -1, 2)
    if window is not None:
        frames = frames * window.reshape((1, 1, -1, 1))
    return transformed(frames, None, 2, 0, onesided)


@rule("MelWeightMatrix", since=17, numbers=None)
def _mel(count, length, rate, low, high, /, *, output_datatype=1):
    count, length, rate = [integer(n) for n in (count, length, rate)]
    bins = length // 2 + 1
    checked_shape([bins, count])
    first, last = [2595 * np.log1p(float(f) / 700) / np.log(10) for f in (low, high)]
    edges = first + np.arange(count + 2) * (last - first) / (count + 2)
    edges = (((length + 1) * 700 * np.expm1(edges / 2595 * np.log(10))) // rate).astype(int)
    places, found = np.arange(bins), np.zeros((bins, count))
    for i, (left, middle, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if left == middle:
            found[middle, i] = 1
        else:
            rising = (places >= left) & (places <= middle)
            found[rising, i] = (places[rising] - left) / (middle - left)
        falling = (places >= middle) & (places < right)
        found[falling, i] = (right - places[falling]) / (right - middle)
    return found.astype(element_types()[output_datatype])
