"""Calculus: products, differences, integrals, interpolation and grids of NumPy."""

import math
import string
from functools import partial

import numpy as np

from ...core.value import Value
from ...dtypes import is_float
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.axes import running
from ...ops.axes.reductions import sum
from ...ops.complexes import conj
from ...ops.elementary.arithmetic import power
from ...ops.elementary.comparisons import where
from ...ops.elementary.conversions import astype
from ...ops.elementary.rounding import floor
from ...ops.images.convolution import conv1d
from ...ops.linalg import contractions, tensors
from ...ops.linalg.matrices import diagonal
from ...ops.manipulation.joins import concatenate, stack
from ...ops.manipulation.movements import flip, moveaxis, ravel, reshape
from ...ops.manipulation.repetition import tile
from ...shapes import axis_tuple
from .operands import cast, data_of, refuse, stacked


def dot(a, b, out=None):
    """The product over the last axis of `a` and the last but one of `b`; times a number if one is a number."""
    refuse("dot", out=out)
    a, b = stacked(a), stacked(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if b.ndim <= 2 and a.ndim <= 2 or b.ndim == 1:
        return contractions.matmul(a, b)
    return tensors.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


def inner(a, b, /):
    """Sums of products over the last axes of `a` and `b`."""
    a, b = stacked(a), stacked(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return tensors.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def vdot(a, b, /):
    """The sum of the products of all elements of `a`, conjugated, and `b`."""
    return contractions.matmul(conj(ravel(stacked(a))), ravel(stacked(b)))


def einsum(*operands, out=None, optimize=False, dtype=None, **rest):
    """Sums of products by subscripts, or by lists of axes after each operand; with a `dtype` they are computed in that."""
    refuse("einsum", out=out, **rest)
    made = stacked if dtype is None else partial(_stacked_in, np.dtype(dtype))
    if isinstance(operands[0], str):
        return contractions.einsum(operands[0], *map(made, operands[1:]))
    arrays, axes = operands[: len(operands) // 2 * 2 : 2], operands[1::2]
    result = operands[-1] if len(operands) % 2 else None
    subscripts = ",".join(map(_letters, axes)) + ("" if result is None else "->" + _letters(result))
    return contractions.einsum(subscripts, *map(made, arrays))


def _stacked_in(dtype, x):
    """An operand as a tensor of a dtype, which must hold all its numbers."""
    found = stacked(x)
    if not np.can_cast(found.dtype, dtype):
        raise DTypeError(f"einsum with dtype={dtype} needs operands whose numbers that holds, got {found.dtype}; convert them by "
                         f"x.astype({dtype})")
    return astype(found, dtype)


def _letters(axes):
    letters = string.ascii_letters
    if any([axis is not Ellipsis and not 0 <= axis < len(letters) for axis in axes]):
        raise ArgumentError(f"axes of einsum have numbers from 0 to {len(letters) - 1}, got {list(axes)}")
    return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)


def tensordot(a, b, axes=2):
    """Sums of products over chosen axes."""
    if isinstance(axes, (tuple, list)):
        axes = tuple((part,) if np.ndim(part) == 0 else tuple(part) for part in axes)
    return tensors.tensordot(stacked(a), stacked(b), axes)


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of 3 elements."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    found = tensors.cross(moveaxis(stacked(a), axisa, -1), moveaxis(stacked(b), axisb, -1))
    return moveaxis(found, -1, axisc)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along `axis`, taken `n` times."""
    ends = [None if x is np._NoValue else x for x in (prepend, append)]
    return running.diff(a, axis, n, *ends)


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of all elements in row-major order, between what is put at the ends."""
    parts = [to_begin, running.diff(ravel(ary)), to_end]
    ends = [stacked(part) for part in (to_begin, to_end) if part is not None]
    if any([not np.can_cast(end.dtype, ary.dtype, "same_kind") for end in ends]):
        raise DTypeError(f"the ends must fit into the dtype of the array, {ary.dtype}, got {[str(end.dtype) for end in ends]}")
    return concatenate([cast(ravel(stacked(part)), ary.dtype) for part in parts if part is not None])


def gradient(f, *varargs, axis=None, edge_order=1):
    """Slopes of `f` along each axis: central differences inside, one-sided ones at the ends, over equal steps."""
    refuse("gradient", edge_order=None if edge_order == 1 else edge_order)
    f = _floats(f)
    axes = axis_tuple(axis, f.ndim)
    if len(varargs) not in (0, 1, len(axes)) or len(varargs) < len(axes) and any(map(np.ndim, varargs)):
        raise DTypeError(f"gradient takes no steps, one number, or one for each of {len(axes)} axes, got {len(varargs)} of shapes "
                         f"{[*map(np.shape, varargs)]}")
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    if any([f.shape[a] < 2 for a in axes]):
        raise ShapeError(f"gradient needs two points along each axis, got shape {f.shape}")
    if any([np.ndim(step) and np.shape(step) != (f.shape[a],) for step, a in zip(steps, axes, strict=True)]):
        raise ShapeError(f"steps must be scalars or 1d, one place for each point of shape {f.shape}, got {[*map(np.shape, steps)]}")
    found = tuple([_slope(f, step, a) for a, step in zip(axes, steps, strict=True)])
    return found[0] if len(found) == 1 else found


def _floats(x):
    """`x` with integers as float64, whose differences do not wrap around."""
    x = stacked(x)
    return x if is_float(x.dtype) else x.astype(np.float64)


def _slope(f, step, axis):
    f = moveaxis(f, axis, 0)
    if np.ndim(step):
        x = reshape(_floats(step), (-1,) + (1,) * (f.ndim - 1))
        below, above = x[1:-1] - x[:-2], x[2:] - x[1:-1]
        inside = (below**2 * f[2:] + (above**2 - below**2) * f[1:-1] - above**2 * f[:-2]) / (below * above * (below + above))
        ends = (f[1:2] - f[:1]) / (x[1:2] - x[:1]), (f[-1:] - f[-2:-1]) / (x[-1:] - x[-2:-1])
    else:
        inside, ends = (f[2:] - f[:-2]) / (2 * step), ((f[1:2] - f[:1]) / step, (f[-1:] - f[-2:-1]) / step)
    return moveaxis(concatenate([ends[0], inside, ends[1]]), 0, axis)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of `y` along `axis` by straight lines between its points."""
    y = moveaxis(stacked(y), axis, -1)
    if x is not None:
        x = stacked(x)
        dx = running.diff(x if x.ndim == 1 else moveaxis(x, axis, -1))
    return sum((y[..., 1:] + y[..., :-1]) * dx, -1) / 2


def interp(x, xp, fp, left=None, right=None, period=None):
    """`fp`, given at the ascending points `xp`, on straight lines between them at `x`."""
    x, xp, fp = (stacked(part) for part in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"np.interp needs as many values as points, one or more, got shapes {fp.shape} and {xp.shape}")
    if period is not None:
        x, xp, fp, left, right = *_in_one_period(x, xp, fp, abs(period)), None, None
    at, points = data_of(x), data_of(xp)
    i = np.clip(np.searchsorted(points, at, "right") - 1, 0, len(points) - 2)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        slope = (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i])
        found = fp[i] + (x - xp[i]) * slope
        if np.isnan(data_of(found)).any():  # infinities among the points: as NumPy, from the other end, then by the values alone
            found = where(np.isnan(data_of(found)), fp[i + 1] + (x - xp[i + 1]) * slope, found)
            values = data_of(fp)
            is_known = (at == points[i]) | (values[i] == values[i + 1])
            found = where(np.isnan(data_of(found)) & ~np.isnan(at) & is_known, fp[i], found)
    found = where(at < points[0], fp[0] if left is None else left, found)
    return where(at > points[-1], fp[-1] if right is None else right, found)


def convolve(a, v, mode="full"):
    """The convolution of two vectors: "full", "same" or "valid"."""
    a, v = _vectors("convolve", a, v)
    a, v = (v, a) if v.size > a.size else (a, v)
    return correlate(a, flip(v), mode)


def correlate(a, v, mode="valid"):
    """The products of `a` with `v` moved along it: "full", "same" or "valid"."""
    a, v = _vectors("correlate", a, v)
    if v.size > a.size:
        return conj(flip(correlate(v, a, mode)))
    borders = {"valid": (0, 0), "same": (v.size // 2, (v.size - 1) // 2), "full": (v.size - 1, v.size - 1)}
    if mode not in borders:
        raise ArgumentError(f"mode must be one of {', '.join(borders)}, got {mode!r}")
    before, after = borders[mode]
    a = concatenate([np.zeros(before, a.dtype), a, np.zeros(after, a.dtype)])
    return reshape(conv1d(reshape(a, (1, 1, -1)), reshape(conj(v), (1, 1, -1))), (-1,))


def _in_one_period(x, xp, fp, period):
    """Places and points within 0 and `period`, in order, with those that come next on both sides."""
    if period == 0:
        raise ArgumentError("the period of np.interp must not be 0")
    x, xp = x % period, xp % period
    order = np.argsort(data_of(xp), kind="stable")
    xp, fp = xp[order], fp[order]
    return x, concatenate([xp[-1:] - period, xp, xp[:1] + period]), concatenate([fp[-1:], fp, fp[:1]])


def _vectors(name, a, v):
    """Both operands with one axis; numbers are vectors of one element."""
    a, v = stacked(a), stacked(v)
    if a.ndim > 1 or v.ndim > 1 or not a.size or not v.size:
        raise ShapeError(f"np.{name} needs vectors of one element or more, got shapes {a.shape} and {v.shape}")
    return reshape(a, (-1,)), reshape(v, (-1,))


def vander(x, N=None, increasing=False):
    """The powers of the elements of `x` as columns, falling unless `increasing`."""
    x = stacked(x)
    if x.ndim != 1:
        raise ShapeError(f"np.vander needs a vector, got shape {x.shape}")
    powers = np.arange(x.size if N is None else N)
    return power(reshape(x, (-1, 1)), powers if increasing else powers[::-1])


def polyval(p, x):
    """The polynomial with coefficients `p`, the highest first, at `x`."""
    found = 0.0
    x = stacked(x)
    for coefficient in stacked(p):
        found = found * x + coefficient
    return found if isinstance(found, Value) else np.zeros_like(x)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, **_):
    """`num` numbers at equal steps from `start` to `stop`, tensors that the numbers depend on."""
    ends = [x if isinstance(x, (bool, int, float, complex)) else stacked(x).dtype for x in (start, stop)]
    start, stop = (cast(stacked(x), np.result_type(*ends, 1.0)) for x in (start, stop))
    if num < 0:
        raise ArgumentError(f"the number of points must be at least 0, got {num}")
    parts = max(num - 1 if endpoint else num, 1)
    ndim = max(start.ndim, stop.ndim)
    weights = reshape((np.arange(num) / parts).astype(np.result_type(start.dtype, stop.dtype)), (-1,) + (1,) * ndim)
    found = moveaxis(start * (1 - weights) + stop * weights, 0, axis)
    # Whole numbers are those below, not those nearer to zero.
    found = cast(floor(found) if dtype is not None and np.dtype(dtype).kind in "iu" else found, dtype)
    return (found, (stop - start) / parts) if retstep else found


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of `base`, with exponents at equal steps."""
    base = stacked(base)
    if base.ndim:
        start, stop = (stacked(x) + base * 0 for x in (start, stop))
        return moveaxis(cast(power(base, linspace(start, stop, num, endpoint)), dtype), 0, axis)
    return cast(power(base, linspace(start, stop, num, endpoint, axis=axis)), dtype)


def arange(start, stop=None, step=1, dtype=None, **_):
    """Numbers at equal steps, which depend on tensors `start` and `step`; how many there are does not."""
    start, stop = (0, start) if stop is None else (start, stop)
    count = max(math.ceil((data_of(stop) - data_of(start)) / data_of(step)), 0)
    return cast(start + step * np.arange(count), dtype)


def resize(a, new_shape):
    """The elements of `a`, repeated as often as it takes, in another shape."""
    size = math.prod(np.atleast_1d(new_shape).tolist())
    if not a.size:
        return np.zeros(new_shape, a.dtype)
    return reshape(tile(ravel(a), -(-size // a.size))[:size], new_shape)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """`func1d` of every line of `arr` along `axis`."""
    lines = moveaxis(arr, axis, -1)
    rest = lines.shape[:-1]
    if 0 in rest:
        raise ShapeError(f"apply_along_axis needs a line to apply the function to, got shape {arr.shape} and axis {axis}")
    found = stack([stacked(func1d(line, *args, **kwargs)) for line in reshape(lines, (math.prod(rest), lines.shape[-1]))])
    found = reshape(found, (*rest, *found.shape[1:]))
    extra, axis = found.ndim - len(rest), axis % arr.ndim
    return moveaxis(found, tuple(range(len(rest), found.ndim)), tuple(range(axis, axis + extra))) if extra else found


def _trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    refuse("trace", out=out)
    return sum(diagonal(a, offset, axis1, axis2), -1, False, dtype)


def _outer(a, b, out=None):
    refuse("outer", out=out)
    return contractions.outer(stacked(a), stacked(b))


def piecewise(x, condlist, funclist, *args, **kw):
    """For each element of `x` the function of the last condition that holds; one more function is for all others."""
    x = stacked(x)
    conditions = _conditions(x, condlist)
    functions, others = list(funclist[: len(conditions)]), list(funclist[len(conditions) :])
    if len(functions) != len(conditions) or len(others) > 1:
        raise ArgumentError(f"piecewise needs a function for each of {len(conditions)} conditions, and at most one more for all "
                            f"others, got {len(funclist)}")
    valued = lambda f: cast(stacked(f(x, *args, **kw) if callable(f) else f), x.dtype)
    found = where(np.zeros(x.shape, bool), x, valued(others[0]) if others else 0)
    for condition, function in zip(conditions, functions, strict=True):
        found = where(condition, valued(function), found)
    return found


def _conditions(x, given):
    """The conditions of `piecewise`, which takes a single one as it is, or as a list of truth values."""
    is_single = np.ndim(given) == 0 or x.ndim != 0 and len(given) and all([np.ndim(part) == 0 for part in given])
    return [data_of(stacked(part)) for part in ([given] if is_single else given)]


FUNCTIONS = {
    "dot": dot, "inner": inner, "vdot": vdot, "einsum": einsum, "tensordot": tensordot, "cross": cross, "diff": diff,
    "ediff1d": ediff1d, "gradient": gradient, "trapezoid": trapezoid, "interp": interp, "convolve": convolve,
    "correlate": correlate, "vander": vander, "polyval": polyval, "linspace": linspace, "logspace": logspace, "arange": arange,
    "resize": resize, "apply_along_axis": apply_along_axis, "trace": _trace, "outer": _outer, "piecewise": piecewise,
    "kron": lambda a, b: tensors.kron(stacked(a), stacked(b)),
    "result_type": lambda *x: np.result_type(*(v.dtype if isinstance(v, Value) else v for v in x)),
}
