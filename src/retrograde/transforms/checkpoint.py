"""Checkpointing: what a part of the forward pass would keep is computed again in the backward pass."""

from contextlib import ExitStack
from typing import Any

from .. import tree
from ..core.gradient import gradient
from ..core.graph import ancestors
from ..core.mode import ORDINARY, changed, current, is_lazy, is_recording, remembered, rewound
from ..core.value import Projection, Record, Value, tick
from ..dtypes import is_float
from ..ops.elementary.conversions import after
from ..ops.manipulation.movements import reshape, shrink
from ..ops.random.draws import Draws
from .plain import check_function, wrapping


def checkpoint(function, *args, **kwargs):
    """`function(*args, **kwargs)`, of which only inputs and outputs are kept until the backward pass.

    Saves memory for the time of a second forward pass, in which random numbers are drawn as in the first. Parameters and
    other tensors that `function` uses from outside receive their gradients as well. Called with the function alone, it
    returns the checkpointed function.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> rg.checkpoint(lambda x: rg.sin(x) ** 2, x).sum().backward()
    """
    if not args and not kwargs:
        return wrapping(function)(lambda *args, **kwargs: _run(function, args, kwargs))
    check_function(function)
    return _run(function, args, kwargs)


def _run(function, args, kwargs):
    if not is_recording() or is_lazy():  # lazy values keep nothing until they are computed
        return function(*args, **kwargs)
    start, draws, mode = tick(), Draws(), current()
    past = None if mode is None else remembered(mode.tracer)
    with changed(keeps_arrays=False), draws.recorded():
        outputs, build = tree.flatten(function(*args, **kwargs))
    places = [i for i, o in enumerate(outputs) if isinstance(o, Value) and o.record is not None]
    if not places:
        return build(outputs)
    inputs, build_inputs = tree.flatten((args, kwargs))
    parents = outside([outputs[i].record for i in places], start)
    call = _Segment(function, inputs, build_inputs, parents, places, draws, past, ORDINARY if mode is None else mode)
    record = Record().filled(call, parents, tuple([x.raw if isinstance(x, Value) else None for x in inputs]))
    for number, i in enumerate(places):
        data, algebra, kind = outputs[i].raw, outputs[i].algebra, outputs[i].kind
        call.algebra = algebra
        outputs[i] = algebra.made(data, Projection(record, number, len(places)), kind)
    return build(outputs)


def outside(records, start):
    """The records made before `start` that `records` depend on directly: where the checkpointed part begins."""
    inside = {record for record in ancestors(records, start) if record.order >= start}
    found = dict.fromkeys(
        parent for record in sorted(inside, key=lambda r: r.order) for parent in record.parents
        if parent is not None and parent not in inside
    )
    return (*found, *(r for r in records if r not in inside and r not in found))


class _Segment:
    """The op of one checkpointed call: its joint rule runs the function again and walks back through it."""

    rules, name = None, "checkpoint"
    algebra: Any = None

    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def __init__(self, function, inputs, build, parents, places, draws, past, mode):
        self._function, self._build, self._parents, self._places = function, build, parents, places
        self._draws, self._past, self._settles, self._within, self._ran = draws, past, mode.settles, mode.within, tick()
        self._constants = [None if isinstance(x, Value) else x for x in inputs]
        self._links = [(x.algebra, x.record) if isinstance(x, Value) else None for x in inputs]

    def revived(self, record):
        """What was saved; the values are linked to the graph in `function`."""
        return record.saved

    def function(self, g, needs, *saved):
        """The gradients of all parents from those of the outputs."""
        is_differentiable_again = is_recording()
        again = changed(records=True, repeats=(self.name, self._ran, tick()), settles=self._settles, within=self._within)
        with again, self._draws.replayed(), rewound(self._past), ExitStack() as around:
            for entered in self._within:
                around.enter_context(entered())
            args, kwargs = self._build(_put_off([
                constant if link is None else link[0].kind(data, link[1])
                for constant, link, data in zip(self._constants, self._links, saved, strict=True)
            ], g))
            outputs = tree.leaves(self._function(*args, **kwargs))
        pairs = [(outputs[i], c) for i, c in zip(self._places, g, strict=True) if c is not None]
        targets = [parent.algebra.made(None, parent) for parent, needed in zip(self._parents, needs, strict=True) if needed]
        found = iter(gradient([o for o, _ in pairs], targets, [c for _, c in pairs], create_graph=is_differentiable_again,
                              stops_at_targets=True))
        return tuple([next(found) if needed else None for needed in needs])


def _put_off(inputs, g):
    """The inputs of a second forward pass; in a trace, those that wait for the cotangents `g`: else what is computed from them
    would be the same as in the first pass, which the compiler would keep.
    """
    known = [c for c in g if isinstance(c, Value) and c.is_traced and c.size]
    if not known or is_lazy():
        return inputs
    token = reshape(shrink(known[0], [(0, 1)] * known[0].ndim), ())
    floats = [x for x in inputs if isinstance(x, Value) and x.algebra is token.algebra and is_float(x.dtype)]
    # What the step is handed is there anyway, such as weights; it need not wait where something else does.
    waiting = [x for x in floats if x.is_traced and x.raw.op is not None] or floats
    return [after(x, token.astype(x.dtype)) if any(x is w for w in waiting) else x for x in inputs]
