"""Replay: the history of what a jitted function returns. On the way back the function is computed again, together with its
derivative, by one compiled program; so a call keeps no more than what it was handed.
"""

from typing import Any

import numpy as np

from ..compiler.backends import new_program
from ..compiler.calls.overlaps import lies_otherwise, meets_itself
from ..core import writes
from ..core.gradient import gradient
from ..core.graph import ancestors
from ..core.mode import changed, current, is_recording
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value
from ..errors import GraphError
from ..once import forkable
from ..ops._arrays import arrays
from ..precision import is_current
from ..tensor.lazy import settle
from ..tensor.tensor import Tensor
from .checkpoint import outside
from .recurrence import Recurrence


def replay_of(trace, symbols, arguments, results, start):
    """The `Replay` of a trace whose own records begin at the time `start`; `symbols` are what its `arguments` were at first. None
    if none of its `results` has a history that a caller can walk back.
    """
    places = [i for i, r in enumerate(results) if is_live(r)]
    parents = outside([results[i].record for i in places], start)
    if not parents or not {c.record for c in trace.changed()}.isdisjoint(parents):
        return None
    captures, numbers = trace.captured(), {a.record: n for n, a in enumerate(arguments) if a.record is not None}
    leaves = [*symbols, *[c.start for c in captures]]
    replay = Replay(trace, leaves, [results[i] for i in places], places, parents, captures, [numbers.get(p) for p in parents])
    replay.copies_arguments = any([a.raw is not symbol for a, symbol in zip(arguments, symbols, strict=True)])
    return replay


def is_live(result):
    """Whether a result has a history that no `backward` has used up."""
    return isinstance(result, Value) and result.record is not None and result.record.saved is not None


def has_endless_loop(results):
    """Whether a loop without a known number of iterations stands between `results` and what they depend on."""
    records = [r.record for r in results if isinstance(r, Value) and r.record is not None]
    return any([isinstance(r.op, Recurrence) and r.op.length is None for r in ancestors(records)])


class Replay:
    """The op of the calls of one trace, or of a derivative of it.

    leaves    the symbols whose arrays are kept for the way back
    outputs   values of the trace that have a history, and their `places` among all that is returned
    parents   the records that `outputs` depend on
    captures  what is found outside, whose symbols are the last of the leaves
    numbers   for each of the parents, which argument it is the record of, if it is one: another at each call
    """

    rules, name, algebra = None, "jit", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)
    #: Whether calls write to their arguments.
    copies_arguments = False

    def __init__(self, trace, leaves, outputs, places, parents, captures, numbers):
        self._trace, self._leaves, self._outputs, self._places = trace, leaves, outputs, places
        self._parents, self._numbers = parents, numbers
        changing = {id(c.value) for c in trace.changed()} | {id(value) for value, _ in trace.numbers}
        self._sources = [(c, c.owner is not None or id(c.value) in changing) for c in captures]
        self._derivatives, self._lock = {}, forkable()

    @property
    def reaches_arguments(self):
        """Whether the history leads to an argument."""
        return any([number is not None for number in self._numbers])

    def kept(self, given):
        """What a call keeps: the arrays that it is `given`, and those outside; copies of those that calls write to."""
        given = [array.copy() for array in given] if self.copies_arguments else given
        return *given, *[
            (c.value if c.owner is None else c.owner.grad).raw.copy() if changes else c.value.raw for c, changes in self._sources
        ]

    def link(self, values, kept, records):
        """Give those of the `values` returned by a call that have one their history; `records` are those of its arguments."""
        parents = zip(self._parents, self._numbers, strict=True)
        self.linked(values, kept, tuple([p if number is None else records[number] for p, number in parents]))

    def linked(self, values, kept, parents):
        """As `link`, from the records of all parents."""
        mode = current()
        saved = kept if mode is None or mode.keeps_arrays else None
        record, count = _Call().filled(self, parents, saved), len(self._places)
        if saved is not None:
            writes.keep(record, saved[:len(saved) - len(self._sources)])
        for number, place in enumerate(self._places):
            values[place].record = _Result(record, number, count)

    def quick_link(self):
        """`link` for the only result of calls that write nothing and whose arguments have no history."""
        parents, others = self._parents, self.kept(())

        def link(value, given):
            record = _Call().filled(self, parents, given + others)
            writes.keep(record, given)
            value.record = _Result(record, 0, 1)
            return value

        return link

    def revived(self, record):
        """The record itself, whose parents the derivative will have as well."""
        return (record,)

    def function(self, g, needs, *saved):
        """The gradients of all parents from those of the outputs."""
        is_again = is_recording()
        record, kept = (saved[0], saved[0].saved) if is_again else (None, saved)
        seeds = [c for c in g if c is not None]
        settle(seeds)
        if any([isinstance(c, Value) and c.is_traced for c in seeds]):
            raise GraphError("a function that is traced cannot walk back through what a jitted function has returned outside of "
                             "it; hand it that as an argument, or detach it")
        key = tuple([c is not None for c in g]), needs, is_again
        with self._lock:
            derivative = self._derivatives.get(key)
            if derivative is None or not is_current(derivative.precision):
                derivative = self._derivatives[key] = self._derivative(*key)
            found = iter(derivative(kept, seeds, record))
        return tuple([next(found) if needed else None for needed in needs])

    def _derivative(self, is_given, needs, is_again):
        """The derivative from the cotangents of some of the outputs, in some of the parents."""
        trace = self._trace
        outputs = [o for o, given in zip(self._outputs, is_given, strict=True) if given]
        targets = [p.algebra.made(None, p) for p, needed in zip(self._parents, needs, strict=True) if needed]
        seeds = [Tensor(Symbol(None, (), o.shape, o.dtype)).requires_grad_(is_again) for o in outputs]
        with changed(tracer=trace, keeps_arrays=True, finds_anomalies=False):
            found = gradient(outputs, targets, seeds, create_graph=is_again, stops_at_targets=True)
            nodes = [trace.symbol(c) if isinstance(c, Value) else c for c in found]
        leaves = [*self._leaves, *[seed.raw for seed in seeds]]
        return _Derivative(_program(trace, leaves, nodes), nodes, self._again(leaves, seeds, found) if is_again else None)

    def _again(self, leaves, seeds, found):
        """The history of the gradients `found`; None if they have none."""
        places = [i for i, c in enumerate(found) if is_live(c)]
        parents = (*self._parents, *[seed.record for seed in seeds])
        outputs = [found[i] for i in places]
        return Replay(self._trace, leaves, outputs, places, parents, (), [None] * len(parents)) if places else None


def _program(trace, leaves, nodes):
    """A program that computes `nodes` from `leaves`; constants that the derivative made are its state."""
    known = {id(leaf) for leaf in leaves}
    constants = [c for c in trace.captured() if id(c.start) not in known]
    program = new_program(leaves, [c.start for c in constants], [n for n in nodes if isinstance(n, Symbol)], [])
    for place, capture in enumerate(constants):
        program.bind(place, np.ascontiguousarray(capture.value.raw))
    return program


class _Call(Record):
    """The record of a call, which keeps its arguments: copies of those that are written to before its way back."""

    __slots__ = ("__weakref__",)


class _Result(Projection):
    """The record of what a jitted function has returned."""

    __slots__ = ()
    lends_data = True


class _Derivative:
    """A derivative of a `Replay`: the program, the nodes of the gradients, and the `Replay` of these if they have a history."""

    def __init__(self, program, nodes, replay):
        self._program, self._nodes, self._replay, self.precision = program, nodes, replay, program.precision

    def __call__(self, kept, seeds, record):
        """The gradients, from what a call kept and the cotangents of its outputs; as values if its `record` is given."""
        given = *kept, *[c.raw if isinstance(c, Value) else c for c in seeds]
        results = iter(self._program([np.ascontiguousarray(a).reshape(a.shape) for a in given]))
        found: list[Any] = [next(results) if isinstance(n, Symbol) else n for n in self._nodes]
        if record is None:
            return found
        found = [None if c is None else Tensor(np.asarray(c)) for c in found]
        if self._replay is not None:
            links = [c.record if isinstance(c, Value) else None for c in seeds]
            self._replay.linked(found, given, (*record.parents, *links))
        return found


def must_run_eagerly(trace, arguments, results, replay, written):
    """Whether an argument has received a gradient, or what has a history in the arguments cannot be walked back to them: there is a
    loop whose iterations nobody counts, something on the way is written to, or there are effects, which would happen again. Or
    memory meets itself, or lies otherwise than a reshape must know.
    """
    if meets_itself(trace) or lies_otherwise(trace):
        return True
    if any([trace.has_gradient(a) for a in arguments]) or (replay is not None and trace.world.is_touched):
        return True
    if replay is None:
        return any([a.record is not None for a in arguments]) and any(map(is_live, results))
    return replay.reaches_arguments and (bool(written) or has_endless_loop(results))
