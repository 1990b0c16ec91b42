"""Products of whole arrays, made of matrix products: over chosen axes, of every pair of elements, of vectors."""

import operator
from string import ascii_letters

import numpy as np

from ...errors import ShapeError
from ...shapes import axis_tuple, one_axis
from .._families import composite
from .._samples import call
from ..axes.reductions import sum
from ..complexes import conj
from ..manipulation.joins import stack
from ..manipulation.movements import moveaxis, permute_dims, reshape
from .contractions import einsum, matmul


@composite(samples=(call((2, 3, 4), (3, 4, 2)), call((2, 3), (2, 3), axes=0), call((2, 3, 4), (4, 2), axes=((0, 2), (1, 0))),
                    call((2, 3), (3,), 1), call((0, 3), (3, 2), 1)))
def tensordot(x, y, /, axes=2):
    r"""Sums of products over axes of `x` and `y`: the last and first `axes` of them, or a pair of sequences that says which.

    The axes of `x` that are left come first, then those of `y`. As a matrix product $Z = X Y$ of the operands with their
    axes gathered: $\bar X = \bar Z Y^\top,\; \bar Y = X^\top \bar Z$.
    """
    mine, theirs = _chosen(axes, x, y)
    if [x.shape[a] for a in mine] != [y.shape[a] for a in theirs]:
        raise ShapeError(f"the axes {mine} and {theirs} must agree in size, got {x.shape} and {y.shape}")
    rest = [a for a in range(x.ndim) if a not in mine], [a for a in range(y.ndim) if a not in theirs]
    rows, columns = [x.shape[a] for a in rest[0]], [y.shape[a] for a in rest[1]]
    inner = _size(x.shape[a] for a in mine)
    left = _gathered(x, (*rest[0], *mine), (_size(rows), inner) if rows else (inner,))
    right = _gathered(y, (*theirs, *rest[1]), (inner, _size(columns)) if columns else (inner,))
    return _gathered(matmul(left, right), None, (*rows, *columns))


def _gathered(x, axes, shape):
    """`x` with its axes in another order and in another shape, where it is not like that already."""
    x = x if axes is None or axes == tuple(range(x.ndim)) else permute_dims(x, axes)
    return x if x.shape == shape else reshape(x, shape)


def _chosen(axes, x, y):
    if isinstance(axes, (tuple, list)):
        mine, theirs = axes
        return axis_tuple(mine, x.ndim), axis_tuple(theirs, y.ndim)
    count = operator.index(axes)
    if not 0 <= count <= min(x.ndim, y.ndim):
        raise ShapeError(f"axes must lie between 0 and {min(x.ndim, y.ndim)}, got {count}")
    return tuple(range(x.ndim - count, x.ndim)), tuple(range(count))


def _size(sizes):
    return int(np.prod(list(sizes), dtype=int))


@composite(samples=(call((2, 3), (3, 2)), call((2,), (3,)), call((2, 1, 2), (3,)), call((), (2,))))
def kron(x, y, /):
    r"""Kronecker's product: every element of `x`, times the whole of `y`, in a grid.

    $Z_{(i k)(j l)} = X_{i j} Y_{k l} \;\Rightarrow\; \bar X_{i j} = \sum_{k l} \bar Z_{(i k)(j l)} Y_{k l}$, and likewise
    $\bar Y$. The operand with fewer axes gets more in front.
    """
    ndim = max(x.ndim, y.ndim)
    rows, columns = (1,) * (ndim - x.ndim) + tuple(x.shape), (1,) * (ndim - y.ndim) + tuple(y.shape)
    coarse = reshape(x, [size for n in rows for size in (n, 1)])
    fine = reshape(y, [size for n in columns for size in (1, n)])
    return reshape(coarse * fine, tuple(n * m for n, m in zip(rows, columns, strict=True)))


@composite(samples=(call((2, 3), (2, 3)), call((3, 2), (3, 1), axis=0), call((2, 3), (3,))))
def vecdot(x, y, /, axis=-1):
    r"""Sums over `axis` of products of `x`, conjugated where it is complex, and `y`; the other axes are broadcast.

    $z = \sum_i \overline{x_i}\, y_i$; of real numbers, $\bar x_i = \bar z\, y_i$ and $\bar y_i = \bar z\, x_i$.
    """
    if not -min(x.ndim, y.ndim) <= axis:
        raise ShapeError(f"axis {axis} is out of range for the shapes {x.shape} and {y.shape}")
    x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"the axes must agree in size, got {x.shape[-1]} and {y.shape[-1]}")
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        return einsum("...i,...i->...", x, y)  # which is exact, or refused
    found = conj(x) * y
    return sum(found, -1, dtype=found.dtype)


@composite(samples=(call((3,), (3,)), call((2, 3), (1, 3)), call((3, 2), (3, 2), axis=0)))
def cross(x, y, /, axis=-1):
    r"""The cross product of vectors of 3 elements along `axis`; the other axes are broadcast.

    $z = x \times y \;\Rightarrow\; \bar x = y \times \bar z,\; \bar y = \bar z \times x$
    """
    if x.shape[one_axis(axis, x.ndim)] != 3 or y.shape[one_axis(axis, y.ndim)] != 3:
        raise ShapeError(f"cross needs 3 elements along axis {axis}, got {x.shape} and {y.shape}")
    a, b = ([moveaxis(v, axis, 0)[i] for i in range(3)] for v in (x, y))
    return stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis)


def multi_dot(arrays):
    """The product of two matrices or more, in the order of pairs that costs least. The first and the last may be vectors.

    >>> rg.linalg.multi_dot([rg.ones(2, 3), rg.ones(3, 4), rg.ones(4)]).tolist()
    [12.0, 12.0]
    """
    arrays = list(arrays)
    axes = [x.ndim for x in arrays]
    if not 2 <= len(axes) < len(ascii_letters) or any([n != 2 for n in axes[1:-1]]) or {axes[0], axes[-1]} - {1, 2}:
        shapes = [tuple(x.shape) for x in arrays]
        raise ShapeError(f"multi_dot needs two matrices or more, or vectors at the ends, got shapes {shapes}")
    names = [ascii_letters[i : i + 2] for i in range(len(arrays))]
    names[0], names[-1] = names[0][-arrays[0].ndim :], names[-1][: arrays[-1].ndim]
    result = names[0][:-1] + names[-1][1:]
    return einsum(f"{','.join(names)}->{result}", *arrays)
