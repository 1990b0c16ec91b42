"""A function of a file: where each of its buffers lies for a loader, what its steps read, and what is copied when they are over."""

import numpy as np

from .....core.symbol import Symbol
from .....errors import ProgramError
from .....runtime import ARENA, DTYPES, FLAG, INPUT, LINE, OUTPUT, POOL, TENSOR, Value
from ....pipeline import planned
from ....run.failures import FLAG as FLAG_BUFFER
from ..assemble import assemble
from ..build import NATIVE, code_of
from ..launches import Launch
from ..table import POOL as POOL_BUFFER


class Function:
    """An `Exported` function for a target.

    tensors        what the tensors of the file are put into
    words, steps   what the steps read, where they begin, and `step_count`
    slots          where each buffer of the steps lies
    copies         (to, from, bytes), in order, after the steps
    arena_bytes    the memory that it computes in
    """

    def __init__(self, exported, target, tensors):
        self.name, self._graph, self._tensors = exported.name, exported.graph, tensors
        draft = planned(exported.graph)
        parts = assemble(draft, target, None, threads=1)
        _check_native(exported.name, parts)
        self.units = {unit.name: unit for part in parts for unit in part.units}
        code = code_of(exported.graph, draft, parts, self.units)
        self._layout, self.words, self.steps = code.layout, code.words, code.steps
        self.step_count = sum([count for _, count in code.segments])
        self._known = self._places(exported)
        self.inputs = [_value(name, leaf) for name, leaf in zip(exported.inputs, exported.graph.inputs, strict=True)]
        self.outputs = [_value(name, node) for name, node in zip(exported.results, exported.graph.results, strict=True)]
        self.slots = [self._place(buffer) for buffer in code.buffers]
        self.arena_bytes = _rounded(self._layout.arena_bytes)
        self.copies = [*self._results(), *self._updates()]

    def _places(self, exported):
        """By identity of a buffer where it lies: what it is in, which one, and how many bytes from its begin."""
        layout, graph = self._layout, exported.graph
        written = {id(leaf) for leaf, _ in layout.updates}
        found = {id(POOL_BUFFER): (POOL, 0, 0), id(FLAG_BUFFER): (FLAG, 0, 0)}
        found |= {id(buffer): (ARENA, 0, at) for buffer, at in layout.places.items()}
        found |= {id(leaf): (INPUT, number, 0) for number, leaf in enumerate(graph.inputs)}
        for leaf, array in zip(graph.state, exported.state, strict=True):
            found[id(leaf)] = TENSOR, *self._tensors.state(array, id(leaf) in written)
        # One result in two places is made in the first of them.
        for number, node in reversed([*enumerate(layout.results)]):
            if any([node is fresh for fresh in layout.fresh]):
                found[id(node)] = OUTPUT, number, 0
        return found

    def _place(self, buffer):
        if isinstance(buffer, Symbol):
            buffer = self._layout.aliases.get(buffer, buffer)
        if id(buffer) not in self._known:
            self._known[id(buffer)] = TENSOR, *self._tensors.constant(buffer)
        return self._known[id(buffer)]

    def _results(self):
        """What brings results to the memory of whoever calls."""
        for number, (node, value) in enumerate(zip(self._layout.results, self.outputs, strict=True)):
            place = self._place(node) if isinstance(node, Symbol) else self._constant(node, value)
            if place != (OUTPUT, number, 0) and value.nbytes:
                yield (OUTPUT, number, 0), place, value.nbytes

    def _updates(self):
        """What writes the state that the steps have not written in its place."""
        late = [(leaf, node) for leaf, node in self._layout.updates if self._layout.aliases.get(node) is not leaf]
        first, second = [], []
        for leaf, node in late:
            source = self._place(node) if isinstance(node, Symbol) else self._constant(node, _value("", leaf))
            # All values before any write: an update may be what another leaf held, as where two are exchanged.
            if source[0] == TENSOR:
                between = ARENA, 0, self.arena_bytes
                self.arena_bytes = _rounded(self.arena_bytes + leaf.nbytes)
                first.append((between, source, leaf.nbytes))
                source = between
            second.append((self._place(leaf), source, leaf.nbytes))
        return first + second

    def _constant(self, node, value):
        """Where a result or an update lies that is known when the program is made."""
        array = np.empty(value.shape, value.numpy)
        np.copyto(array.view(np.asarray(node).dtype) if value.dtype == "bfloat16" else array, np.asarray(node))
        return TENSOR, *self._tensors.constant(array)


def _launches(part):
    """A launch, or those of the body of a loop."""
    return [part] if isinstance(part, Launch) else [launch for each in part.launches for launch in _launches(each)]


def _check_native(name, parts):
    """Raise a ProgramError that names the ops for which a function needs Python."""
    if not all([launch.step.kernel.is_alone for part in parts if isinstance(part, NATIVE) for launch in _launches(part)]):
        raise ProgramError(f"{name} cannot be exported, since it adds up over processes; leave that out of the function")
    ops = dict.fromkeys([op for part in parts if not isinstance(part, NATIVE) for op in part.ops])
    if ops:
        raise ProgramError(f"{name} cannot be exported, since there is no machine code here for {', '.join(ops)}, only calls of "
                           "Python; compute that before the function or after it")


def _value(name, node):
    dtype = node.dtype.name
    if node.shape is None or dtype not in DTYPES:
        raise ProgramError(f"{name} is of {dtype}, which exported programs do not know" if node.shape is not None else
                           f"the shape of {name} depends on numbers, and exported programs have fixed shapes")
    return Value(name, tuple(map(int, node.shape)), dtype)


def _rounded(nbytes):
    return -(-nbytes // LINE) * LINE
