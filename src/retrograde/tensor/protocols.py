"""NumPy's protocols: its functions, called on tensors, are ours, with gradients."""

from functools import cache, partial
from importlib import import_module

import numpy as np

from ..core import registry, writes
from ..core.mode import is_lazy
from ..core.value import Value
from ..dtypes import as_dtype
from ..errors import DTypeError, RegistryError, ShapeError, TraceError
from ..ops._arrays import arrays
from ..ops.elementary import comparisons
from ..ops.elementary.conversions import astype
from ..ops.linalg.integer_products import fits, integer_matmul
from ..ops.manipulation import movements

# Where NumPy's or SciPy's name differs from ours.
_UFUNCS = {
    "invert": "bitwise_invert", "expit": "sigmoid", "log_expit": "log_sigmoid",
    "radians": "deg2rad",
}
_REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
_ACCUMULATORS = {"add": "cumsum", "multiply": "cumprod"}
#: Names by those of ufuncs, for each of their methods: of ours, but for those that keep their name, and of NumPy's functions.
_NAMES = {"__call__": _UFUNCS, "outer": _UFUNCS, "reduce": _REDUCERS, "accumulate": _ACCUMULATORS}
#: Numbers that take the type of what they meet.
_WEAK = (int, float, complex)


def array_ufunc(self, ufunc, method, *inputs, out=None, where=True, **kwargs):
    """`np.sin(t)`, `ndarray * t`, `np.add(t, u, where=mask, out=o)`, `np.add.reduce(t)`, `np.multiply.outer(t, u)`."""
    function = ufunc_counterpart(ufunc, method)
    if method == "__call__" and out is None and where is True and not kwargs:
        return function(*inputs)
    axis, kwargs = kwargs.get("axis", 0), {k: v for k, v in kwargs.items() if v is not None}
    if method in ("__call__", "outer") and kwargs.keys() <= {"dtype", "casting"}:
        if (dtype := kwargs.pop("dtype", None)) is not None:
            function = partial(_computed_in, as_dtype(dtype), ufunc, function, **kwargs)
        result = function(*_spread(*inputs)) if method == "outer" else function(*inputs)
    elif method in ("reduce", "accumulate"):
        if axis is None and method == "accumulate":
            raise ShapeError(f"np.{ufunc.__name__}.accumulate goes along one axis, got axis=None")
        mask = {} if where is True else {"where": where}
        result, where = _folded(ufunc, function, *inputs, **{**kwargs, **mask, "axis": axis}), True
    else:
        raise DTypeError(f"np.{ufunc.__name__} on tensors does not take {', '.join(kwargs)}; leave it out")
    return result if out is None and where is True else _stored(result, out, where)


def _folded(ufunc, function, x, dtype=None, **options):
    """What `function`, which stands for a reduction or an accumulation by `ufunc`, makes of `x`, computed in `dtype`."""
    if dtype is None:
        return function(x, **options)
    if ufunc in (np.add, np.multiply):
        return function(x, dtype=dtype, **options)
    return function(astype(_counterparts().stacked(x), dtype, False), **options)  # extremes have no dtype of their own


def _computed_in(dtype, ufunc, function, *inputs, casting="same_kind"):
    """What `function`, the counterpart of `ufunc`, makes of `inputs` in the types in which NumPy computes a result of `dtype`.

    They are converted before: what a type that is too narrow cannot hold is lost afterwards.
    """
    weak = _WEAK if ufunc.signature is None else ()
    inputs = [x if x.__class__ in weak else _counterparts().stacked(x) for x in inputs]
    given = [getattr(x, "dtype", x.__class__) for x in inputs]
    try:
        wanted = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), casting=casting,
                                      signature=(*[None] * ufunc.nin, *[dtype] * ufunc.nout))
    except TypeError as error:
        raise DTypeError(f"np.{ufunc.__name__} with dtype={dtype} cannot be computed of these operands; convert them by "
                         f"x.astype(...): {error}") from None
    if ufunc is np.matmul and dtype == np.int32 and fits(*inputs):
        return integer_matmul(*inputs)  # the same, without wide operands
    pairs = zip(inputs, wanted[: ufunc.nin], strict=True)
    result = function(*[x if x.__class__ in weak else astype(x, read, False) for x, read in pairs])
    return astype(result, dtype, False) if ufunc.nout == 1 else tuple([astype(z, dtype, False) for z in result])


def ufunc_counterpart(ufunc, method="__call__"):
    """What stands for a method of `ufunc` on tensors. Raises a DTypeError if nothing does."""
    name = ufunc.__name__
    if method not in _NAMES or (method in ("reduce", "accumulate") and name not in _NAMES[method]):
        raise DTypeError(f"np.{name}.{method} has no counterpart on tensors; use np.asarray(t.detach())")
    if method in ("reduce", "accumulate"):
        return _counterparts().counterpart(getattr(np, _NAMES[method][name]))
    try:
        return registry.get(_NAMES[method].get(name, name)).call
    except RegistryError:
        found = _counterparts().UFUNCS.get(name)
        if found is None:
            raise _counterparts().missing(f"np.{name}") from None
        return found


def _spread(x, y):
    """`x` with as many axes behind its own as `y` has, so that every element of it meets every one of `y`."""
    return movements.reshape(x, (*np.shape(x), *(1,) * np.ndim(y))), y


def _stored(result, out, where):
    """`result` where `where` holds, in `out` elsewhere and in place, as NumPy has it."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return comparisons.where(where, result, 0)
    if not isinstance(out, Value):
        _check_fits_into_array(result)
        writes.before(arrays, out)
        np.copyto(out, result.numpy(), where=where)
        writes.stamp(arrays, out)
        return out
    out[...] = result if where is True else comparisons.where(where, result, out.clone())
    return out


def _check_fits_into_array(result):
    """Raise an error if an array, such as `p.data`, cannot hold `result`."""
    if result.record is not None:
        raise DTypeError("out= must be a tensor where an input requires gradients, got an array, which could not hold the "
                         "gradient; write to a tensor, or within rg.no_grad()")
    if result.is_traced and not is_lazy():
        raise TraceError("an array cannot hold a value that is traced, which has no numbers yet; write to the tensor itself, and "
                         "not to x.data: x += y, or x[...] = y, within rg.no_grad() if it requires gradients")


def array_function(self, function, types, args, kwargs):
    """`np.sum(t, 0)`, `np.concatenate([t, u])`, `np.where(m, t, u)` and so on."""
    return _counterparts().counterpart(function)(*args, **kwargs)


def redirected(op, args):
    """What `op` gives for containers of other libraries, or arrays of values, among `args`; NotImplemented if there are none."""
    return _foreign().redirected(op, args)


@cache
def _foreign():
    """What knows other libraries' containers; loaded when one is met, or when an op has failed."""
    return import_module(".foreign", __package__)


@cache
def _counterparts():
    """The table of NumPy's functions, which is long and loaded when the first is called."""
    return import_module(".counterparts", __package__)
