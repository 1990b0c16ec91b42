"""What PyTorch means by a name and the op of that name does not: the few meanings that differ, written in ops."""

from functools import wraps
from typing import Any

from ..core.value import Value
from ..dtypes import as_dtype
from ..errors import ArgumentError, ShapeError
from ..ops.axes import products, reductions, searches
from ..ops.complexes import complex as complexed
from ..ops.elementary import arithmetic, comparisons, exponential, rounding
from ..ops.elementary.comparisons import where
from ..ops.elementary.conversions import astype
from ..ops.linalg import contractions, tensors
from ..ops.manipulation import movements
from ..shapes import one_axis
from . import kinds


def added(x, y, alpha=1):
    """`x + alpha * y`."""
    return arithmetic.add(x, y if alpha == 1 else y * alpha)


def subtracted(x, y, alpha=1):
    """`x - alpha * y`."""
    return arithmetic.subtract(x, y if alpha == 1 else y * alpha)


def divided(x, y, rounding_mode=None):
    """`x / y`, integers as floats of the default type; rounded to "floor" or "trunc" if that is asked for."""
    if rounding_mode is None:
        return arithmetic.divide(_floated(x), _floated(y))
    if rounding_mode == "floor":
        return arithmetic.floor_divide(x, y)
    if rounding_mode != "trunc":
        raise ArgumentError(f'rounding_mode must be None, "floor" or "trunc", got {rounding_mode!r}')
    if kinds.is_floating(x.dtype if isinstance(x, Value) else y.dtype):
        return rounding.trunc(arithmetic.divide(x, y))
    floor = arithmetic.floor_divide(x, y)
    return floor + ((floor < 0) & (floor * y != x))


def _floated(x):
    return kinds.floating(x) if isinstance(x, Value) else x


def fmod(x: Any, y):
    """What is left of `x` by `y`, of the sign of `x`."""
    rest = arithmetic.remainder(arithmetic.abs(x) if isinstance(x, Value) else abs(x), abs(y))
    return where(comparisons.less(x, 0), -rest, rest)


def fmax(x, y):
    """The greater of two, and the other where one is unknown."""
    return where(x != x, y, where(y != y, x, comparisons.maximum(x, y)))


def fmin(x, y):
    """The smaller of two, and the other where one is unknown."""
    return where(x != x, y, where(y != y, x, comparisons.minimum(x, y)))


def frac(x):
    """What stands behind the point."""
    return x - rounding.trunc(x)


def sgn(x):
    """The sign; of a complex number that of its length, with its angle."""
    if x.dtype.kind != "c":
        return sign(x)
    size = arithmetic.abs(x)
    return where(size == 0, x * 0, x / complexed(where(size == 0, 1.0, size), size * 0))


def rounded(x, decimals=0):
    """`x` to the nearest number with so many decimals, to the even one of two."""
    if not decimals:
        return rounding.round(x)
    unit = 10.0 ** abs(decimals)
    return rounding.round(x * unit) / unit if decimals > 0 else rounding.round(x / unit) * unit


def limited(x, low=None, high=None):
    """The arguments of `clip`, brought to one type."""
    if low is None and high is None:
        raise ArgumentError("clamp needs a min, a max, or both")
    bounds = [b for b in (low, high) if b is not None]
    dtype = kinds.result_type(x, *bounds)
    x = x if x.dtype == dtype else astype(x, dtype)
    return x, *[astype(b, dtype) if isinstance(b, Value) and b.dtype != dtype else b for b in (low, high)]


def cast(x, dtype):
    """`x`, as numbers of a type if one is given."""
    return x if dtype is None or x.dtype == (wanted := as_dtype(dtype)) else astype(x, wanted)


def doubled(x):
    """`x` in float64, or the complex type of that."""
    return astype(x, "complex128" if x.dtype.kind == "c" else "float64")


def logit(x, eps=None):
    """The logarithm of `x / (1 - x)`, of `x` kept from 0 and 1 by `eps` if that is given."""
    x = x if eps is None else comparisons.clip(x, eps, 1 - eps)
    return exponential.log(x / (1 - x))


def axes(dim, x):
    """Axes of `x` as ops take them: PyTorch means all axes by an empty list, and counts one axis where there is none."""
    if dim is None:
        return None
    if not x.raw.ndim:
        for axis in dim if isinstance(dim, (list, tuple)) else (dim,):
            one_axis(axis, 1)
        return None
    return tuple(dim) or None if isinstance(dim, (list, tuple)) else dim


def scalars(function):
    """`function` of a tensor and a dim, for which a tensor without axes has one."""

    @wraps(function)
    def called(input, *args, **kwargs):
        if not isinstance(input, Value) or input.raw.ndim:
            return function(input, *args, **kwargs)
        lined = [_lined(a) for a in args], {name: _lined(a) for name, a in kwargs.items()}
        found = function(movements.reshape(input, (1,)), *lined[0], **lined[1])
        return type(found)(*map(_unlined, found)) if isinstance(found, tuple) else _unlined(found)

    return called


def _lined(x):
    return movements.reshape(x, (1,)) if isinstance(x, Value) and not x.raw.ndim else x


def _unlined(x):
    return movements.reshape(x, ())


cumsum, cumprod = scalars(products.cumsum), scalars(products.cumprod)


def _of_truth(function):
    """`function`, whose result for bytes is bytes, as before PyTorch had booleans."""

    @wraps(function)
    def called(x, *args):
        found = function(x, *args)
        return astype(found, x.dtype) if x.dtype == "uint8" else found

    return called


every, some = _of_truth(searches.all), _of_truth(searches.any)


def square(x):
    """`x * x`, of booleans as integers."""
    return arithmetic.square(astype(x, "int64") if x.dtype.kind == "b" else x)


def sign(x):
    """The sign."""
    return x if x.dtype.kind == "b" else arithmetic.sign(x)


def itself(x):
    """The tensor."""
    return x


def nansum(x, dim, keepdim):
    """The sum of the elements that are known."""
    return reductions.sum(where(x != x, 0, x), dim, keepdim)


def product_of_vectors(x, y):
    """The sum of the products of two vectors, or over the last axes of more."""
    return tensors.vecdot(x, y) if x.ndim == y.ndim == 1 else tensors.tensordot(x, y, ([-1], [-1])) if x.ndim and y.ndim else x * y


def outer_of_vectors(x, y):
    """All products of an element of one vector with one of another."""
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"outer takes two vectors, got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    return contractions.outer(x, y)


def tensordot(x, y, dims):
    """The sums of products over `dims` last axes of `x` and first of `y`, or over pairs of axes.

    Of two axes that are paired one may have a single element, which meets all of the other.
    """
    if isinstance(dims, int):
        return tensors.tensordot(x, y, dims)
    of_x, of_y = pairs = tuple(map(tuple, dims))
    for i, j in zip(of_x, of_y, strict=False):
        if x.shape[i] != y.shape[j] and 1 in (x.shape[i], y.shape[j]):
            x, y = (a if a.shape[axis] == 1 else a.sum(axis, keepdim=True) for a, axis in ((x, i), (y, j)))
    return tensors.tensordot(x, y, pairs)


def crossed(x, y, dim):
    """The cross product of vectors along `dim`."""
    return tensors.cross(x, y, dim)


HELPERS = {"promoted": kinds.promoted, "limited": limited, "cast": cast, "doubled": doubled, "axes": axes}
