"""Keys of graphs: what stands for all that decides how a graph is compiled, so that another process finds what this one made."""

import hashlib
from functools import cache

import numpy as np

from ...core import registry
from ...core.symbol import Symbol, ordered
from ...dtypes import bfloat16, name_of
from .loop_op import Loop
from .recorder import PICK

#: Ops of which the files are part of every name: see `machine.fingerprint`.
_OURS = f"{__package__.partition('.')[0]}.ops."
_PLAIN = frozenset([bool, int, float, complex, bytes, type(None), slice, type(Ellipsis)])
#: The classes of NumPy's numbers, each of which stands for a dtype.
_CLASSES = frozenset([np.dtype(code).type for code in "?bhilqBHILQefdFD"] + [bfloat16.type])


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
        self._specs, self._parts, self.arrays = {}, [(len(graph.inputs), [_spec(leaf) for leaf in leaves])], []
        self._walk([*graph.results, *[node for _, node in graph.updates], *graph.held])
        outputs = [graph.results, [tuple(pair) for pair in graph.updates], graph.held]
        self.text = repr((self._parts, list(self._specs), self._plain(outputs)))

    def _walk(self, outputs):
        """Name all nodes that `outputs` depend on, and note what they are."""
        for node in ordered(outputs):
            if id(node) in self._names:
                continue
            what = None if node.op is None else self._loop(node.op) if isinstance(node.op, Loop) else name_of_op(node.op)
            self._names[id(node)] = f"#{len(self._names)}"
            self._parts.append((what, self._specs.setdefault(_spec(node), len(self._specs)), self._plain(node.args)))

    def _loop(self, loop):
        """What a loop is, beside its operands: its body, walked from what each iteration begins with."""
        begins = [*[carry.leaf for carry in loop.carries], *[node for node, _ in loop.stacks]]
        for node in begins:
            if id(node) not in self._names:
                self._names[id(node)] = f"#{len(self._names)}"
                self._parts.append((None, self._specs.setdefault(_spec(node), len(self._specs))))
        ends, results = [carry.out for carry in loop.carries], [which for _, which in loop.results]
        self._walk([*ends, *results, loop.condition])
        rows, kinds = [row.first for _, row in loop.stacks], [kind for kind, _ in loop.results]
        return "loop", loop.length, loop.reverse, rows, kinds, self._plain([begins, ends, results, loop.condition])

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
        if is_type_of_numbers(argument):
            return "type", _dtype(np.dtype(argument))
        raise NoKeyError


def is_type_of_numbers(argument):
    """Whether an argument is a dtype given as the class of its numbers, as in `x.astype(np.float32)`."""
    return isinstance(argument, type) and argument in _CLASSES


def _spec(node):
    return None if node.shape is None else (node.shape, _dtype(node.dtype))


@cache
def _dtype(dtype):
    return f"{name_of(dtype)}{dtype.byteorder}"


@cache
def name_of_op(op):
    """The name of an op that means the same in every process; a NoKeyError if it has none."""
    if op is PICK:
        return op.name
    # Of a user's op the name says nothing of what it does, and its files are not part of the fingerprint.
    if not getattr(getattr(op, "kernel", None), "__module__", "").startswith(_OURS) or not registry.is_registered(op):
        raise NoKeyError
    return op.name


def _digest(array):
    """What stands for the elements of an array. Those that are repeated, as its strides tell, are taken once."""
    if array.dtype.hasobject:
        raise NoKeyError
    # A constant of equal elements may have the shape of an image, and one number.
    once = array[tuple([slice(None) if stride else slice(1) for stride in array.strides])]
    return hashlib.sha256(np.ascontiguousarray(once).reshape(-1).view(np.uint8)).hexdigest()
