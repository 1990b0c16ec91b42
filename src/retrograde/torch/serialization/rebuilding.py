"""Tensors on storages: what a file says of shape, strides and offset, compared with the bytes that are there."""

from collections import OrderedDict
from math import prod

import numpy as np

from ...errors import CheckpointError
from ..creation import from_numpy
from ..nn.parameter import Buffer, Parameter
from ..tensor import Tensor
from .formats import UNTYPED

#: Axes of an array of NumPy's, at most.
_MOST_AXES = 64
#: Names of attributes that the state of a tensor may have; no other can be one of ours.
_OF_BUFFERS = {"persistent", "_is_buffer"}


class Storage:
    """Memory that tensors of a file share: its bytes, and the type of its elements, None where each tensor has its own."""

    def __init__(self, content, dtype):
        self.content, self.dtype = content, dtype


def rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """The tensor on a typed storage."""
    _check(type(storage) is Storage and storage.dtype is not None, "a tensor has no storage with a type", storage)
    return _tensor(storage, storage.dtype, offset, size, stride, requires_grad, hooks, metadata)


def rebuild_tensor_of_bytes(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """The tensor of a type on a storage of bytes."""
    _check(type(storage) is Storage and storage.dtype is None, "a tensor has no storage of bytes", storage)
    _check(isinstance(dtype, np.dtype), "the type of a tensor is none", dtype)
    return _tensor(storage, dtype, offset, size, stride, requires_grad, hooks, metadata)


def rebuild_parameter(data, requires_grad, hooks, state=None):
    """The parameter of the memory of a tensor."""
    _check(type(data) is Tensor, "a parameter has no tensor", data)
    _check_gradient(data.dtype, requires_grad)
    _check_hooks(hooks)
    return _with_state(Parameter(data, requires_grad), state)


def rebuild_of_class(function, kind, arguments, state):
    """A tensor with attributes, or a buffer; `function` and `kind` are names."""
    _check(type(arguments) is tuple and getattr(kind, "name", None) in ("torch.Tensor", "torch.nn.parameter.Parameter"),
           "a tensor is of another class", getattr(kind, "name", kind))
    _check(getattr(function, "builds_tensors", False), "a tensor is built by something else", function)
    tensor = function.called(arguments)
    if kind.name == "torch.nn.parameter.Parameter" and type(tensor) is Tensor:
        tensor = Parameter(tensor, tensor.requires_grad)
    if type(state) is dict and state.keys() == _OF_BUFFERS and state["_is_buffer"] is True:
        return Buffer(tensor, persistent=state["persistent"] is True)
    return _with_state(tensor, state)


def _tensor(storage, dtype, offset, size, stride, requires_grad, hooks, metadata):
    array = _view(storage.content, dtype, offset, size, stride)
    _check_gradient(dtype, requires_grad)
    _check_hooks(hooks)
    _check(metadata is None or type(metadata) is dict, "the metadata of a tensor are no dictionary", metadata)
    for part, is_set in (metadata or {}).items():
        _check(part in ("conj", "neg") and type(is_set) is bool, "a tensor has metadata", part)
        if is_set:
            array = array.conj() if part == "conj" else -array
    return from_numpy(array).requires_grad_(requires_grad)


def _view(content, dtype, offset, size, stride):
    """The array on the bytes `content`; where its elements share memory it cannot be written to, as expanded tensors cannot."""
    _check(type(offset) is int and offset >= 0, "the offset of a tensor is none", offset)
    for numbers in (size, stride):
        _check(isinstance(numbers, tuple) and all([type(n) is int and 0 <= n < 2**62 for n in numbers]),
               "the size or stride of a tensor is none", numbers)
    _check(len(size) == len(stride) <= _MOST_AXES, "the size and stride of a tensor do not fit", (size, stride))
    count, width = len(content) // dtype.itemsize, dtype.itemsize
    _check(prod([n or 1 for n in size]) * width < 2**62, "a tensor is greater than any memory", size)
    if 0 in size:
        return np.empty(size, dtype)
    last = offset + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
    _check(last < count, f"a tensor reaches to element {last} of a storage that has {count}", (offset, size, stride))
    # A step along an axis of one element is never taken, and may be greater than any memory.
    steps = tuple([0 if n == 1 else step * width for n, step in zip(size, stride, strict=True)])
    found = np.ndarray(size, dtype, content, offset * width, steps)
    if _overlaps(size, stride):
        found.flags.writeable = False
    return found


def _overlaps(size, stride):
    """Whether two elements may lie in one place: some step does not lead past all elements along the axes of smaller steps."""
    reach = 0
    for step, n in sorted([(step, n) for n, step in zip(size, stride, strict=True) if n > 1]):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


def _with_state(tensor, state):
    """`tensor` with the attributes of a dictionary."""
    _check(state is None or type(state) in (dict, OrderedDict), "the state of a tensor is no dictionary", state)
    for name, value in (state or {}).items():
        _check(type(name) is str and name.isidentifier() and not name.startswith("__") and not hasattr(tensor, name),
               "a tensor has an attribute that cannot be set", name)
        setattr(tensor, name, value)
    return tensor


def _check_gradient(dtype, requires_grad):
    _check(type(requires_grad) is bool, "whether a tensor requires gradients is not told", requires_grad)
    _check(not requires_grad or dtype.kind in "fc" or dtype.name == "bfloat16", f"a tensor of {dtype} requires gradients",
           requires_grad)


def _check_hooks(hooks):
    _check(hooks is None or type(hooks) in (OrderedDict, tuple) and not hooks, "a tensor has hooks, which are code", hooks)


def _check(holds, what, got):
    if not holds:
        raise CheckpointError(f"data.pkl cannot be read: {what}; got {str(got)[:200] if _is_short(got) else type(got).__name__}")


def _is_short(got):
    """Whether the text of `got` is made at once, whatever a file has put in it."""
    is_plain = lambda x: x is None or isinstance(x, (str, float, bool, np.dtype)) or isinstance(x, int) and -(2**64) < x < 2**64
    return is_plain(got) or isinstance(got, tuple) and len(got) < 100 and all(
        [is_plain(x) or isinstance(x, tuple) and len(x) < 100 and all(map(is_plain, x)) for x in got])


def swapped(content, dtype):
    """Bytes whose elements have the other order of bytes, in this machine's."""
    width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return np.ascontiguousarray(content.reshape(-1, width)[:, ::-1]).reshape(-1)


def is_of_bytes(dtype):
    """Whether storages of a type are bytes in files."""
    return dtype.name in UNTYPED
