"""Shaping: functions of NumPy that move, repeat, choose or cut apart the elements of an array."""

import operator
from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.axes import finding
from ...ops.complexes import angle, imag, real
from ...ops.elementary.comparisons import where
from ...ops.linalg.matrices import diag, diagonal, tril, triu
from ...ops.manipulation.borders import pad_border
from ...ops.manipulation.gathering import take
from ...ops.manipulation.grids import broadcast_arrays, meshgrid, unstack
from ...ops.manipulation.movements import (
    broadcast_to,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    squeeze,
    transpose,
)
from ...ops.manipulation.repetition import repeat, roll, split, tile
from ...ops.manipulation.selections import getitem
from ...shapes import axis_tuple, one_axis
from .operands import data_of, refuse, stacked


def atleast_1d(*arys) -> Any:
    """The arrays with at least one axis; a single one stands alone."""
    return _each(lambda x: reshape(x, (1,)) if x.ndim == 0 else x, arys)


def atleast_2d(*arys) -> Any:
    """The arrays with at least two axes: a vector becomes a row."""
    return _each(lambda x: reshape(x, (1, -1)) if x.ndim < 2 else x, arys)


def atleast_3d(*arys) -> Any:
    """The arrays with at least three axes: a matrix gets a last one."""
    return _each(lambda x: reshape(x, ((1, -1, 1) if x.ndim < 2 else (*x.shape, 1))) if x.ndim < 3 else x, arys)


def _each(function, arrays) -> Any:
    found = tuple(function(stacked(x)) for x in arrays)
    return found[0] if len(found) == 1 else found


def array_split(ary, indices_or_sections, axis=0):
    """`ary` cut along `axis`, into parts that may differ by one if they are given by number."""
    sections, size = data_of(indices_or_sections), ary.shape[axis]
    if np.ndim(sections) == 0:
        count = operator.index(sections)
        if count < 1:
            raise ArgumentError(f"an array is split into one part or more, got {count}")
        each, extra = divmod(size, count)
        sections = np.cumsum([each + 1] * extra + [each] * (count - extra))[:-1]
    return list(split(ary, sections, axis))


def _split_along(name, least, axis):
    """The function that cuts along `axis` arrays of `least` axes or more."""

    def split_along(ary, indices_or_sections):
        if ary.ndim < least:
            raise ShapeError(f"{name} needs {least} axes or more, got shape {ary.shape}")
        return equal_split(ary, indices_or_sections, axis)

    return split_along


def equal_split(ary, indices_or_sections, axis=0):
    """`ary` cut along `axis` into equal parts, or before the given places."""
    return list(split(ary, data_of(indices_or_sections), axis))


def _expand_dims(a, axis):
    if not isinstance(axis, (tuple, list)):
        return expand_dims(a, axis)
    for place in sorted(axis_tuple(tuple(axis), a.ndim + len(axis))):
        a = expand_dims(a, place)
    return a


def _transpose(a, axes=None):
    return permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else tuple(axes))


def _swapaxes(a, axis1, axis2):
    return transpose(a, axis1, axis2)


def rollaxis(a, axis, start=0):
    """`a` with `axis` moved to stand before the axis `start`."""
    axis = one_axis(axis, a.ndim)
    start = a.ndim if start == a.ndim else one_axis(start, a.ndim)
    return moveaxis(a, axis, start - 1 if axis < start else start)


def rot90(m, k=1, axes=(0, 1)):
    """`m` turned by `k` quarters in the plane of two axes."""
    first, second = (one_axis(axis, m.ndim) for axis in axes)
    if first == second:
        raise ShapeError(f"the axes of a plane must be different, got {axes}")
    k %= 4
    if k == 2:
        return flip(m, (first, second))
    turned = transpose(flip(m, second) if k == 1 else m, first, second) if k else m
    return flip(turned, second) if k == 3 else turned


def _reshape(a, shape=None, order="C", *, copy=None):
    if order == "F":  # "A" is the order of rows too: a tensor is never known to be stored by columns
        return _transpose(reshape(_transpose(a), tuple(np.atleast_1d(np.asarray(shape)))[::-1]))
    refuse("reshape", order=None if order in ("C", "A") else order)
    return reshape(a, shape, copy)


def _ravel(a, order="C"):
    return ravel(a if order in ("C", "K", "A") else _transpose(a))


def _pad(array, pad_width, mode="constant", constant_values=0, **rest):
    refuse("pad", **rest)
    if callable(mode) or mode in ("linear_ramp", "maximum", "mean", "median", "minimum", "empty"):
        raise DTypeError(f"np.pad on tensors does not take mode={mode!r}; put the border on with np.concatenate")
    if isinstance(pad_width, dict):
        by_axis = {one_axis(axis, array.ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(by_axis.get(axis, 0), 2).tolist() for axis in range(array.ndim)]
    return pad_border(array, data_of(pad_width), mode, constant_values)


def _take(a, indices, axis=None, out=None, mode="raise"):
    refuse("take", out=out)
    if mode != "raise":
        size = a.size if axis is None else a.shape[axis]
        indices = np.mod(indices, size) if mode == "wrap" else np.clip(indices, 0, size - 1)
    return take(a, indices, axis)


def compress(condition, a, axis=None, out=None):
    """The elements of `a` along `axis` where `condition` holds."""
    refuse("compress", out=out)
    return take(a, np.flatnonzero(data_of(condition)), axis)


def extract(condition, arr):
    """The elements of `arr` where `condition` holds."""
    return compress(np.ravel(data_of(condition)), ravel(arr))


def delete(arr, obj, axis=None):
    """`arr` without the parts that `obj` names along `axis`."""
    arr, axis = (ravel(arr), 0) if axis is None else (arr, one_axis(axis, arr.ndim))
    return take(arr, np.delete(np.arange(arr.shape[axis]), data_of(obj)), axis)


def diagflat(v, k=0):
    """A matrix with the elements of `v` on diagonal `k`."""
    return diag(ravel(v), k)


def trim_zeros(filt, trim="fb", axis=None):
    """`filt` without what is zero at its ends along each axis, or along `axis`."""
    trim = trim.lower()
    if trim not in ("f", "b", "fb", "bf"):
        raise ArgumentError(f"trim must be of the letters f and b, got {trim!r}")
    data = data_of(filt)
    axes = axis_tuple(axis, data.ndim)
    parts = [slice(None)] * data.ndim
    for a, places in enumerate(np.nonzero(data) if data.ndim else ()):
        if a in axes:
            first, last = (places.min(), places.max() + 1) if len(places) else (data.shape[a] if trim == "f" else 0,) * 2
            parts[a] = slice(first if "f" in trim or not len(places) else 0, last if "b" in trim or not len(places) else None)
    return getitem(filt, tuple(parts))


def real_if_close(a, tol=100):
    """The real part of `a`, if the imaginary one is nothing but rounding errors."""
    is_real = a.dtype.kind != "c" or np.isrealobj(np.real_if_close(data_of(a), tol))
    return real(a) if is_real else a


def _where(condition, *choices):
    return where(condition, *choices) if choices else finding.nonzero(condition)


def _angle(z, deg=False):
    return angle(z) * (180 / np.pi) if deg else angle(z)


def _put(a, ind, v, mode="raise"):
    """Refused: it would write into an array behind the graph's back."""
    raise DTypeError("np.put does not take tensors; write a[...] = v, or use np.where")


def _meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    full = meshgrid(*[ravel(stacked(x)) for x in xi], indexing=indexing)
    if not sparse:
        return full
    along = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else range(len(xi))
    return [x[tuple([slice(None) if a == axis else slice(1) for a in range(x.ndim)])] for x, axis in zip(full, along, strict=True)]


def _zeros_like(a, dtype=None, order="K", subok=True, shape=None, **_):
    return type(a)(np.zeros(a.shape if shape is None else shape, dtype or a.dtype))


def _ones_like(a, dtype=None, order="K", subok=True, shape=None, **_):
    return type(a)(np.ones(a.shape if shape is None else shape, dtype or a.dtype))


def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, **_):
    shape = a.shape if shape is None else shape
    if isinstance(fill_value, Value):
        return full(shape, fill_value, dtype or a.dtype)
    return type(a)(np.full(shape, fill_value, dtype or a.dtype))


def full(shape, fill_value, dtype=None, order="C", **_):
    """An array of `shape` with `fill_value`, a tensor, everywhere."""
    filled = broadcast_to(stacked(fill_value), shape if shape.__class__ is tuple else tuple(np.atleast_1d(data_of(shape))))
    return filled if dtype is None else filled.astype(dtype)


FUNCTIONS = {
    "atleast_1d": atleast_1d, "atleast_2d": atleast_2d, "atleast_3d": atleast_3d, "array_split": array_split, "split": equal_split,
    "vsplit": _split_along("vsplit", 2, 0), "dsplit": _split_along("dsplit", 3, 2),
    "hsplit": lambda ary, places: _split_along("hsplit", 1, 1 if ary.ndim > 1 else 0)(ary, places),
    "expand_dims": _expand_dims, "transpose": _transpose, "permute_dims": _transpose, "swapaxes": _swapaxes, "rollaxis": rollaxis,
    "moveaxis": lambda a, source, destination: moveaxis(a, source, destination), "rot90": rot90,
    "fliplr": lambda m: flip(m, 1), "flipud": lambda m: flip(m, 0), "flip": lambda m, axis=None: flip(m, axis),
    "reshape": _reshape, "ravel": _ravel, "squeeze": lambda a, axis=None: squeeze(a, axis), "pad": _pad, "take": _take,
    "matrix_transpose": matrix_transpose, "broadcast_to": lambda array, shape, subok=False: broadcast_to(array, shape),
    "broadcast_arrays": lambda *args, subok=False: broadcast_arrays(*map(stacked, args)),
    "unstack": lambda x, /, *, axis=0: unstack(x, axis),
    "meshgrid": _meshgrid,
    "roll": lambda a, shift, axis=None: roll(a, shift, axis),
    "repeat": lambda a, repeats, axis=None: repeat(a, data_of(repeats), axis),
    "tile": lambda A, reps: tile(A, data_of(reps)), "compress": compress, "extract": extract, "delete": delete,
    "diag": lambda v, k=0: diag(v, k), "diagflat": diagflat, "tril": lambda m, k=0: tril(m, k), "triu": lambda m, k=0: triu(m, k),
    "trim_zeros": trim_zeros, "real": real, "imag": imag, "real_if_close": real_if_close, "where": _where,
    "nonzero": finding.nonzero,
    "zeros_like": _zeros_like, "ones_like": _ones_like, "empty_like": _zeros_like, "full_like": _full_like, "full": full,
    "copy": lambda a, order="K", subok=False: a.clone(),
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: diagonal(a, offset, axis1, axis2), "angle": _angle, "put": _put,
    "count_nonzero": lambda a, axis=None, *, keepdims=False: finding.count_nonzero(a, axis, keepdims),
    "isin": lambda element, test_elements, *, invert=False, **_: finding.isin(stacked(element), stacked(test_elements), invert),
    "searchsorted": lambda a, v, side="left", sorter=None: finding.searchsorted(stacked(a), stacked(v), side, sorter),
    "astype": lambda x, dtype, /, *, copy=True, device=None: x.astype(np.dtype(dtype)),
}
