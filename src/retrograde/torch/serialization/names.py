"""The names that files of weights may mention, and what stands for each: a value, or a function of ours with so many arguments."""

from collections import Counter, OrderedDict

import numpy as np

from ...errors import CheckpointError
from ..devices import device
from ..shapes import Size
from . import arrays
from .formats import ABSENT, CLASSES, DTYPES
from .machine import check_parts
from .rebuilding import rebuild_of_class, rebuild_parameter, rebuild_tensor, rebuild_tensor_of_bytes

#: What Python 2, and so protocol 2, calls the module of builtins.
_BUILTINS = "__builtin__"


class Name:
    """A name of a file that is no value: it may be called, or says the class of a storage."""

    def __init__(self, name, function=None, fewest=0, most=0, builds_tensors=False):
        self.name, self.function, self.fewest, self.most = name, function, fewest, most
        self.builds_tensors = builds_tensors

    def called(self, arguments):
        """What the function gives for a tuple of arguments."""
        if self.function is None or not self.fewest <= len(arguments) <= self.most:
            raise CheckpointError(f"data.pkl calls {self.name} with {len(arguments)} arguments")
        return self.function(*arguments)


def named(module, name):
    """What stands for a global of a file; raises for what is not among those known here."""
    full = f"{'builtins' if module == _BUILTINS else module}.{name}"
    found = _KNOWN.get(full)
    if found is not None:
        return found
    if module == "torch" and (name in ABSENT or name.removesuffix("Storage").lower() in ABSENT):
        raise CheckpointError(f"the file has tensors of the type {full}, which retrograde has not; convert them in PyTorch first")
    if full in _REASONS:
        raise CheckpointError(f"the file has {_REASONS[full]}, which retrograde has not; convert them to plain tensors in PyTorch "
                              "first")
    advice = "save model.state_dict(), not the model" if module.startswith("torch") else (
        "save arrays of numbers, or tensors made by torch.from_numpy" if module.startswith("numpy") else
        "save tensors and plain containers")
    raise CheckpointError(f"the file mentions {full[:200]!r}, which is not among the names that weights have need of; nothing was "
                          f"run. If the file is yours, {advice}")


def called(function, arguments):
    """What a name of a file gives for a tuple of arguments."""
    if type(function) is not Name:
        raise CheckpointError(f"data.pkl calls a {type(function).__name__}, which is no function")
    return function.called(arguments)


def updated(found, state):
    """An ordered dictionary with the only attribute that it may have, the versions of modules; or an array with its numbers."""
    if isinstance(found, (np.ndarray, arrays.ArrayType)):
        return arrays.filled(found, state)
    if type(found) is not OrderedDict or type(state) is not dict or state.keys() != {"_metadata"}:
        raise CheckpointError(f"data.pkl sets attributes of a {type(found).__name__}, which has none that could be set")
    vars(found)["_metadata"] = state["_metadata"]
    return found


def _needs(holds, what):
    if not holds:
        raise CheckpointError(f"data.pkl cannot be read: {what}")


def _ordered(pairs=()):
    _needs(type(pairs) in (list, tuple) and all([type(p) in (list, tuple) and len(p) == 2 for p in pairs]),
           "an ordered dictionary is not made of pairs")
    for key, _ in pairs:
        _needs(type(key) is str, "an ordered dictionary of Python 2 has keys that are no text")
    return OrderedDict(pairs)


def _counter(counts=None):
    _needs(counts is None or type(counts) is dict, "a counter is not made of a dictionary")
    found = Counter()
    dict.update(found, counts or {})
    return found


def _set(items=()):
    _needs(type(items) in (list, tuple), "a set is not made of a list")
    found, alike = set(), Counter()
    for item in items:
        check_parts(item)
        alike[hash(item)] += 1
        _needs(alike[hash(item)] <= 1000 or item in found, "a set has too many items of one hash")
        found.add(item)
    return found


def _complex(real, imag):
    _needs(type(real) is float and type(imag) is float, "a complex number is not made of two numbers")
    return complex(real, imag)


def _encoded(text, encoding):
    _needs(type(text) is str and encoding in ("latin1", "latin-1"), "bytes are not encoded as latin1")
    _needs(all(ord(c) < 256 for c in text), "bytes are made of characters that are none")
    return text.encode("latin1")


def _bytes():
    return b""


def _bytearray(content=b"", encoding=None):
    return bytearray(content if encoding is None and type(content) is bytes else _encoded(content, encoding))


def _size(numbers):
    _needs(type(numbers) in (list, tuple) and all([type(n) is int for n in numbers]), "a torch.Size is not made of integers")
    return Size(numbers)


def _device(kind, index=None):
    _needs(type(kind) is str and (index is None or type(index) is int), "a torch.device is not made of a name")
    return device(kind, index)


def _layout(name):
    _needs(name == "torch.strided", "a layout is not torch.strided")
    return name


_FUNCTIONS = (
    Name("torch._utils._rebuild_tensor", rebuild_tensor, 4, 4, builds_tensors=True),
    Name("torch._utils._rebuild_tensor_v2", rebuild_tensor, 4, 7, builds_tensors=True),
    Name("torch._utils._rebuild_tensor_v3", rebuild_tensor_of_bytes, 7, 8, builds_tensors=True),
    Name("torch._utils._rebuild_parameter", rebuild_parameter, 3, 3, builds_tensors=True),
    Name("torch._utils._rebuild_parameter_with_state", rebuild_parameter, 4, 4, builds_tensors=True),
    Name("torch._tensor._rebuild_from_type_v2", rebuild_of_class, 4, 4),
    Name("torch.Tensor"), Name("torch.nn.parameter.Parameter"), Name("torch.storage.UntypedStorage"),
    Name("torch.Size", _size, 1, 1), Name("torch.device", _device, 1, 2), Name("torch.serialization._get_layout", _layout, 1, 1),
    Name("collections.OrderedDict", _ordered, 0, 1), Name("collections.Counter", _counter, 0, 1), Name("builtins.set", _set, 0, 1),
    Name("builtins.complex", _complex, 2, 2), Name("_codecs.encode", _encoded, 2, 2), Name("builtins.bytes", _bytes),
    Name("builtins.bytearray", _bytearray, 0, 2), Name("numpy.ndarray"), Name("numpy.dtype", arrays.ArrayType, 1, 3),
    *[Name(f"numpy.{core}.multiarray._reconstruct", arrays.empty, 3, 3) for core in ("core", "_core")],
    *[Name(f"numpy.{core}.multiarray.scalar", arrays.scalar, 2, 2) for core in ("core", "_core")],
    *[Name(f"torch.{name}") for name in CLASSES],
)
_KNOWN = {**{name.name: name for name in _FUNCTIONS}, **{f"torch.{name}": dtype for name, dtype in DTYPES.items()}}
_REASONS = {
    "torch._utils._rebuild_qtensor": "quantized tensors", "torch._utils._rebuild_sparse_tensor": "sparse tensors",
    "torch._utils._rebuild_sparse_csr_tensor": "sparse tensors", "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_meta_tensor_no_storage": "tensors without elements",
    "torch._utils._rebuild_wrapper_subclass": "tensors of classes of their own",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of other devices",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of other devices",
}
