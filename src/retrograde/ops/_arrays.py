"""The algebra of numbers: arrays of NumPy, or of any library that NumPy's functions dispatch to."""

import sys
from functools import partial
from typing import Any

import numpy as np

from ..core import writes
from ..core.algebra import Algebra
from ..core.mode import current, unrecorded
from ..core.symbol import Symbol
from ..core.value import Value, of_kind
from ..dtypes import bfloat16, is_float
from ..errors import DTypeError, GraphError, ShapeError
from ..shapes import summed_axes


class ArrayAlgebra(Algebra):
    """How arrays and their cotangents behave. Cotangents are arrays of the shape of what they belong to."""

    has_shapes = conjugates = True
    native = np.ndarray
    narrow = bfloat16
    boxed = np.dtype(object)
    constants = (np.dtype, np.generic)

    #: What stands for an op where a kernel cannot be handed the arguments, which is above ops.
    redirect: Any = None
    #: The op that puts arrays side by side along a new axis, and the one that sums over axes.
    stack: Any = None
    sum: Any = None
    #: The kind of gradients that are rows and their positions, of which all other rows are zero: see `retrograde.tensor.rows`.
    rows: Any = ()

    def stacked(self, values):
        return self._stacked(values, np.result_type(*_dtypes_in(values)))

    def _stacked(self, part, dtype):
        if part.__class__ in (list, tuple):
            return self.stack([self._stacked(p, dtype) for p in part])
        return part if hasattr(part, "dtype") else np.asarray(part, dtype)

    def check_operand(self, kind):
        if hasattr(kind, "to_numpy") or hasattr(kind, "tocoo") or hasattr(kind, "data_vars"):
            raise DTypeError(f"a kernel takes no {kind.__name__}")

    def redirected(self, op, args):
        return self.redirect(op, args)

    def wrap(self, data):
        if isinstance(data, np.generic):
            return np.asarray(data)
        if isinstance(data, np.ndarray) or hasattr(data, "__array_function__"):
            return data
        return np.asarray(data)

    def settled(self, data, operands):
        if data.dtype is bfloat16 or not any([getattr(x, "dtype", None) is bfloat16 for x in operands]):
            return data  # which may be a view
        return data.astype(bfloat16) if self.settled_dtype(data.dtype, operands) is bfloat16 else data

    def settled_dtype(self, dtype, operands):
        if dtype.kind != "f" or (operands and dtype is getattr(operands[0], "dtype", None)):  # nearly always
            return dtype
        dtypes = [x.dtype for x in operands if hasattr(x, "dtype")]
        return bfloat16 if bfloat16 in dtypes and not any([d.kind == "f" for d in dtypes]) else dtype

    def describe(self, data):
        return f"{data.dtype}{list(data.shape)}"

    def is_differentiable(self, data):
        return is_float(data.dtype)

    def check_differentiable(self, data):
        if not is_float(data.dtype):
            raise DTypeError(f"only tensors of a float dtype can require gradients, got {data.dtype}; "
                             "use x.astype(rg.float32)")

    def quietly(self, function, *args):
        if _QUIET is None:
            with np.errstate(all="ignore"):
                return function(*args)
        # What np.errstate does, in a quarter of the time.
        token = _errors.set(_QUIET)
        try:
            return function(*args)
        finally:
            _errors.reset(token)

    def seed(self, value):
        data = value.raw
        if data.dtype.kind == "c":
            raise GraphError("backward without a gradient needs a real number, got a complex one; pass gradient=, or reduce "
                             "the value to a real number first, as in (y.real**2 + y.imag**2).sum()")
        if data.size != 1:
            raise GraphError(f"backward without a gradient needs a single number, got shape {data.shape}; "
                             "pass gradient=, or reduce the value first, as in y.sum().backward()")
        if data.__class__ is np.ndarray and data.shape == ():
            return np.array(1, data.dtype)
        return np.broadcast_to(np.ones((), value.dtype), value.shape) if value.is_traced else np.ones_like(value.raw)

    def check_seed(self, value, seed):
        seed = seed if seed.__class__ is np.ndarray or isinstance(seed, Value) else np.asarray(seed)
        if seed.shape != value.raw.shape:
            raise ShapeError(f"the gradient must have the shape of its value, {value.raw.shape}, got {seed.shape}")
        return seed if seed.dtype == value.raw.dtype else seed.astype(value.raw.dtype)

    def conjugated(self, cotangent):
        # The walk pairs cotangents with changes without conjugation: see `complexes`.
        if cotangent.__class__ is np.ndarray:
            return cotangent.conj() if cotangent.dtype.kind == "c" else cotangent
        return cotangent.conj() if getattr(getattr(cotangent, "dtype", None), "kind", "") == "c" else cotangent

    def zero(self, data):
        zero = np.zeros((), data.dtype) if isinstance(data, Symbol) else np.zeros_like(data, shape=())
        return np.broadcast_to(zero, data.shape)

    def fits(self, operand, result, broadcasts):
        reshapes = broadcasts and operand.shape != result.shape
        return (operand.shape, operand.dtype) if reshapes or operand.dtype != result.dtype else None

    def spec(self, data):
        return data.shape, data.dtype

    def fit_foreign(self, cotangent, target, name, number):
        cotangent = cotangent if hasattr(cotangent, "shape") else np.asarray(cotangent)
        given, (shape, _) = cotangent.shape, target
        missing = len(given) - len(shape)
        if missing < 0 or any([n not in (1, m) for m, n in zip(given[missing:], shape, strict=True)]):
            raise ShapeError(f"the rule of {name} must return a gradient of shape {shape} for argument {number}, or one that "
                             f"summing brings to it, got {given}")
        return self.fit(cotangent, target)

    def fit(self, cotangent, target):
        shape, dtype = target
        if cotangent.shape != shape:
            axes = summed_axes(cotangent.shape, shape)
            is_narrow = cotangent.dtype.itemsize < 4  # the op sums such in float32
            cotangent = (self.sum(cotangent, axes, True) if is_narrow else cotangent.sum(axis=axes, keepdims=True)).reshape(shape)
        if cotangent.dtype == dtype:
            return cotangent
        is_halved = cotangent.dtype.kind == "c" and dtype.kind != "c"
        return (cotangent.real if is_halved else cotangent).astype(dtype)

    def settled_data(self, value):
        """The array of a value. A number of NumPy, which ops take for an array, and whose memory is nobody's, becomes one."""
        data = value.raw
        if data.__class__ is not np.ndarray:
            if isinstance(data, np.generic):
                data = value.raw = np.asarray(data)
            elif not hasattr(data, "shape"):
                raise DTypeError(f"the data of a tensor is an array, got {data!r}; set it to np.asarray(...), or write to the "
                                 "tensor: x[...] = y")
        return data

    def made(self, data, record=None, kind=None):
        value = object.__new__(kind or self.kind)
        value.raw, value.record = data, record
        return value

    def maker(self, value):
        return partial(self.made, kind=value.kind)

    def carried(self, cotangent, as_value):
        return cotangent if isinstance(cotangent, self.rows) else super().carried(cotangent, as_value)

    def whole(self, cotangent):
        return cotangent.raw if isinstance(cotangent, self.rows) and not cotangent.is_traced else super().whole(cotangent)

    def parts(self, value):
        return value.parts if isinstance(value, self.rows) and value.is_traced else super().parts(value)

    def whole_gradient(self, value):
        """The gradient of a value, None without one; rows become an ordinary tensor, there as well."""
        found = value.grad
        if isinstance(found, self.rows):
            found = value.grad = found.to_dense()
        return found

    def shown(self, cotangent):
        made, tracer = self.made(cotangent), _tracer()
        if tracer is not None:
            tracer.made(made)
        return made

    def shown_as(self, cotangent, kind):
        if not isinstance(cotangent, Value):
            return of_kind(self.shown(cotangent), kind)
        return cotangent if cotangent.kind is kind else self.made(cotangent.raw, cotangent.record, kind)

    def separate(self, cotangent):
        tracer = _tracer()
        if not isinstance(cotangent, Value):
            return self.shown(cotangent.copy())
        if tracer is None or tracer.is_lazy:
            return cotangent.clone()
        return tracer.value(self, tracer.symbol(cotangent), cotangent.record)

    def _separate_as(self, cotangent, dtype):
        found = self.separate(cotangent)
        return found if found.dtype == dtype else found.astype(dtype)

    def accumulate(self, value, cotangent):
        if cotangent.shape != value.raw.shape:
            _check_shape(value, cotangent)
        before, tracer = value.grad, _tracer()
        if isinstance(cotangent, self.rows):
            self._accumulate_rows(value, cotangent, before, tracer)
        elif tracer is not None or isinstance(cotangent, Value):
            self._accumulate_value(value, cotangent, before, tracer)
        elif before is None:
            is_ours = sys.getrefcount(cotangent) <= _SOLE and _owns_plain_memory(cotangent)
            value.grad = self.made(_taken(cotangent, value.raw.dtype, is_ours), None, value.kind)
        elif before.record is not None or before.is_traced or isinstance(before, self.rows):
            value.grad = before + self.made(cotangent)
        else:
            data = self.settled_data(before)
            writes.before(self, data)
            _add(writes.into(data), cotangent)
            writes.stamp(self, data)

    def _accumulate_rows(self, value, cotangent, before, tracer):
        """`accumulate` of rows. What a trace finds outside is another at each call, and is added to as a whole."""
        if before is None:
            value.grad = cotangent
        elif isinstance(before, self.rows) and (tracer is None or before.is_traced):
            value.grad = before + cotangent
        else:
            self.accumulate(value, self.made(cotangent.raw))

    def _accumulate_value(self, value, cotangent, before, tracer):
        """`accumulate` where nothing has numbers yet, or where something has none."""
        if before is None or before.record is not None or tracer is None or tracer.is_lazy or isinstance(before, self.rows):
            self.accumulate_linked(value, cotangent)
        else:
            unrecorded(before.__iadd__, cotangent)

    def accumulate_linked(self, value, cotangent):
        _check_shape(value, cotangent)
        before = value.grad
        value.grad = of_kind(self._separate_as(cotangent, value.dtype), value.kind) if before is None else before + cotangent

    def is_view(self, data, source):
        if data.__class__ is np.ndarray:
            base = data.base
            if base is None:
                return data is source  # NumPy hands on the array itself where there is nothing to do
            if base is source or base is getattr(source, "base", None):
                return True
        return getattr(data, "base", None) is not None and self.owner(data) is self.owner(source)

    def owner(self, data):
        while getattr(data, "base", None) is not None and hasattr(data.base, "shape"):
            data = data.base
        return data

    def find_anomaly(self, data):
        return _first(data, lambda x: ~np.isfinite(x))

    def find_nan(self, data):
        return _first(data, np.isnan)


#: Where NumPy has what to do on errors, and what stands there where all are ignored; None where it keeps that elsewhere.
_umath: Any = getattr(getattr(np, "_core", None), "umath", None)
_errors: Any = getattr(_umath, "_extobj_contextvar", None)
_make: Any = getattr(_umath, "_make_extobj", None)
_QUIET = None if _errors is None or _make is None else _make(all="ignore")


def _dtypes_in(values):
    """The dtypes in a nested sequence, and its Python numbers, which do not promote beside arrays."""
    for value in values:
        if value.__class__ in (list, tuple):
            yield from _dtypes_in(value)
        else:
            yield getattr(value, "dtype", value)


def _first(data, is_wanted):
    """The index of the first float in `data` that is wanted, or None."""
    if not hasattr(data, "dtype") or not is_float(data.dtype):
        return None
    found = np.argwhere(is_wanted(data))
    return tuple(map(int, found[0])) if len(found) else None


def _tracer():
    """What records ops without running them now, if anything does."""
    mode = current()
    return None if mode is None else mode.tracer


def _check_shape(value, cotangent):
    if cotangent.shape != value.raw.shape:
        raise ShapeError(f"a rule returned a gradient of shape {cotangent.shape} for a value of shape "
                         f"{value.raw.shape}; they must be equal")


def _add(array, other):
    try:
        array += other
    except ValueError:
        writes.check_writeable(array)
        raise


def _owns_plain_memory(array):
    return array.__class__ is np.ndarray and array.base is None and array.flags.writeable


def _taken(cotangent, dtype, is_ours):
    if is_ours and cotangent.dtype == dtype:
        return cotangent
    return np.array(cotangent, dtype, copy=True, subok=True)


class _Calibration(ArrayAlgebra):
    """Counts the references that `accumulate` sees to an array that nobody else holds."""

    def accumulate(self, value, cotangent):
        value.append(sys.getrefcount(cotangent))


def _sole_references():
    counts = []
    found = {0: np.empty(1)}
    _Calibration().accumulate(counts, found.pop(0))
    return counts[0]


# How many references an array has in `accumulate` if it can be taken without a copy: depends on the interpreter.
_SOLE = _sole_references()

arrays = ArrayAlgebra()


def shape_of(x):
    """The shape of a value, an array, a list or a number. NumPy would ask a value by its protocol, and load all counterparts."""
    return x.shape if isinstance(x, Value) else np.shape(x)
