"""Joining: several arrays put together into one."""

from itertools import accumulate

import numpy as np

from ...dtypes import common_dtype, without_promotion
from ...errors import ShapeError
from ...shapes import one_axis
from .. import _arrays
from .._families import joining
from .._samples import call
from .selections import getitem


def _joined_shape(arrays, axis):
    if axis is None or not all([hasattr(a, "shape") for a in arrays]):
        return NotImplemented
    shapes = {tuple(a.shape) for a in arrays}
    first = next(iter(shapes), ())
    if not first or not -len(first) <= axis < len(first):
        return NotImplemented
    before, after = first[: axis % len(first)], first[axis % len(first) + 1 :]
    sizes = [a.shape[axis] for a in arrays if len(a.shape) == len(first)]
    alike = {(*before, n, *after) for n in sizes}
    return (*before, sum(sizes), *after) if shapes == alike else NotImplemented


def _stacked_shape(arrays, axis):
    shapes = {tuple(a.shape) if hasattr(a, "shape") else None for a in arrays}
    shape = next(iter(shapes), None)
    if len(shapes) != 1 or shape is None:
        return NotImplemented
    at = axis + len(shape) + 1 if axis < 0 else axis
    return (*shape[:at], len(arrays), *shape[at:]) if 0 <= at <= len(shape) else NotImplemented


@joining(aliases=("concat",), result_shape=_joined_shape, samples=(
    call([(2, 3), (1, 3)]), call([(2, 1), (2, 3)], axis=-1), call([(2,), (2, 2)], axis=None)))
def concatenate(arrays, /, axis=0):
    r"""The `arrays` one after another along `axis`; None joins their elements in row-major order.

    Each array receives the part of $\bar z$ at its place.

    >>> rg.concatenate([rg.tensor([1.0, 2.0]), rg.tensor([3.0])])
    tensor([1., 2., 3.])
    """
    return _joined(np.concatenate, arrays, axis)


def _joined(join, arrays, axis):
    try:
        return join(arrays, axis=axis)
    except np.exceptions.DTypePromotionError:  # NumPy has no common type for bfloat16 and some others
        arrays = list(map(np.asarray, arrays))
        dtype = common_dtype([a.dtype for a in arrays])
        return join([a.astype(dtype) for a in arrays], axis=axis)


def _parts(g, needs, arrays_shape, axis):
    if axis is None:
        sizes = [int(np.prod(shape, dtype=int)) for shape in arrays_shape]
        along = 0
    else:
        along = one_axis(axis, g.ndim)
        sizes = [shape[along] for shape in arrays_shape]
    ends, take = list(accumulate(sizes)), np.ndarray.__getitem__ if g.__class__ is np.ndarray else getitem
    parts = [
        take(g, (slice(None),) * along + (slice(end - size, end),)) if needed else None
        for needed, size, end in zip(needs, sizes, ends, strict=True)
    ]
    if axis is None:
        parts = [p if p is None else p.reshape(shape) for p, shape in zip(parts, arrays_shape, strict=True)]
    return parts


concatenate.defvjp_all(_parts)


@joining(result_shape=_stacked_shape, samples=(call([(2, 3), (2, 3)]), call([(2, 3), (2, 3)], axis=-1), call([(), ()])))
def stack(arrays, /, axis=0):
    r"""The `arrays`, all of one shape, side by side along a new `axis`. Python numbers take the type of the others.

    Each array receives the slice of $\bar z$ at its place.
    """
    try:
        return _joined(np.stack, without_promotion(arrays), axis)
    except ValueError:
        shapes = list(dict.fromkeys([np.shape(a) for a in arrays]))
        if len(shapes) < 2:
            raise
        raise ShapeError(f"arrays side by side must have one shape, got {' and '.join(map(str, shapes))}") from None


def _slices(g, needs, axis):
    along = one_axis(axis, g.ndim)
    if g.__class__ is np.ndarray:
        lines = g if along == 0 else np.moveaxis(g, along, 0)
        return [lines[i, ...] if needed else None for i, needed in enumerate(needs)]
    return [getitem(g, (slice(None),) * along + (i,)) if needed else None for i, needed in enumerate(needs)]


stack.defvjp_all(_slices)
_arrays.arrays.stack = stack
