"""Operators that make arrays out of numbers: constants, ranges, shapes."""

import math

import numpy as np

from ...errors import OnnxError
from ...ops.elementary.conversions import astype
from ..library import element_types
from ..rule import rule
from ..values import integers, is_floating

#: The most elements that a few numbers of a model may ask for: what is larger is a mistake, or meant to fill the memory.
MOST_ELEMENTS = 1 << 31


def checked_shape(shape):
    """`shape` as a tuple of integers; an OnnxError if it is none of an array that can be made."""
    shape = tuple(integers(np.asarray(shape)))
    if any(n < 0 for n in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise OnnxError(f"an array of shape {shape} cannot be made; at most {MOST_ELEMENTS:,} elements can")
    return shape


@rule("Constant")
def _constant(*, value=None, sparse_value=None, value_float=None, value_floats=None, value_int=None, value_ints=None,
              value_string=None, value_strings=None):
    given = [(value, None), (sparse_value, None), (value_float, np.float32), (value_floats, np.float32), (value_int, np.int64),
             (value_ints, np.int64), (value_string, object), (value_strings, object)]
    found = [(each, dtype) for each, dtype in given if each is not None]
    if len(found) != 1:
        raise OnnxError(f"one attribute must say what is constant, got {len(found)}")
    return np.asarray(*found[0])


@rule("ConstantOfShape", since=9, numbers=(0,))
def _constant_of_shape(shape, /, *, value=None):
    value = np.zeros(1, np.float32) if value is None else value
    return np.full(checked_shape(shape), value.reshape(-1)[0], value.dtype)


@rule("Shape", since=15)
def _shape(x, /, *, start=0, end=None):
    return np.array(x.shape[start:end], np.int64)


@rule("Shape")
def _whole_shape(x, /):
    return np.array(x.shape, np.int64)


@rule("Size")
def _size(x, /):
    return np.array(math.prod(x.shape), np.int64)


@rule("EyeLike", since=9)
def _eye_like(x, /, *, dtype=None, k=0):
    return np.eye(*x.shape, k=k).astype(x.dtype if dtype is None else element_types()[dtype])


@rule("Range", since=11, numbers=None)
def _range(start, limit, delta, /):
    start, limit, delta = [each.reshape(()) for each in (start, limit, delta)]
    if delta == 0:
        raise OnnxError("the step of a range is zero")
    count = max(0, math.ceil((float(limit) - float(start)) / float(delta)))
    checked_shape([count])
    steps = np.arange(count)
    # As runtimes compute it, in the type of the bounds.
    return (start + steps.astype(start.dtype) * delta).astype(start.dtype)


@rule("OneHot", since=9, numbers=(1,))
def _one_hot(places, depth, values, /, *, axis=-1):
    depth = int(depth.reshape(-1)[0])
    checked_shape([*places.shape, depth])
    axis = axis % (len(places.shape) + 1)
    places = astype(places, np.int64)
    shape = [1] * (len(places.shape) + 1)
    shape[axis] = depth
    positions = np.arange(depth).reshape(shape)
    inner = places.reshape((*places.shape[:axis], 1, *places.shape[axis:]))
    is_hot = (inner == positions) | (inner + depth == positions)
    off, on = values[0], values[1]
    if is_floating(values):
        return off + astype(is_hot, values.dtype) * (on - off)
    return astype(is_hot, values.dtype) * (on - off) + off


@rule("BlackmanWindow", since=17, numbers=(0,))
def _blackman(size, /, *, output_datatype=1, periodic=1):
    places = _angles(size, periodic)
    return (0.42 - 0.5 * np.cos(places) + 0.08 * np.cos(2 * places)).astype(element_types()[output_datatype])


@rule("HannWindow", since=17, numbers=(0,))
def _hann(size, /, *, output_datatype=1, periodic=1):
    return (0.5 - 0.5 * np.cos(_angles(size, periodic))).astype(element_types()[output_datatype])


@rule("HammingWindow", since=17, numbers=(0,))
def _hamming(size, /, *, output_datatype=1, periodic=1):
    return (25 / 46 - 21 / 46 * np.cos(_angles(size, periodic))).astype(element_types()[output_datatype])


def _angles(size, periodic):
    size = int(size)
    checked_shape([size])
    return 2 * np.pi * np.arange(size) / (size if periodic else size - 1)
