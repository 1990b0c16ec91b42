"""Packing: the code of a program as bytes, and back. It is plain data: numbers, names of units and ops, and where all lies."""

import marshal
from functools import cache

import numpy as np

from ....core import registry
from ....core.symbol import Symbol, symbols_in
from ....dtypes import name_of
from ...graph.keys import is_type_of_numbers, name_of_op
from ...graph.recorder import PICK
from ...kernels.kernel import Scratch
from ...run.library_call import LibraryCall
from ...run.program import Layout
from .native import Code
from .table import Words

#: Constants of more bytes than this, which are not those of the graph itself, are not worth their place on disk.
_MOST_BYTES = 1 << 20
_PLAIN = frozenset([bool, int, float, complex, str, bytes, type(None), type(Ellipsis)])


class UnfitError(Exception):
    """A program holds what cannot be stored: a loop that runs from Python, or a constant that is too large."""


def packed(code, graph, arrays, precision):
    """A program's code as bytes, and the precision that it depends on, or None; `arrays` are the constants of its graph. An
    UnfitError if it cannot be stored.
    """
    objects, layout, words = _Objects([*graph.inputs, *graph.state], arrays), code.layout, code.words
    number = objects.number
    placed = [
        [number(o) for o in layout.results], [(number(leaf), number(o)) for leaf, o in layout.updates],
        [number(o) for o in layout.held], [(number(o), number(leaf)) for o, leaf in layout.aliases.items()],
        [number(o) for o in layout.fresh], [(number(o), at) for o, at in layout.places.items()], layout.arena_bytes]
    buffers = [number(o) for o in code.buffers]
    segments = [part if part.__class__ is tuple else objects.call(part) for part in code.segments]
    written = words.data.tobytes(), list(words.places), list(words.functions.items())
    return marshal.dumps((
        objects.specs, list(objects.made.items()), placed, buffers, written, code.steps, segments, code.is_parallel, code.units,
        precision))


def unpacked(data, graph, arrays):
    """(code, precision) of a program from its bytes, for a graph of the same key and its constants."""
    found = marshal.loads(data)  # noqa: S302 - checked by the cache
    specs, made, placed, buffers, written, steps, segments, is_parallel, units, precision = found
    leaves = [*graph.inputs, *graph.state]
    objects = [_MAKERS[kind](leaves, arrays, *facts) for kind, *facts in specs]
    for number, (name, args) in made:
        node = objects[number]
        node.op, node.args = PICK if name == PICK.name else registry.get(name), _read(args, objects)
        node.inputs = symbols_in(node.args)
    results, updates, held, aliases, fresh, places, arena_bytes = placed
    layout = Layout(
        [objects[i] for i in results], [(objects[i], objects[j]) for i, j in updates], [objects[i] for i in held],
        {objects[i]: objects[j] for i, j in aliases}, [objects[i] for i in fresh], {objects[i]: at for i, at in places},
        arena_bytes)
    numbers, at, functions = written
    parts = [part if part.__class__ is tuple else LibraryCall(objects[part]) for part in segments]
    words = Words(np.frombuffer(numbers, np.int64), at, functions)
    return Code(layout, [objects[i] for i in buffers], words, steps, parts, is_parallel, units), precision


class _Objects:
    """What a layout is about, numbered: leaves, other nodes, scratch memory and constants.

    specs  how each is made again
    made   of nodes that a library call computes or looks through, by number: the op's name, and its arguments
    """

    def __init__(self, leaves, arrays):
        self.specs, self.made, self._numbers, self._kept, self._bytes = [], {}, {}, [], 0
        for at, leaf in enumerate(leaves):
            self._add(leaf, ("leaf", at))
        # Constants of the graph come with it at each call, so that their numbers need not be stored.
        for at, array in enumerate(arrays):
            if id(array) not in self._numbers:
                self._add(array, ("constant", at))

    def number(self, found):
        """The number of an object."""
        if id(found) not in self._numbers:
            self._add(found, ("mark", found) if found.__class__ is str else self._spec(found))
        return self._numbers[id(found)]

    def call(self, part):
        """The number of the node that a library call computes; what is in memory has a number before that."""
        if not isinstance(part, LibraryCall):
            raise UnfitError
        return self._computed(part.node)

    def _computed(self, node):
        number = self.number(node)
        self.made[number] = name_of_op(node.op), self._written(node.args)
        return number

    def _written(self, argument):
        """An argument of an op as plain data."""
        kind = argument.__class__
        if kind in _PLAIN:
            return "plain", argument
        if isinstance(argument, str):  # a word of NumPy's
            return "plain", str(argument)
        if kind is tuple or kind is list:
            return kind.__name__, [self._written(a) for a in argument]
        if kind is slice:
            return "slice", [self._written(a) for a in (argument.start, argument.stop, argument.step)]
        if isinstance(argument, np.dtype):
            return "dtype", _dtype_name(argument)
        if isinstance(argument, np.generic):
            return "number", (_dtype_name(argument.dtype), argument.tobytes())
        if is_type_of_numbers(argument):
            return "type", _dtype_name(np.dtype(argument))
        is_view = isinstance(argument, Symbol) and id(argument) not in self._numbers
        return "object", self._computed(argument) if is_view else self.number(argument)

    def _add(self, found, spec):
        self._numbers[id(found)] = len(self.specs)
        self.specs.append(spec)
        self._kept.append(found)  # so that its identity stays its own

    def _spec(self, found):
        if isinstance(found, Scratch):
            return "scratch", int(found.nbytes)
        if not isinstance(found, (Symbol, np.ndarray)):
            raise UnfitError
        if found.shape is None:
            return "node", None, None
        shape, dtype = tuple(map(int, found.shape)), _dtype_name(found.dtype)
        if isinstance(found, Symbol):
            return "node", shape, dtype
        # Of all constants together: many small ones are as much as a large one.
        self._bytes += found.nbytes
        if self._bytes > _MOST_BYTES or not found.flags.c_contiguous:
            raise UnfitError
        return "array", shape, dtype, found.tobytes()


@cache
def _dtype_name(dtype):
    try:
        is_known = np.dtype(name_of(dtype)) == dtype
    except TypeError:  # as of bytes and of records
        is_known = False
    if not is_known:
        raise UnfitError
    return name_of(dtype)


_MAKERS = {
    "leaf": lambda leaves, arrays, at: leaves[at],
    "constant": lambda leaves, arrays, at: arrays[at],
    "mark": lambda leaves, arrays, mark: mark,
    "scratch": lambda leaves, arrays, nbytes: Scratch(nbytes),
    "node": lambda leaves, arrays, shape, dtype: Symbol(None, (), shape, None if shape is None else np.dtype(dtype)),
    "array": lambda leaves, arrays, shape, dtype, data: np.frombuffer(data, dtype).reshape(shape),
}


def _read(written, objects):
    """An argument from plain data."""
    kind, what = written
    return _READERS[kind](what, objects)


_READERS = {
    "plain": lambda what, objects: what,
    "tuple": lambda what, objects: tuple([_read(part, objects) for part in what]),
    "list": lambda what, objects: [_read(part, objects) for part in what],
    "slice": lambda what, objects: slice(*[_read(part, objects) for part in what]),
    "dtype": lambda what, objects: np.dtype(what),
    "type": lambda what, objects: np.dtype(what).type,
    "number": lambda what, objects: np.frombuffer(what[1], what[0])[0],
    "object": lambda what, objects: objects[what],
}
