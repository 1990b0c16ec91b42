"""Keys of graphs: what stands for all that decides how a graph is compiled, so that another process finds what this one made."""

import hashlib
from functools import cache

import numpy as np

from ..core import registry
from ..core.symbol import Symbol, ordered
from ..dtypes import name_of
from .recorder import PICK

#: Ops of which the files are part of every name: see `machine.fingerprint`.
_OURS = f"{__package__.partition('.')[0]}.ops."
_PLAIN = frozenset([bool, int, float, complex, bytes, type(None), slice, type(Ellipsis)])


class NoKeyError(Exception):
    """A graph holds what means something in this process alone."""


def key_of(graph):
    """(text, arrays): equal texts have graphs that are compiled alike; `arrays` are the constants of this one, in order.

    A NoKeyError for graphs with ops that were made elsewhere, or with anything else that another process may know differently.
    """
    found = _Key(graph)
    return found.text, found.arrays


class _Key:
    def __init__(self, graph):
        leaves = [*graph.inputs, *graph.state]
        self._names = {id(leaf): f"#{number}" for number, leaf in enumerate(leaves)}
        self._specs, self.arrays = {}, []
        parts = [(len(graph.inputs), [_spec(leaf) for leaf in leaves])]
        for node in ordered([*graph.results, *[node for _, node in graph.updates], *graph.held]):
            if id(node) not in self._names:
                self._names[id(node)] = f"#{len(self._names)}"
                parts.append((_name(node.op), self._specs.setdefault(_spec(node), len(self._specs)), self._plain(node.args)))
        outputs = [graph.results, [tuple(pair) for pair in graph.updates], graph.held]
        self.text = repr((parts, list(self._specs), self._plain(outputs)))

    def _plain(self, arguments):
        """Arguments as plain data that prints what they are; what differs prints differently."""
        names, found = self._names, []
        for a in arguments:
            kind = a.__class__
            if kind in _PLAIN:
                found.append(a)
            elif isinstance(a, Symbol):
                found.append(names[id(a)])
            elif kind is tuple or kind is list:
                found.append((kind.__name__, self._plain(a)))
            else:
                found.append(self._other(a))
        return found

    def _other(self, argument):
        if argument.__class__ is str:
            return "text", argument
        if isinstance(argument, np.ndarray):
            self.arrays.append(argument)
            return "array", _dtype(argument.dtype), argument.shape, argument.strides, _digest(argument)
        if isinstance(argument, np.generic):
            return "number", _dtype(argument.dtype), argument.tobytes()
        if isinstance(argument, np.dtype):
            return "dtype", _dtype(argument)
        raise NoKeyError


def _spec(node):
    return None if node.shape is None else (node.shape, _dtype(node.dtype))


@cache
def _dtype(dtype):
    return f"{name_of(dtype)}{dtype.byteorder}"


@cache
def _name(op):
    """The name of an op that is the same in every process."""
    if op is PICK:
        return op.name
    if not getattr(getattr(op, "kernel", None), "__module__", "").startswith(_OURS) or not registry.is_registered(op):
        raise NoKeyError
    return op.name


def _digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).data if array.size else b"").hexdigest()
