"""Values of a run as JSON: tensors and arrays go into a file of their own, everything else is written out. Nothing is pickled.

What JSON has no word for is an object with one key that begins with a dollar: {"$tuple": [...]}, {"$tensor": "model/0.weight"}.
"""

import math
from base64 import b64decode, b64encode
from collections import Counter, deque
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..io.tensor_file import storable
from ..tensor.tensor import Tensor

#: How deep values may lie in each other.
_DEEPEST = 200


class Arrays:
    """The arrays of a run by name, each once however many values share its memory; with `copies` they are what they are now."""

    def __init__(self, copies):
        self.copies, self.by_name, self._known, self._kept = copies, {}, {}, []

    def add(self, name, array):
        """Take in an array; the name that it is found by."""
        where = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
        if array.size and where in self._known:
            return self._known[where]
        self._kept.append(array)  # as long as it lives its address is its own
        stored = storable(name, np.stack([array.real, array.imag], -1) if array.dtype == np.complex128 else array)
        self.by_name[name] = np.array(stored) if self.copies and np.may_share_memory(stored, array) else stored
        self._known[where] = name
        return name


def encode(value, name, arrays, stateful) -> Any:
    """`value`, which is called `name`, in lists, dictionaries, texts and numbers; its arrays are added to `arrays`.

    `stateful(value, name)` is what stands for an object with a state, or None.
    """
    return _Encoder(arrays, stateful).encode(value, name, 0)


class _Encoder:
    def __init__(self, arrays, stateful):
        self.arrays, self.stateful = arrays, stateful

    def encode(self, value, name, depth):
        if depth > _DEEPEST:
            raise CheckpointError(f"{name} is nested deeper than {_DEEPEST} times; such a value cannot be saved")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            array = _plain(value, name)
            found = {_kind_of(value): self.arrays.add(name, array)}
            return {"$pairs": found} if array.dtype == np.complex128 else found
        if kind in (list, tuple, deque, set, frozenset):
            parts = sorted(value, key=repr) if kind in (set, frozenset) else value
            found = [self.encode(part, f"{name}/{i}", depth + 1) for i, part in enumerate(parts)]
            return found if kind is list else {"$deque": [value.maxlen, found]} if kind is deque else {f"${kind.__name__}": found}
        if kind is dict or kind is Counter:
            return self._dictionary(value, name, depth)
        if kind is bytes:
            return {"$bytes": b64encode(value).decode()}
        if kind is complex:
            return {"$complex": [self.encode(part, name, depth + 1) for part in (value.real, value.imag)]}
        found = self.stateful(value, name)
        if found is None:
            raise CheckpointError(f"{name} is a {kind.__name__}, which cannot be saved; a run has numbers, texts, tensors, arrays, "
                                  "lists and dictionaries of these, and objects with state_dict() and load_state_dict()")
        kind_name, facts, state = found
        return {"$state": {"kind": kind_name, **facts, "state": self.encode(state, name, depth + 1)}}

    def _dictionary(self, value, name, depth):
        found = [(key, self.encode(part, f"{name}/{key}", depth + 1)) for key, part in value.items()]
        if type(value) is dict and all([isinstance(key, str) and not key.startswith("$") for key in value]):
            return dict(found)
        pairs = [[self.encode(key, name, depth + 1), part] for key, part in found]
        return {"$counter" if isinstance(value, Counter) else "$dict": pairs}


def _kind_of(value):
    return "$tensor" if isinstance(value, Tensor) else "$array" if isinstance(value, np.ndarray) else "$number"


def _plain(value, name):
    """The array in a tensor, or an array, as NumPy's own kind."""
    array = np.asarray(value.detach().to("cpu").raw if isinstance(value, Tensor) else value)
    if array.dtype.kind not in "biufcV" or array.dtype.names:
        raise CheckpointError(f"{name} is an array of {array.dtype}, which cannot be saved")
    return array


class Saved:
    """An object with a state as it was saved: its kind, what is known of it (`facts`), and its state."""

    def __init__(self, kind, facts, state):
        self.kind, self.facts, self.state = kind, facts, state


def decode(value, arrays) -> Any:
    """The value that `encode` was given; what had a state is a `Saved`. `arrays` are the arrays by name."""
    if isinstance(value, list):
        return [decode(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if not tag.startswith("$"):
        return {key: decode(part, arrays) for key, part in value.items()}
    if len(value) != 1 or tag not in _DECODERS:
        raise ValueError(f"{tag} is unknown")
    return _DECODERS[tag](value[tag], arrays)


def _several(make):
    return lambda parts, arrays: make(decode(part, arrays) for part in parts)


def _pairs(make):
    return lambda pairs, arrays: make({decode(key, arrays): decode(part, arrays) for key, part in pairs})


def _of_pairs(value, arrays):
    """What is of complex128, which safetensors files hold as pairs of real numbers."""
    (name,) = value.values()
    return decode(value, {name: arrays[name].view(np.complex128)[..., 0]})


def _object(facts, arrays):
    rest = {name: fact for name, fact in facts.items() if name not in ("kind", "state")}
    return Saved(facts["kind"], rest, decode(facts["state"], arrays))


_DECODERS: dict[str, Any] = {
    "$tuple": _several(tuple), "$set": _several(set), "$frozenset": _several(frozenset),
    "$deque": lambda pair, arrays: deque([decode(part, arrays) for part in pair[1]], pair[0]),
    "$dict": _pairs(dict), "$counter": _pairs(Counter),
    "$float": lambda text, _: float(text), "$bytes": lambda text, _: b64decode(text, validate=True),
    "$complex": lambda parts, arrays: complex(*[decode(part, arrays) for part in parts]),
    "$tensor": lambda name, arrays: Tensor(arrays[name]), "$array": lambda name, arrays: arrays[name],
    "$number": lambda name, arrays: arrays[name][()], "$pairs": _of_pairs, "$state": _object,
}


def bare(value):
    """A decoded value for who asked for no object: the states of objects in place of these."""
    if isinstance(value, Saved):
        return bare(value.state)
    if type(value) in (list, tuple):
        return type(value)([bare(part) for part in value])
    return {key: bare(part) for key, part in value.items()} if type(value) is dict else value
