"""Tensor: a tensor of `rg` whose methods have PyTorch's meaning. What ops make of it is one as well."""

import sys
from functools import partial
from typing import Any

import numpy as np

from ..core.value import Value
from ..dtypes import as_dtype, bfloat16, float16, float32, float64, int8, int16, int32, int64, name_of, uint8
from ..dtypes import bool_ as boolean
from ..errors import GraphError
from ..ops.elementary import conversions
from ..tensor.elsewhere import OF_TENSORS
from . import creation, devices, kinds, shapes, written
from .absent import absent_from
from .shown import as_text


class Tensor(kinds.TorchTensor):
    """A tensor with PyTorch's methods, of one graph with the tensors of `rg`. Make one with `torch.tensor(...)`.

    >>> import retrograde.torch as torch
    >>> x = torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    >>> x.max(1).values, x.size(0), x.var()
    (tensor([5., 4.]), 2, tensor(3.3333))
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __new__(cls, *data, **given):
        if given or len(data) != 1 or not (isinstance(data[0], Value) or hasattr(data[0], "__array_function__")):
            return by_class(cls, data, float32)
        return object.__new__(cls)

    def __init__(self, data: Any = (), *more, **_):
        if not hasattr(self, "raw"):
            super().__init__(data.raw if isinstance(data, Value) else data, *more)

    def __repr__(self):
        return as_text(self)

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.item(), spec) if self.ndim == 0 else format(repr(self), spec)

    # What it is.
    shape = property(lambda self: shapes.Size(self.raw.shape), doc="Sizes of the axes.")
    device = property(lambda self: devices.device("cpu"), doc="Where the elements are.")
    is_cuda = is_mps = is_xpu = is_sparse = is_quantized = is_meta = is_nested = False
    layout = "torch.strided"
    names = property(lambda self: (None,) * self.ndim, doc="The names of axes: there are none.")
    H = property(lambda self: self.transpose(-2, -1).conj(), doc="The conjugate transpose.")
    mH = H
    ndimension = dim = lambda self: len(self.raw.shape)
    element_size = lambda self: self.raw.dtype.itemsize
    grad_fn = property(lambda self: None if self.is_leaf else self.record, doc="The record of the op that made it, or None.")

    @property
    def data(self):
        """The same memory outside of the graph, as a tensor."""
        return self.detach()

    @data.setter
    def data(self, data):
        written.set_data(self, data)

    def numel(self):
        """The number of elements."""
        return number_of_elements(self)

    nelement = numel

    def is_floating_point(self):
        """Whether its elements are real floats."""
        return kinds.is_floating(self.dtype)

    def is_complex(self):
        """Whether its elements are complex numbers."""
        return self.dtype.kind == "c"

    def is_contiguous(self, memory_format=None):
        """Whether its elements lie in row-major order."""
        return not isinstance(self.raw, np.ndarray) or self.raw.flags.c_contiguous

    def contiguous(self, memory_format=None):
        """The tensor itself, or a copy in row-major order."""
        return self if self.is_contiguous() else conversions.contiguous(self)

    def stride(self, dim=None):
        """How many elements apart neighbours along the axes lie."""
        steps = tuple([n // self.raw.itemsize for n in self.raw.strides])
        return steps if dim is None else steps[dim]

    def get_device(self):
        """-1: it is on the CPU."""
        return -1

    def data_ptr(self):
        """The address of its memory."""
        return self.raw.__array_interface__["data"][0]

    def storage_offset(self):
        """How many elements of its memory stand before its first."""
        base = self.raw.base
        return 0 if base is None else (self.data_ptr() - base.__array_interface__["data"][0]) // self.raw.itemsize

    # Conversions.
    def to(self, *targets, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
        """The tensor with another dtype, or that of another tensor; there is one device."""
        for target in targets:
            if isinstance(target, Value):
                dtype = target.dtype
            elif isinstance(target, bool):
                continue
            elif isinstance(target, int) or isinstance(target, str) and target.partition(":")[0] in devices.KINDS:
                device = target
            elif target is not None:
                dtype = target
        devices.placed(device)
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        if wanted == self.raw.dtype:
            return self.clone() if copy else self
        return conversions.astype(self, wanted)

    def type(self, dtype=None, non_blocking=False):
        """The name of its type, such as "torch.FloatTensor", or the tensor with another one."""
        if dtype is None:
            return f"torch.{_CLASS_OF.get(name_of(self.dtype), 'Float')}Tensor"
        if isinstance(dtype, str) and dtype.endswith("Tensor"):
            dtype = DTYPE_OF[dtype.rpartition(".")[2].removesuffix("Tensor")]
        return self.to(getattr(dtype, "dtype", dtype))

    def type_as(self, other):
        """The tensor with the dtype of another."""
        return self.to(other.dtype)

    def cpu(self, memory_format=None):
        """The tensor itself."""
        return self

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """An error: there is no GPU."""
        return self.to(device="cuda" if device is None else device)

    def numpy(self, *, force=False):
        """The elements as an array of the same memory."""
        return super(Tensor, self.detach() if force else self).numpy()

    def pin_memory(self, device=None):
        """The tensor itself."""
        return self

    def share_memory_(self):
        """The tensor itself."""
        return self

    def is_pinned(self):
        """False."""
        return False

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return super().tolist()

    # The graph.
    def detach_(self):
        """Leave the graph, in place."""
        if self.base is not None:
            raise GraphError("a view cannot be detached in place; use detach()")
        self.record = None
        return self

    def register_hook(self, hook):
        """Call `hook(gradient)` whenever the gradient of this tensor is computed; what it returns replaces it."""
        return super().register_hook(lambda g: hook(kinds.tensor_of(g)))

    register_post_accumulate_grad_hook: Any = None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the derivative of this tensor to the `.grad` of the leaves that it depends on."""
        inputs = [inputs] if isinstance(inputs, Value) else inputs
        super().backward(gradient, bool(retain_graph), create_graph, inputs)

    # New ones like it.
    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        """A tensor of `data`, of the dtype of this one."""
        return creation.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
        """One number everywhere, of the dtype of this tensor."""
        return creation.full(size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)

    # Comparisons with what is no number are those of Python.
    def __eq__(self, other):
        return self.eq(other) if is_operand(other) else False

    def __ne__(self, other):
        return self.ne(other) if is_operand(other) else True

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Numbers of NumPy do not promote, as those of Python."""
        inputs = [x.item() if isinstance(x, np.generic) else x for x in inputs]
        if method == "__call__" and not kwargs and (own := UFUNCS.get(ufunc.__name__)) is not None:
            return own(*inputs)
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __getattr__(self, name):
        return missing(name)

    def __reversed__(self):
        return shapes.flip(self, 0)

    def __dir__(self):
        return [name for name in object.__dir__(self) if name not in OF_TENSORS or name in vars(Tensor)]

    # Torch's protocol of functions is not used here.
    def __getitem__(self, index):
        return super().__getitem__(_index(index))

    def __setitem__(self, index, value):
        super().__setitem__(_index(index), value)


missing = absent_from("torch.Tensor", lambda: dir(Tensor))


def _index(index):
    """An index in which lists, ranges and byte masks are what they are in PyTorch."""
    if index.__class__ is list:
        return np.asarray(index) if not any([isinstance(i, (slice, Value)) or i is None for i in index]) else _index(tuple(index))
    if index.__class__ is tuple:
        return tuple([_index(i) if i.__class__ is list else _mask(i) for i in index])
    return _mask(index)


def _mask(index):
    return index != 0 if isinstance(index, Value) and index.raw.dtype == uint8 else index


def number_of_elements(x):
    """The number of elements."""
    count = 1
    for n in x.raw.shape:
        count *= n
    return count


def _sized(self, dim=None):
    shape = shapes.Size(self.raw.shape)
    return shape if dim is None else shape[dim]


def _size(self):
    """The method `size()`, or `size(dim)`; for the engine, which shares the name with NumPy, the number of elements."""
    reader = sys._getframe(1).f_globals.get("__name__", "")
    is_engine = reader.startswith("retrograde.") and not reader.startswith("retrograde.torch")
    return number_of_elements(self) if is_engine else partial(_sized, self)


Tensor.size = property(_size, doc=_size.__doc__)


def is_operand(other):
    """Whether operators take `other`."""
    return isinstance(other, (Value, int, float, complex, bool, np.ndarray, np.generic))


def by_class(cls, data, dtype):
    """What `torch.FloatTensor(...)` and its like make: of a shape, or of data."""
    if all([isinstance(n, int) for n in data]):
        made = creation.empty(tuple(data) or (0,), dtype=dtype)
    elif len(data) == 1 and isinstance(data[0], shapes.Size):
        made = creation.empty(data[0], dtype=dtype)
    else:
        made = creation.tensor(data[0], dtype=dtype)
    made.__class__ = cls
    return made


Tensor.kind = kinds.TorchTensor.kind = Tensor


#: Ufuncs of NumPy's that a tensor may be an operand of, and functions of ours; filled where these are made.
UFUNCS: dict[str, Any] = {}
#: Types by the names of PyTorch's older classes.
DTYPE_OF = {"Float": float32, "Double": float64, "Half": float16, "BFloat16": bfloat16, "Long": int64, "Int": int32, "Short": int16,
            "Char": int8, "Byte": uint8, "Bool": boolean}
_CLASS_OF = {name_of(dtype): name for name, dtype in DTYPE_OF.items()}
