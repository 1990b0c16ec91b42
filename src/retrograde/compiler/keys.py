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
_PLAIN = frozenset([bool, int, float, complex, str, bytes, type(None), slice, type(Ellipsis)])


class NoKeyError(Exception):
    """A graph holds what means something in this process alone."""


def key_of(graph):
    """(text, arrays): equal texts have graphs that are compiled alike; `arrays` are the constants of this one, in order.

    A NoKeyError for graphs with ops that were made elsewhere, or with anything else that another process may know differently.
    """
    found = _Key(graph)
    return "\n".join(found.parts), found.arrays


class _Key:
    def __init__(self, graph):
        leaves = [*graph.inputs, *graph.state]
        self._numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
        self.parts, self.arrays = [f"{len(graph.inputs)} {[_spec(leaf) for leaf in leaves]}"], []
        outputs = [*graph.results, *[node for _, node in graph.updates], *graph.held]
        for node in ordered(outputs):
            if id(node) not in self._numbers:
                self._numbers[id(node)] = len(self._numbers)
                self.parts.append(f"{_spec(node)} {_name(node.op)}{self._text(node.args)}")
        self.parts += [self._text(part) for part in (graph.results, [tuple(pair) for pair in graph.updates], graph.held)]

    def _text(self, argument):
        """An argument as text; what differs has another text."""
        kind = argument.__class__
        if kind in _PLAIN:
            return repr(argument)
        if kind is tuple or kind is list:
            return f"{'(' if kind is tuple else '['}{','.join([self._text(a) for a in argument])})"
        if isinstance(argument, Symbol):
            return f"#{self._numbers[id(argument)]}"
        if isinstance(argument, np.ndarray):
            self.arrays.append(argument)
            return f"array {_dtype(argument.dtype)}{argument.shape}{argument.strides}{_digest(argument)}"
        if isinstance(argument, np.generic):
            return f"number {_dtype(argument.dtype)}{argument.tobytes().hex()}"
        if isinstance(argument, np.dtype):
            return f"dtype {_dtype(argument)}"
        raise NoKeyError


def _spec(node):
    return None if node.shape is None else f"{node.shape}{_dtype(node.dtype)}"


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
