"""Replay: the history of what a jitted function returns. On the way back the function is computed again, together with its
derivative, as one compiled program; so a call keeps no more than what it was handed.
"""

from threading import RLock
from typing import Any

import numpy as np

from ..compiler.ways import new_program
from ..core.gradient import gradient
from ..core.graph import ancestors
from ..core.mode import changed, is_recording
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value
from ..errors import GraphError
from ..ops._arrays import arrays
from ..tensor.tensor import Tensor
from .checkpoint import outside
from .recurrence import Recurrence


def replay_of(trace, arguments, results, start):
    """The `Replay` of a trace of `arguments`, whose other records begin at the time `start`; None if none of its `results` has a
    history that a caller can walk back.
    """
    places = [i for i, r in enumerate(results) if isinstance(r, Value) and r.record is not None and r.record.saved is not None]
    parents = outside([results[i].record for i in places], start)
    if not {c.record for c in trace.changed()}.isdisjoint(parents):
        return None
    numbers = {a.record: n for n, a in enumerate(arguments) if a.record is not None}
    captures = [c for c in trace.captured() if c.owner is None]
    leaves = [*[a.data for a in arguments], *[c.start for c in captures]]
    replay = Replay(trace, leaves, [results[i] for i in places], parents, places, captures)
    replay.numbers = [numbers.get(p) for p in parents]
    return replay if parents else None


def has_endless_loop(results):
    """Whether a loop without a known number of turns stands between `results` and what they depend on."""
    records = [r.record for r in results if isinstance(r, Value) and r.record is not None]
    return any([isinstance(r.op, Recurrence) and r.op.length is None for r in ancestors(records)])


class Replay:
    """The op of the calls of one trace, or of a derivative of it.

    leaves    the symbols whose arrays are kept for the way back
    outputs   values of the trace that have a history, and their `places` among all that is returned
    parents   the records outside of the trace that `outputs` depend on
    captures  what of the leaves is found outside, at the end of them
    numbers   for each of the parents, which argument it is, if it is one: another at each call
    """

    rules, name, algebra = None, "jit", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def __init__(self, trace, leaves, outputs, parents, places, captures=()):
        self._trace, self._leaves, self._outputs, self._parents = trace, leaves, outputs, parents
        self._places, self.numbers = places, [None] * len(parents)
        written = {id(c) for c in trace.changed()}
        self._sources = [(c.value, id(c) in written) for c in captures]
        self._derivatives, self._lock = {}, RLock()

    def kept(self, given):
        """What a call keeps: the arrays that it is `given`, and those outside; copies of those that it will write to."""
        return *given, *[value.data.copy() if is_written else value.data for value, is_written in self._sources]

    def link(self, values, kept, records):
        """Give those of the `values` returned by a call that have one their history; `records` are those of its arguments."""
        parents = tuple([p if n is None else records[n] for p, n in zip(self._parents, self.numbers, strict=True)])
        return self.linked(values, kept, parents)

    def linked(self, values, kept, parents):
        """As `link`, from the records of all parents."""
        record, count = Record().filled(self, parents, kept), len(self._places)
        for number, place in enumerate(self._places):
            values[place].record = Projection(record, number, count)
        return values

    def revived(self, record):
        """The record itself, whose parents the derivative will have as well."""
        return (record,)

    def function(self, g, needs, *saved):
        """The gradients of all parents from those of the outputs."""
        is_again = is_recording()
        record, kept = (saved[0], saved[0].saved) if is_again else (None, saved)
        seeds = [c for c in g if c is not None]
        if any([isinstance(c, Value) and c.is_traced for c in seeds]):
            raise GraphError("the result of a jitted function cannot be differentiated inside another one; pass it as an argument")
        key = tuple([c is not None for c in g]), needs, is_again
        with self._lock:
            if key not in self._derivatives:
                self._derivatives[key] = _Derivative(self, *key)
            return self._derivatives[key](kept, seeds, record)

    def pulled(self, is_given, needs, is_again):
        """In the trace: leaves for the cotangents of the outputs, and the gradients of the parents that need them."""
        outputs = [o for o, given in zip(self._outputs, is_given, strict=True) if given]
        targets = [p.algebra.kind(None, p) for p, needed in zip(self._parents, needs, strict=True) if needed]
        seeds = [Tensor(Symbol(None, (), o.shape, o.dtype)).requires_grad_(is_again) for o in outputs]
        with changed(tracer=self._trace):
            found = gradient(outputs, targets, seeds, create_graph=is_again, stops_at_targets=True)
            nodes = [self._trace.symbol(c) if isinstance(c, Value) else c for c in found]
        return seeds, found, nodes

    def program(self, seeds, nodes):
        """A program that computes `nodes` from what a call keeps and `seeds`; constants of the derivative are its state."""
        known = {id(leaf) for leaf in self._leaves}
        others = [c for c in self._trace.captured() if id(c.start) not in known]
        inputs = [*self._leaves, *[seed.data for seed in seeds]]
        program = new_program(inputs, [c.start for c in others], [n for n in nodes if isinstance(n, Symbol)], [])
        for place, capture in enumerate(others):
            program.bind(place, np.ascontiguousarray(capture.value.data))
        return program

    def again(self, seeds, found):
        """The `Replay` of gradients `found`, in which they can be differentiated again; None if nothing depends on anything."""
        places = [i for i, c in enumerate(found) if isinstance(c, Value) and c.record is not None]
        leaves = [*self._leaves, *[seed.data for seed in seeds]]
        parents = (*self._parents, *[seed.record for seed in seeds])
        return Replay(self._trace, leaves, [found[i] for i in places], parents, places) if places else None


class _Derivative:
    """The derivative of a `Replay` from the cotangents of some of its outputs, in some of its parents."""

    def __init__(self, replay, is_given, needs, is_again):
        self._needs = needs
        seeds, found, self._nodes = replay.pulled(is_given, needs, is_again)
        self._program = replay.program(seeds, self._nodes)
        self._replay = replay.again(seeds, found) if is_again else None

    def __call__(self, kept, seeds, record):
        data: list[Any] = [c.data if isinstance(c, Value) else c for c in seeds]
        given = *kept, *data
        results = iter(self._program([np.ascontiguousarray(a).reshape(a.shape) for a in given]))
        found: list[Any] = [next(results) if isinstance(n, Symbol) else n for n in self._nodes]
        if record is not None:
            found = [None if c is None else Tensor(np.asarray(c)) for c in found]
            if self._replay is not None:
                links = [c.record if isinstance(c, Value) else None for c in seeds]
                found = self._replay.linked(found, given, (*record.parents, *links))
        gradients = iter(found)
        return tuple([next(gradients) if needed else None for needed in self._needs])
