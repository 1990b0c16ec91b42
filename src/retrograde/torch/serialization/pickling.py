"""A pickle of plain containers and tensors, of protocol 2 and by the names that PyTorch reads with `weights_only=True`."""

import struct
from collections import Counter, OrderedDict
from contextlib import contextmanager

import numpy as np

from ...core.value import Value
from ...errors import CheckpointError
from ...nn import parameter as rg
from ..devices import device
from ..shapes import Size
from .contents import attributes_of, objects
from .formats import CLASS_OF, DTYPES, UNTYPED
from .sharing import array_of, stretches, strides_of

_MARK, _TUPLE, _REDUCE, _PERSISTENT, _STOP = b"(", b"t", b"R", b"Q", b"."
_NONE, _TRUE, _FALSE, _EMPTY_TUPLE, _EMPTY_LIST, _EMPTY_DICT = b"N", b"\x88", b"\x89", b")", b"]", b"}"
_APPENDS, _SETITEMS, _BUILD = b"e", b"u", b"b"
_NAME_OF = {dtype: name for name, dtype in DTYPES.items()}


class Pickler:
    """Pickles one object. `content` is its pickle, and `storages` are its stretches of memory, by their keys in order."""

    def __init__(self, root):
        # All of them first: a storage is known when all tensors on it are.
        tensors = [x for x in objects(root) if isinstance(x, Value)]
        # Where an array had to be copied, the copy lives as long as this.
        self._arrays = {id(x): array_of(x) for x in tensors}
        found = stretches([*self._arrays.values()])
        self._stretches = dict(zip(self._arrays, found, strict=True))
        self.storages = sorted({stretch.key: stretch for stretch in found}.values(), key=lambda stretch: stretch.key)
        self._parts, self._memo, self._kept, self._open = [b"\x80\x02"], {}, [], set()
        try:
            self._write(root)
        except RecursionError:
            raise CheckpointError("torch.save cannot write containers that are nested so deeply") from None
        self.content = b"".join([*self._parts, _STOP])

    def _write(self, x):
        kind = type(x)
        if kind in _PLAIN:
            self._parts.append(_PLAIN[kind](x))
        elif isinstance(x, np.generic):
            self._write(x.item())
        elif id(x) in self._memo and kind is not tuple:
            self._parts.append(_get(self._memo[id(x)]))
        elif isinstance(x, Value):
            self._tensor(x)
            self._remember(x)
        elif isinstance(x, np.dtype):
            self._dtype(x)
        elif kind in _WRITERS:
            _WRITERS[kind](self, x)
        else:
            raise CheckpointError(f"torch.save writes tensors, plain containers and numbers, got {_told(x)}")

    def _remember(self, x):
        """Let `x`, which was just written, be referred to from here on."""
        self._memo[id(x)] = len(self._memo)
        self._kept.append(x)
        self._parts.append(_put(self._memo[id(x)]))

    @contextmanager
    def _inside(self, x):
        """Within it, `x` is being written and cannot be referred to."""
        if id(x) in self._open:
            raise CheckpointError(f"torch.save cannot write a {type(x).__name__} that contains itself")
        self._open.add(id(x))
        yield
        self._open.remove(id(x))

    def _global(self, module, name):
        self._parts.append(f"c{module}\n{name}\n".encode())

    def _call(self, module, name, *arguments):
        """What a function of PyTorch's gives for arguments."""
        self._global(module, name)
        self.write_tuple(arguments)
        self._parts.append(_REDUCE)

    def write_tuple(self, x):
        if not x:
            self._parts.append(_EMPTY_TUPLE)
            return
        with self._inside(x):
            self._parts.append(_MARK)
            for item in x:
                self._write(item)
            self._parts.append(_TUPLE)

    def write_list(self, x):
        self._parts.append(_EMPTY_LIST)
        self._remember(x)
        if x:
            self._parts.append(_MARK)
            for item in x:
                self._write(item)
            self._parts.append(_APPENDS)

    def write_dict(self, x):
        self._parts.append(_EMPTY_DICT)
        self._remember(x)
        self._items(x)

    def _items(self, x):
        if x:
            self._parts.append(_MARK)
            for key, value in x.items():
                self._write(key)
                self._write(value)
            self._parts.append(_SETITEMS)

    def write_ordered(self, x):
        self._call("collections", "OrderedDict")
        self._remember(x)
        self._items(x)
        if vars(x):
            if vars(x).keys() != {"_metadata"}:
                raise CheckpointError(f"torch.save writes no attributes of dictionaries, got one with {[*vars(x)]}; save dict(x)")
            self._write(dict(vars(x)))
            self._parts.append(_BUILD)

    def write_counter(self, x):
        self._call("collections", "Counter", dict(x))
        self._remember(x)

    def write_set(self, x):
        with self._inside(x):
            self._call("__builtin__", "set", [*x])
        self._remember(x)

    def write_bytes(self, x):
        self._call("_codecs", "encode", x.decode("latin1"), "latin1")
        self._remember(x)

    def write_bytearray(self, x):
        self._call("__builtin__", "bytearray", bytes(x))
        self._remember(x)

    def write_complex(self, x):
        self._call("__builtin__", "complex", x.real, x.imag)

    def write_size(self, x):
        self._call("torch", "Size", tuple(map(int, x)))

    def write_device(self, x):
        self._call("torch", "device", x.type, *[] if x.index is None else [x.index])

    def _dtype(self, dtype):
        if dtype not in _NAME_OF:
            raise CheckpointError(f"torch.save cannot write the dtype {dtype}, which PyTorch has not")
        self._global("torch", _NAME_OF[dtype])

    def _tensor(self, x):
        state = attributes_of(x)
        if isinstance(x, rg.Buffer):
            state = {"persistent": getattr(x, "persistent", True), "_is_buffer": True}
        if isinstance(x, rg.Parameter):
            self._parameter(x, state)
        elif state:
            self._global("torch._tensor", "_rebuild_from_type_v2")
            self._parts.append(_MARK)
            module, name = self._function_for(x)
            self._global(module, name)
            self._global("torch", "Tensor")
            self._arguments(x, x.requires_grad)
            self._write(state)
            self._parts += [_TUPLE, _REDUCE]
        else:
            self._rebuilt(x, x.requires_grad)

    def _parameter(self, x, state):
        self._global("torch._utils", "_rebuild_parameter_with_state" if state else "_rebuild_parameter")
        self._parts.append(_MARK)
        self._rebuilt(x, False)
        self._write(x.requires_grad)
        self._call("collections", "OrderedDict")
        if state:
            self._write(state)
        self._parts += [_TUPLE, _REDUCE]

    def _rebuilt(self, x, requires_grad):
        self._global(*self._function_for(x))
        self._arguments(x, requires_grad)
        self._parts.append(_REDUCE)

    def _function_for(self, x):
        is_untyped = self._arrays[id(x)].dtype.name in UNTYPED
        return "torch._utils", "_rebuild_tensor_v3" if is_untyped else "_rebuild_tensor_v2"

    def _arguments(self, x, requires_grad):
        """The tuple of storage, offset, size, stride, whether it requires gradients, and no hooks."""
        array, stretch = self._arrays[id(x)], self._stretches[id(x)]
        self._parts.append(_MARK)
        self._storage(stretch)
        offset = (array.__array_interface__["data"][0] - stretch.start) // array.itemsize
        for part in (offset, array.shape, strides_of(array), bool(requires_grad)):
            self._write(part)
        self._call("collections", "OrderedDict")
        if array.dtype.name in UNTYPED:
            self._dtype(array.dtype)
        self._parts.append(_TUPLE)

    def _storage(self, stretch):
        self._parts.append(_MARK)
        self._write("storage")
        self._global(*("torch.storage", "UntypedStorage") if stretch.dtype.name in UNTYPED else ("torch", CLASS_OF[stretch.dtype]))
        for part in (str(stretch.key), "cpu", stretch.count):
            self._write(part)
        self._parts += [_TUPLE, _PERSISTENT]


def _told(x):
    kind = type(x).__name__
    if hasattr(x, "state_dict"):
        return f"a {kind}, whose code a file cannot hold; save x.state_dict()"
    if isinstance(x, np.ndarray):
        return "an array; save torch.from_numpy(x)"
    if isinstance(x, dict):
        return f"a {kind}, which PyTorch does not read with weights_only=True; save dict(x)"
    if isinstance(x, tuple):
        return f"a {kind}, which PyTorch does not read with weights_only=True; save tuple(x)"
    return f"a {kind}"


def _put(index):
    return b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)


def _get(index):
    return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)


def _integer(x):
    if 0 <= x < 256:
        return b"K" + bytes([x])
    if -(2**31) <= x < 2**31:
        return b"J" + struct.pack("<i", x)
    width = (x.bit_length() >> 3) + 1
    if width > 255:
        raise CheckpointError("torch.save cannot write an integer of more than 2,000 bits, which PyTorch does not read")
    return b"\x8a" + bytes([width]) + x.to_bytes(width, "little", signed=True)


def _text(x):
    encoded = x.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(encoded)) + encoded


_PLAIN = {
    type(None): lambda _: _NONE, bool: lambda x: _TRUE if x else _FALSE, int: _integer, str: _text,
    float: lambda x: b"G" + struct.pack(">d", x),
}
_WRITERS = {
    list: Pickler.write_list, tuple: Pickler.write_tuple, dict: Pickler.write_dict, OrderedDict: Pickler.write_ordered,
    Counter: Pickler.write_counter, set: Pickler.write_set, bytes: Pickler.write_bytes, bytearray: Pickler.write_bytearray,
    complex: Pickler.write_complex, Size: Pickler.write_size, device: Pickler.write_device,
}
