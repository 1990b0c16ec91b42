"""Creation: new tensors. Floats without a given dtype are float32; arrays keep their dtype."""

from typing import Any, Never

import numpy as np

from ..backend import move
from ..core.mode import current, is_lazy, is_recording, is_tracing
from ..dtypes import as_dtype, complex64, complex128, default_float, native, promoted
from ..errors import DTypeError, ShapeError
from ..ops._arrays import arrays
from ..ops.manipulation.movements import broadcast_to
from ..shapes import sizes as sizes_of
from .leaving import check_copied, is_differentiated
from .tensor import Tensor

#: The types of Python's floats and complex numbers as elements.
_DEFAULTS = {np.dtype(np.float64): default_float, complex128: complex64}


def tensor(data, dtype=None, device=None, requires_grad=False):
    """A tensor with a copy of `data`: a number, nested lists of numbers, an array, or a tensor.

    Arrays keep their dtype; Python floats become float32 and Python integers int64.

    >>> rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    if isinstance(data, Tensor) and is_tracing() and not is_lazy():
        check_copied(data)
        return _recorded(data.detach().clone(), dtype, device, requires_grad)
    return _placed(_copied(data, dtype), device or "cpu", requires_grad)


def asarray(data, dtype=None, device=None, copy=None):
    """`data` as a tensor, without a copy if it is a tensor or an array already and `copy` is not True."""
    if isinstance(data, Tensor):
        found = data if dtype is None or data.dtype == as_dtype(dtype) else data.astype(dtype)
        found = found.clone() if copy else found
        return found if device is None else found.to(device)
    if isinstance(data, np.ndarray) and not copy and dtype in (None, data.dtype):
        return Tensor(move(data, device or "cpu"))
    if isinstance(data, (list, tuple)) and _has_history(data):
        return asarray(arrays.stacked(data), dtype, device)
    return tensor(data, dtype, device)


def _recorded(value, dtype, device, requires_grad):
    """A new tensor of a trace, of a dtype and on a device if these are given."""
    value = value if dtype is None else value.astype(as_dtype(dtype))
    value = value if device is None else value.to(device)
    return value.requires_grad_(requires_grad)


def _copied(data: Any, dtype):
    if isinstance(data, Tensor):
        check_copied(data)
        data = data.raw
    elif isinstance(data, (list, tuple, range)):
        data = _nested(data)
    joint = promoted(list(_leaves(data))) if _has_arrays(data) else None
    array = _joined(data, joint) if not hasattr(data, "__array_function__") else data.copy()
    if array.dtype.kind in "OUSMm":
        raise DTypeError(f"tensor needs numbers, got {type(data).__name__} with elements of {array.dtype}")
    if dtype is None and joint is None and not hasattr(data, "dtype"):
        dtype = _DEFAULTS.get(array.dtype)
    array = native(array)
    return array if dtype is None else array.astype(as_dtype(dtype), copy=False)


def _joined(data, dtype) -> Any:
    """Nested lists, or a number, as one array."""
    try:
        return np.array(data, dtype)
    except ValueError as error:
        if not isinstance(data, list) or "inhomogeneous" not in str(error):
            raise
        raise ShapeError(f"nested lists must have rows of equal length, got {_uneven(data)}; pad them, as "
                         "rg.nn.utils.rnn.pad_sequence does") from None


def _uneven(data):
    """What is found beside each other in nested lists where lengths differ."""
    lengths = [np.shape(part) if not isinstance(part, list) else (len(part),) for part in data]
    if len(set(lengths)) > 1:
        words = ["a number" if not n else f"length {n[0]}" if len(n) == 1 else f"shape {n}" for n in dict.fromkeys(lengths)]
        return " and ".join(words)
    return next((found for part in data if isinstance(part, list) and (found := _uneven(part))), None)


def _nested(data):
    """Nested lists with tensors in them as nested lists of arrays."""
    return [_nested(d) if isinstance(d, (list, tuple)) else _numbers(d) if isinstance(d, Tensor) else d
            for d in data]


def _numbers(x):
    check_copied(x)
    return x.detach().numpy()


def _has_history(data):
    """Whether among nested lists is a value that is recorded, so that a gradient may flow to it."""
    return is_recording() and any([
        _has_history(d) if isinstance(d, (list, tuple)) else isinstance(d, Tensor) and d.record is not None for d in data
    ])


def _has_arrays(data):
    return isinstance(data, list) and any(_has_arrays(d) if isinstance(d, list) else hasattr(d, "dtype") for d in data)


def _leaves(data):
    """What nested lists hold: arrays, which decide the type, and numbers, which do not promote."""
    if not isinstance(data, list):
        yield data
        return
    for part in data:
        yield from _leaves(part)


def zeros(shape=(), *sizes, dtype=None, device=None, requires_grad=False, **others: Never):
    """Zeros of a shape given as one tuple or several integers.

    >>> rg.zeros(2, 3).shape
    (2, 3)
    """
    return full(_shape((shape, *sizes), "zeros", others), 0, dtype or default_float, device, requires_grad)


def ones(shape=(), *sizes, dtype=None, device=None, requires_grad=False, **others: Never):
    """Ones of a shape given as one tuple or several integers."""
    return full(_shape((shape, *sizes), "ones", others), 1, dtype or default_float, device, requires_grad)


def empty(shape=(), *sizes, dtype=None, device=None, requires_grad=False, **others: Never):
    """A tensor whose elements are not set yet."""
    return _placed(np.empty(_shape((shape, *sizes), "empty", others), as_dtype(dtype or default_float)), device, requires_grad)


def full(shape, fill_value, dtype=None, device=None, requires_grad=False):
    """`fill_value` everywhere in a tensor of `shape`."""
    if isinstance(fill_value, Tensor) and is_differentiated(fill_value):
        return asarray(broadcast_to(fill_value, sizes_of(shape)).clone(), dtype, device)
    value = tensor(fill_value, dtype)
    if value.is_traced and not is_lazy():
        return _recorded(broadcast_to(value, sizes_of(shape)).clone(), None, device, requires_grad)
    return _placed(np.full(sizes_of(shape), value.raw, value.dtype), device, requires_grad)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype=None, device=None, requires_grad=False):
    """Numbers from `start` (0 if one bound is given) to `stop`, which is left out, `step` apart.

    >>> rg.arange(4)
    tensor([0, 1, 2, 3])
    """
    start, stop = (0, start) if stop is None else (start, stop)
    _check_bounds(start, stop, step)
    if dtype is None and any(isinstance(v, float) for v in (start, stop, step)):
        dtype = default_float
    return _placed(np.arange(start, stop, step, dtype=None if dtype is None else as_dtype(dtype)), device, requires_grad)


def linspace(start, stop, num=50, dtype=None, device=None, endpoint=True, requires_grad=False):
    """`num` numbers evenly spread from `start` to `stop`."""
    _check_bounds(start, stop)
    return _placed(np.linspace(start, stop, num, endpoint, dtype=as_dtype(dtype or default_float)), device, requires_grad)


def eye(n_rows, n_cols=None, k=0, dtype=None, device=None, requires_grad=False):
    """Ones on the diagonal, `k` places right of the main one, zeros elsewhere."""
    return _placed(np.eye(n_rows, n_cols, k, as_dtype(dtype or default_float)), device, requires_grad)


def zeros_like(x, /, dtype=None, device=None, requires_grad=False):
    """Zeros in the shape, dtype and place of `x`."""
    return full_like(x, 0, dtype, device, requires_grad)


def ones_like(x, /, dtype=None, device=None, requires_grad=False):
    """Ones in the shape, dtype and place of `x`."""
    return full_like(x, 1, dtype, device, requires_grad)


def empty_like(x, /, dtype=None, device=None, requires_grad=False):
    """A tensor in the shape, dtype and place of `x` whose elements are not set yet."""
    if isinstance(x, Tensor) and x.is_traced:
        return full_like(x, 0, dtype, device, requires_grad)
    data = x.raw if isinstance(x, Tensor) else x
    return _placed(np.empty_like(data, dtype and as_dtype(dtype), subok=True), device, requires_grad)


def full_like(x, /, fill_value, dtype=None, device=None, requires_grad=False):
    """`fill_value` in the shape, dtype and place of `x`."""
    if isinstance(x, Tensor) and x.is_traced or isinstance(fill_value, Tensor):
        return full(x.shape, fill_value, dtype or x.dtype, device, requires_grad)
    data = x.raw if isinstance(x, Tensor) else x
    return _placed(np.full_like(data, fill_value, dtype and as_dtype(dtype), subok=True), device, requires_grad)


def _check_bounds(*bounds):
    """Raise a LostGradientError if one of the numbers that decide a range is differentiated."""
    for bound in bounds:
        if isinstance(bound, Tensor):
            check_copied(bound)


def _shape(shape, name, others):
    """The sizes that a function called `name` is given; an error where `others`, arguments by names that it has not, are left."""
    if others:
        raise TypeError(f"{name}() takes no {', '.join(f'{other}=' for other in others)}"
                        + (f"; write rg.{name}(shape), as in rg.{name}((2, 3))" if "size" in others else ""))
    return sizes_of(shape[0] if len(shape) == 1 else shape)


def _placed(array, device, requires_grad):
    made = Tensor(array if device is None else move(array, device))
    made.requires_grad = requires_grad
    mode = current()
    if mode is not None and mode.tracer is not None:
        mode.tracer.made(made)
    return made
