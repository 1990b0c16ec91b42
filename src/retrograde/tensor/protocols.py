"""NumPy's protocols: its functions, called on tensors, are ours, with gradients."""


import numpy as np

from ..core import registry
from ..core.value import Value
from ..errors import DTypeError, RegistryError
from ..ops import (
    borders,
    comparisons,
    contractions,
    eigen,
    factorizations,
    finding,
    fourier,
    grids,
    inverses,
    matrices,
    movements,
    norms,
)

# Where NumPy's name or arguments differ from ours.
_UFUNCS = {"invert": "bitwise_invert", "fabs": "abs", "float_power": "power"}
_REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
_ACCUMULATORS = {"add": "cumsum", "multiply": "cumprod"}


def array_ufunc(self, ufunc, method, *inputs, out=None, where=True, **kwargs):
    """`np.sin(t)`, `ndarray * t`, `np.add(t, u, where=mask, out=o)`, `np.add.reduce(t)`, `np.add.accumulate(t)`."""
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    function = _ufunc(ufunc, method)
    if method == "__call__" and kwargs.keys() <= {"dtype", "casting"}:
        dtype = kwargs.pop("dtype", None)
        result = function(*inputs)
        result = result if dtype is None else result.astype(dtype)
    elif method in ("reduce", "accumulate"):
        kwargs.setdefault("axis", 0)
        result = function(*inputs, **kwargs) if where is True else function(*inputs, where=where, **kwargs)
        where = True
    else:
        raise DTypeError(f"np.{ufunc.__name__} on tensors does not take {', '.join(kwargs)}; leave it out")
    return result if out is None and where is True else _stored(result, out, where)


def _ufunc(ufunc, method):
    tables = {"__call__": _UFUNCS, "reduce": _REDUCERS, "accumulate": _ACCUMULATORS}
    if method not in tables or (method != "__call__" and ufunc.__name__ not in tables[method]):
        raise DTypeError(f"np.{ufunc.__name__}.{method} has no counterpart on tensors; use np.asarray(t.detach())")
    try:
        return registry.get(tables[method].get(ufunc.__name__, ufunc.__name__)).call
    except RegistryError:
        raise DTypeError(f"np.{ufunc.__name__} is not an op of retrograde, so it has no gradient; use "
                         "np.asarray(t.detach()), or add it with @rg.ops.elementwise") from None


def _stored(result, out, where):
    """`result` where `where` holds, in `out` elsewhere and in place, as NumPy has it."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return comparisons.where(where, result, 0)
    if not isinstance(out, Value):
        raise DTypeError("out= must be a tensor where an input is one, got an array, which could not hold the gradient")
    out[...] = result if where is True else comparisons.where(where, result, out.clone())
    return out


def array_function(self, function, types, args, kwargs):
    """`np.sum(t, 0)`, `np.concatenate([t, u])`, `np.where(m, t, u)` and so on."""
    found = _MODULES.get(function.__module__, _FUNCTIONS).get(function.__name__)
    if found is None:
        try:
            found = registry.get(function.__name__).call
        except RegistryError:
            raise DTypeError(f"np.{function.__name__} is not an op of retrograde, so it has no gradient; use "
                             "np.asarray(t.detach()), or add an op with @rg.ops") from None
    return found(*args, **_known(kwargs))


def _known(kwargs):
    """NumPy's arguments that stand for 'not given' left out."""
    return {k: v for k, v in kwargs.items() if v is not None and v is not np._NoValue}


def _transpose(a, axes=None):
    return movements.permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def _squeeze(a, axis=None):
    return movements.squeeze(a, axis)


def _clip(a, a_min=None, a_max=None, **kwargs):
    return comparisons.clip(a, kwargs.get("min", a_min), kwargs.get("max", a_max))


def _dot(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return contractions.matmul(a, b)


def _reshape(a, shape=None, order="C"):
    if order != "C":
        raise DTypeError(f"np.reshape on tensors takes order='C', got {order!r}")
    return movements.reshape(a, shape)


def _pad(array, pad_width, mode="constant", constant_values=0):
    return borders.pad(array, pad_width, mode, constant_values)


def _zeros_like(a, dtype=None, shape=None, **_):
    return type(a)(np.zeros(a.shape if shape is None else shape, dtype or a.dtype))


def _ones_like(a, dtype=None, shape=None, **_):
    return type(a)(np.ones(a.shape if shape is None else shape, dtype or a.dtype))


def _full_like(a, fill_value, dtype=None, shape=None, **_):
    return type(a)(np.full(a.shape if shape is None else shape, fill_value, dtype or a.dtype))


def _named(*functions):
    return {function.__name__: function for function in functions}


# Functions of NumPy's submodules that are no op of the same name.
_MODULES = {
    "numpy.linalg": {
        **_named(eigen.eig, factorizations.eigh, factorizations.qr, factorizations.svd, inverses.slogdet),
        "norm": norms.linalg_norm, "trace": matrices.linalg_trace, "diagonal": matrices.linalg_diagonal,
    },
    "numpy.fft": _named(
        fourier.fft, fourier.fft2, fourier.fftn, fourier.fftshift, fourier.hfft, fourier.ifft, fourier.ifft2, fourier.ifftn,
        fourier.ifftshift, fourier.ihfft, fourier.irfft, fourier.irfft2, fourier.irfftn, fourier.rfft, fourier.rfft2,
        fourier.rfftn),
}
# Functions of NumPy that are no op, or whose arguments differ from the op's.
_FUNCTIONS = {
    "transpose": _transpose, "squeeze": _squeeze, "clip": _clip, "dot": _dot, "reshape": _reshape, "pad": _pad,
    "zeros_like": _zeros_like, "ones_like": _ones_like, "full_like": _full_like, "einsum": contractions.einsum,
    **_named(finding.nonzero, grids.broadcast_arrays, grids.meshgrid, grids.unstack),
    "ravel": movements.ravel, "matrix_transpose": movements.matrix_transpose,
    "copy": lambda a, **_: a.clone(), "shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": lambda a: a.size,
    "result_type": lambda *x: np.result_type(*(v.dtype if isinstance(v, Value) else v for v in x)),
}
