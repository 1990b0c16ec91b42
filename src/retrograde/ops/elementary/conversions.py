"""Conversions: the same numbers in another type, layout or place."""

from typing import Any

import numpy as np

from ...backend import device_of, move
from ...dtypes import as_dtype, float32, float64, int32, is_float
from ...errors import DTypeError
from .._families import conversion, elementwise
from .._samples import call, uniform


@conversion(aliases=("cast",), makes_views=True, samples=(call((2, 3), dtype=float32), call((2, 3), dtype=float64)))
def astype(x, /, dtype, copy=True, device=None):
    r"""`x` converted to `dtype`, on `device`. Unless `copy`, a tensor that is of that type and there already shares its memory.

    $\bar x$ is $\bar z$ converted back to the type of $x$. A result of integers or booleans has no gradient. Python's `float`
    names no width: float64 stays what it is.
    """
    dtype = as_dtype(dtype) if dtype is not float or getattr(x, "dtype", None) != float64 else float64
    found = x.astype(dtype, copy=copy) if hasattr(x, "astype") else np.asarray(x, dtype)
    found = x[...] if found is x else found
    return found if device is None else move(found, device)


# The walk converts every cotangent to the type of what it belongs to.
astype.defvjp(lambda g: g)


def check_keeps(x, dtype):
    """Raise a DTypeError unless numbers of `dtype` have room for what complex numbers add up to."""
    if dtype is not None and x.dtype.kind == "c" and as_dtype(dtype).kind != "c":
        raise DTypeError(f"a result of {as_dtype(dtype)} would lose the imaginary parts of {x.dtype}; take x.real, or give a dtype "
                         "of complex numbers")


def is_narrow(x):
    """Whether `x` has floats of half precision: sums of them overflow, or stop to grow."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtype.itemsize < 4 and is_float(dtype)


def as_floats(*operands) -> Any:
    """`operands` as they are if one of them has floats, else in float64: what is computed of integers in their own type wraps where
    they are subtracted, is cut where they are weighted, and has half precision where they are bytes. Python's numbers stay.
    """
    for x in operands:  # most often the first one is
        if hasattr(x, "dtype") and is_float(x.dtype):
            return operands
    return [astype(x, float64) if hasattr(x, "dtype") else x for x in operands]


def as_terms(x):
    """`x` as the terms of a sum or a product: integers in 64 bits, as NumPy adds them up."""
    dtype = np.add.reduce(np.empty(0, x.dtype)).dtype if x.dtype.kind in "iub" else x.dtype
    return x if dtype == x.dtype else astype(x, dtype)


def widened(x):
    """`x` in a type in which long sums and squares are precise: float32 in the place of half precision."""
    return astype(x, np.float32) if is_narrow(x) else x


def narrowed(z, x):
    """`z`, which was computed from `widened(x)`, in the type of `x` if that is of half precision."""
    return rounded(z, x.dtype) if is_narrow(x) else z


@conversion(is_public=False, samples=(call((2, 3), dtype=float32), call((2, 3), dtype=float64)))
def rounded(x, /, dtype):
    r"""`x`, which was computed in a wider type, as the result of an op in `dtype`. Compiled code rounds it where it is stored,
    compared or selected by; what else is computed from it in the same pass may go on with `x` itself.

    $\bar x$ is $\bar z$ converted back to the type of $x$.
    """
    return x.astype(dtype)


rounded.defvjp(lambda g: g)


@conversion(is_differentiable=False, samples=(call(np.ones(3, np.float32), dtype=int32), call(np.float32(1.5), dtype=int32)))
def bitcast(x, /, dtype):
    """The bits of `x` read as another `dtype` of the same width.

    It has no derivative: where floats with a history are read as floats, it raises a MissingRuleError.
    """
    return np.asarray(x, order="C").view(as_dtype(dtype))


@conversion(samples=(call((2, 3)),))
def contiguous(x, /):
    r"""`x` copied to fresh memory in row-major order.

    $\bar x = \bar z$
    """
    return np.array(x, order="C", copy=True, subok=True)


contiguous.defvjp(lambda g: g)


@conversion(samples=(call((2, 3)),))
def contiguous_backward(x, /):
    r"""`x` itself; its gradient is copied to fresh memory in row-major order.

    $\bar x$ is a contiguous copy of $\bar z$.
    """
    return np.positive(x)


contiguous_backward.defvjp(lambda g: contiguous(g))


@elementwise(is_public=False, emit=lambda k, x, y: x, samples=(uniform(-3, 3), uniform(-3, 3)))
def after(x, y, /):
    r"""`x` in the shape of both, computed when `y` is known: in compiled code an op on it waits for `y`, and is not merged with the
    same op on `x`. This is how a checkpoint puts off what it computes again.

    $\bar x = \bar z$; none for $y$.
    """
    return np.array(np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(y))))


after.defvjp(lambda g: g, None)


@conversion(aliases=("to_device",), samples=(call((2, 3), device="cpu"),))
def copy_to_device(x, /, device):
    r"""`x` on `device`: "cpu", or "cuda:0" with the `cuda` extra.

    $\bar x$ is $\bar z$ copied back to the device of $x$.
    """
    return move(x, device)


copy_to_device.defvjp(lambda g, x: copy_to_device(g, device_of(x)))
