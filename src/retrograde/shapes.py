"""Arithmetic on shapes and axes, without arrays."""

import operator
from math import prod

from .errors import AxisError, DTypeError, ShapeError


def axis_tuple(axis, ndim):
    """`axis` (None for all, an integer or a tuple) as a tuple of distinct axes from 0 to `ndim` - 1.

    >>> rg.shapes.axis_tuple((-1, 0), 3)
    (2, 0)
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(one_axis(a, ndim) for a in axes)
    if len(set(found)) != len(found):
        raise ShapeError(f"axes must be distinct, got {axis}")
    return found


def one_axis(axis, ndim):
    """`axis` counted from the front; raises if an array of `ndim` dimensions has no such axis."""
    try:
        found = operator.index(axis)
    except TypeError:
        raise DTypeError(f"axis must be an integer, got {axis!r}") from None
    if not -ndim <= found < ndim:
        raise AxisError(f"axis {found} is out of range for {ndim} dimensions")
    return found % ndim


def sizes(given):
    """`given`, the sizes of axes as one integer or several, as a tuple of integers of at least 0.

    >>> rg.shapes.sizes(2), rg.shapes.sizes([2, 3])
    ((2,), (2, 3))
    """
    several = given if isinstance(given, (tuple, list)) else (given,)
    try:
        found = tuple([operator.index(n) for n in several])
    except TypeError:
        raise DTypeError(f"the sizes of a shape must be integers, got {given!r}") from None
    if any([n < 0 for n in found]):
        raise ShapeError(f"the sizes of a shape must be at least 0, got {given!r}")
    return found


def unpacked(sizes):
    """Sizes, or other things, that are given one by one or as one sequence.

    >>> rg.shapes.unpacked((2, 3)), rg.shapes.unpacked(([2, 3],))
    ((2, 3), (2, 3))
    """
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def kept(shape, axis):
    """`shape` after a reduction over `axis` with keepdims.

    >>> rg.shapes.kept((2, 3, 4), (0, -1))
    (1, 3, 1)
    """
    axes = axis_tuple(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def count(shape, axis):
    """The number of elements that a reduction of `shape` over `axis` takes together."""
    return prod(shape[a] for a in axis_tuple(axis, len(shape)))


def row_major(shape):
    """How many elements apart neighbours along each axis lie in an array in row-major order.

    >>> rg.shapes.row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def broadcast(shapes):
    """The shape of arrays of these `shapes` together, all of which fit.

    >>> rg.shapes.broadcast([(4, 1), (3,), ()])
    (4, 3)
    """
    ndim = max(map(len, shapes), default=0)
    columns = zip(*[(1,) * (ndim - len(shape)) + shape for shape in shapes], strict=True)
    return tuple(next((n for n in column if n != 1), 1) for column in columns)


def mismatch(shapes):
    """Why arrays of these `shapes` do not broadcast, in words; None if they do.

    >>> rg.shapes.mismatch([(2, 3), (4,)])
    'shapes (2, 3) and (4,) do not broadcast: counted from the last, axes must be equal or 1, got 3 and 4'
    """
    for place, first in enumerate(shapes):
        for second in shapes[place + 1 :]:
            pairs = zip(reversed(first), reversed(second), strict=False)
            if odd := [(n, m) for n, m in pairs if n != m and 1 not in (n, m)]:
                return (f"shapes {tuple(first)} and {tuple(second)} do not broadcast: counted from the last, axes must be equal or "
                        f"1, got {odd[0][0]} and {odd[0][1]}")
    return None


def summed_axes(wide, narrow):
    """The axes over which to sum `wide` to undo broadcasting from `narrow`.

    >>> rg.shapes.summed_axes((4, 2, 3), (1, 3))
    (0, 1)
    """
    lead = len(wide) - len(narrow)
    return (*range(lead), *(i + lead for i, n in enumerate(narrow) if n == 1 and wide[i + lead] != 1))
