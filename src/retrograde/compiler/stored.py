"""Stored programs: what was planned and compiled for a graph in an earlier process is found on disk, and runs at once.

Such a start neither plans nor generates code, and loads nothing of what does. What is on disk is plain data: numbers, names of
units, and where everything lies.
"""

import marshal
from contextlib import suppress
from functools import cached_property
from importlib import import_module

import numpy as np

from ..core.symbol import Symbol
from ..dtypes import name_of
from . import threads
from .keys import NoKeyError, key_of
from .native import Code, NativeProgram
from .program import Layout
from .table import Scratch, Words
from .units import library, name_for

#: Constants of more bytes than this, which are not those of the graph itself, are not worth their place on disk.
_MOST_BYTES = 1 << 20


def native_program(graph):
    """A native program for a graph: the one that an earlier process stored, or one that is assembled now."""
    try:
        text, arrays = key_of(graph)
    except NoKeyError:
        return _assembled(graph)
    name, store = name_for(("program", threads.get_num_threads(), text)), library().store
    data = store.get(name)
    if data is not None:
        code = _unpacked(data, graph, arrays)
        if library().load_stored(code.units):
            return StoredProgram(graph, code)
    made = _assembled(graph)
    with suppress(_UnfitError):
        store.put(name, _packed(made.code, graph, arrays))
    return made


def _assembled(graph):
    return import_module(f"{__package__}.assembled").AssembledProgram(graph)


class StoredProgram(NativeProgram):
    """A native program that was found on disk. Who asks what it consists of waits until it has been planned."""

    @cached_property
    def _whole(self):
        return _assembled(self.graph)

    @property
    def plan(self):
        """The plan of the graph."""
        return self._whole.plan

    @property
    def parts(self):
        """The steps as things that run alone."""
        return self._whole.parts

    def explain(self):
        """A report of the kernels."""
        return self._whole.explain()

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        for number, array in enumerate(self.state_arrays):
            self._whole.bind(number, array)
        return self._whole.profile(arrays, repeats)


class _UnfitError(Exception):
    """A program holds what cannot be stored: library calls, or a constant that is too large."""


def _packed(code, graph, arrays):
    """A program's code as bytes."""
    if not all([part.__class__ is tuple for part in code.segments]):
        raise _UnfitError
    objects, layout, words = _Objects([*graph.inputs, *graph.state], arrays), code.layout, code.words
    number = objects.number
    placed = [
        [number(o) for o in layout.results], [(number(leaf), number(o)) for leaf, o in layout.updates],
        [number(o) for o in layout.held], [(number(o), number(leaf)) for o, leaf in layout.homes.items()],
        [number(o) for o in layout.fresh], [(number(o), at) for o, at in layout.places.items()], layout.arena_bytes]
    buffers = [number(o) for o in code.buffers]
    written = np.array(words.numbers, np.int64).tobytes(), list(words.places), list(words.functions.items())
    return marshal.dumps((objects.specs, placed, buffers, written, code.steps, code.segments, code.is_parallel, code.units))


def _unpacked(data, graph, arrays):
    """The code of a program from its bytes, for a graph of the same key and its constants."""
    specs, placed, buffers, written, steps, segments, is_parallel, units = marshal.loads(data)  # noqa: S302 - checked by the cache
    leaves = [*graph.inputs, *graph.state]
    objects = [_made(kind, facts, leaves, arrays) for kind, *facts in specs]
    results, updates, held, homes, fresh, places, arena_bytes = placed
    layout = Layout(
        [objects[i] for i in results], [(objects[i], objects[j]) for i, j in updates], [objects[i] for i in held],
        {objects[i]: objects[j] for i, j in homes}, [objects[i] for i in fresh], {objects[i]: at for i, at in places}, arena_bytes)
    numbers, at, functions = written
    words = Words(np.frombuffer(numbers, np.int64), at, functions)
    return Code(layout, [objects[i] for i in buffers], words, steps, segments, is_parallel, units)


class _Objects:
    """What a layout is about, numbered: leaves, other nodes, scratch memory and constants."""

    def __init__(self, leaves, arrays):
        self.specs, self._numbers, self._kept, self._bytes = [], {}, [], 0
        for at, leaf in enumerate(leaves):
            self._add(leaf, ("leaf", at))
        for at, array in enumerate(arrays):
            if id(array) not in self._numbers:
                self._add(array, ("constant", at))

    def number(self, found):
        """The number of an object."""
        if found.__class__ is str:
            key = found
            if key not in self._numbers:
                self._numbers[key] = len(self.specs)
                self.specs.append(("mark", found))
            return self._numbers[key]
        if id(found) not in self._numbers:
            self._add(found, self._spec(found))
        return self._numbers[id(found)]

    def _add(self, found, spec):
        self._numbers[id(found)] = len(self.specs)
        self.specs.append(spec)
        self._kept.append(found)

    def _spec(self, found):
        if isinstance(found, Scratch):
            return "scratch", int(found.nbytes)
        if not isinstance(found, (Symbol, np.ndarray)) or np.dtype(name_of(found.dtype)) != found.dtype:
            raise _UnfitError
        shape = tuple(map(int, found.shape))
        if isinstance(found, Symbol):
            return "node", shape, name_of(found.dtype)
        self._bytes += found.nbytes
        if self._bytes > _MOST_BYTES or not found.flags.c_contiguous:
            raise _UnfitError
        return "array", shape, name_of(found.dtype), found.tobytes()


def _made(kind, facts, leaves, arrays):
    """An object of a layout from its spec."""
    return _MAKERS[kind](leaves, arrays, *facts)


_MAKERS = {
    "leaf": lambda leaves, arrays, at: leaves[at],
    "constant": lambda leaves, arrays, at: arrays[at],
    "mark": lambda leaves, arrays, mark: mark,
    "scratch": lambda leaves, arrays, nbytes: Scratch(nbytes),
    "node": lambda leaves, arrays, shape, dtype: Symbol(None, (), shape, np.dtype(dtype)),
    "array": lambda leaves, arrays, shape, dtype, data: np.frombuffer(data, dtype).reshape(shape),
}
