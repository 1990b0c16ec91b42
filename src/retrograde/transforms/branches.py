"""Branches in a trace: two functions, of which the compiled code runs one.

A branch is a loop of one iteration or none. The derivative is another choice: each function is traced again and walked back.
"""

from functools import partial

import numpy as np

from .. import tree
from ..compiler.graph.loop_op import Carry, Loop
from ..core.gradient import gradient
from ..core.mode import changed, current, enable_grad, is_recording, no_grad, remembered, rewound
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value, tick
from ..dtypes import is_float
from ..errors import TraceError
from ..ops._arrays import arrays
from ..ops.elementary.comparisons import logical_not
from ..ops.manipulation.movements import reshape
from ..ops.random.draws import Draws, unnoted
from ..tensor.creation import asarray
from .carry_checks import agreeing, dtype_of, is_plain, shape_of
from .checkpoint import outside


def traced_cond(tracer, predicate, true_function, false_function):
    """What the function gives that `predicate` chooses."""
    builders = []

    def flat(function):
        leaves, build = tree.flatten(function())
        builders.append(build)
        return leaves

    def agree(true, false):
        return map(tree.leaves, agreeing(builders[0](true), builders[1](false)))

    found = _chosen(tracer, predicate, [partial(flat, true_function), partial(flat, false_function)], agree)
    return builders[0](found)


def _chosen(tracer, predicate, functions, agree):
    """The list that the chosen of two functions gives; `agree` makes two lists agree. None in them stands for zeros."""
    start, past, draws = tick(), remembered(tracer), [Draws(), Draws()]
    traced = [_attempted(tracer, function, drawn) for function, drawn in zip(functions, draws, strict=True)]
    records = [[x.record for x in leaves if _has_record(x)] for leaves, _ in traced]
    parents = dict.fromkeys([parent for found in records for parent in outside(found, start)])
    pairs = list(zip(*agree(*[leaves for leaves, _ in traced]), strict=True))
    places = [i for i, pair in enumerate(pairs) if any([x is not None for x in pair])]
    is_linked = [any(map(_has_record, pairs[i])) for i in places]
    chosen = [([_filled(pairs[i], k) for i in places], traced[k][1]) for k in (0, 1)]
    if tracer.is_batch:
        values = _run_for_examples(tracer, predicate, functions, draws, places, [leaves for leaves, _ in chosen])
    else:
        with no_grad():
            values = _run(tracer, predicate, chosen)
    for i, value in zip(places, values, strict=True):
        tracer.note_kind(value, all([is_plain(tracer, x) for x in pairs[i]]))
    is_linked = [linked and is_float(v.dtype) for linked, v in zip(is_linked, values, strict=True)]
    if is_recording() and any(is_linked) and parents:
        call = _Choice(predicate.unlinked(), functions, tuple(parents), places, draws, past)
        values = _linked(values, Record().filled(call, tuple(parents), ()), is_linked)
    found: list = [None] * len(pairs)
    for i, value in zip(places, values, strict=True):
        found[i] = value
    return found


def _attempted(tracer, function, draws):
    """What a branch gives, and what tracing it has left."""
    with tracer.attempt() as attempt, unnoted() if tracer.is_batch else draws.recorded():
        leaves = function()
    if attempt.linked:
        raise TraceError("a branch cannot write to a tensor from outside what has a gradient; return it instead, or write within "
                         "rg.no_grad()")
    return leaves, attempt


def _linked(values, record, is_linked):
    """`values` with a history by `record`, those of them that have one."""
    return [arrays.made(v.raw, Projection(record, i, len(values))) if is_linked[i] else v for i, v in enumerate(values)]


def _has_record(x):
    return isinstance(x, Value) and x.record is not None


def _filled(pair, which):
    """One of a pair, or zeros in the shape of the other."""
    value, other = pair[which], pair[1 - which]
    return np.broadcast_to(np.zeros((), dtype_of(other)), shape_of(other)) if value is None else value


def _run(tracer, predicate, chosen):
    """The results of the chosen branch; what it writes to tensors from outside is written."""
    written = list({id(c): c for _, attempt in chosen for c in attempt.written}.values())
    nodes = [
        [*[tracer.symbol(x) if isinstance(x, Value) else np.asarray(x) for x in leaves],
         *[attempt.found.get(id(c), c.now) for c in written]]
        for leaves, attempt in chosen
    ]
    truth = reshape(predicate, ()).astype(bool)
    found = [np.broadcast_to(np.zeros((), n.dtype), n.shape) for n in nodes[0]]
    for outs, (_, attempt), is_chosen in zip(nodes, chosen, (truth, logical_not(truth)), strict=True):
        leaves = [Symbol(None, (), n.shape, n.dtype) for n in outs]
        carries = [Carry(*parts) for parts in zip(leaves, found, outs, strict=True)]
        loop = Loop(None, carries, [], [], count=tracer.symbol(is_chosen.astype("int64")), inside=attempt.nodes)
        found = [loop.final(i) for i in range(len(carries))]
    split = len(found) - len(written)
    for capture, final in zip(written, found[split:], strict=True):
        capture.now = final
    return [arrays.made(node) for node in found[:split]]


def _run_for_examples(batch, predicate, functions, draws, places, likes):
    """As `_run`, for all examples of a batch: by a choice around the vmap. `likes` are what the functions gave when they were
    tried; `draws` note what they draw when they are called for good.
    """
    differs = [any([isinstance(x, Value) and batch.held(x)[1] for x in pair]) for pair in zip(*likes, strict=True)]
    notes = list(draws)

    def of_all(which):
        drawn, notes[which] = notes[which], Draws()  # whoever calls again, to walk back, does not draw anew
        with changed(tracer=batch), drawn.recorded():
            leaves = functions[which]()
        found = [leaves[i] for i in places]
        found = [x if isinstance(x, Value) else asarray(y if x is None else np.asarray(x, dtype_of(y)))
                 for x, y in zip(found, likes[which], strict=True)]
        return [batch.spread(*pair) for pair in zip(found, differs, strict=True)]

    chosen = batch.held(predicate)[0]
    with batch.around():
        found = traced_cond(batch.outer, chosen, partial(of_all, 0), partial(of_all, 1))
    return [batch.standing(asarray(x), d) for x, d in zip(found, differs, strict=True)]


class _Choice:
    """The op of one choice: its rule makes the same choice between the derivatives of both functions."""

    rules, name, algebra = None, "cond", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def __init__(self, predicate, functions, parents, places, draws, past):
        self._predicate, self._functions, self._past = predicate, functions, past
        self._parents, self._places, self._draws = parents, places, draws

    def revived(self, record):
        """Nothing is saved: the functions are traced again."""
        return record.saved

    def function(self, g, needs):
        """The gradients of all that the functions depend on from those of their results."""
        is_again = is_recording()
        pulled = [partial(self._pulled, *pair, g, needs, is_again) for pair in zip(self._functions, self._draws, strict=True)]
        found = iter(_chosen(current().tracer, self._predicate, pulled, lambda *lists: lists))
        return tuple([next(found) if needed else None for needed in needs])

    def _pulled(self, function, draws, g, needs, is_again):
        # What the function reads may have been written to since: it reads what was there when it was called for the first time.
        with enable_grad(), draws.replayed(), rewound(self._past):
            outputs = function()
        pairs = [(outputs[i], c) for i, c in zip(self._places, g, strict=True)
                 if c is not None and isinstance(outputs[i], Value) and outputs[i].record is not None]
        targets = [p.algebra.made(None, p) for p, needed in zip(self._parents, needs, strict=True) if needed]
        if not pairs:
            return [None] * len(targets)
        return gradient([o for o, _ in pairs], targets, [c for _, c in pairs], create_graph=is_again, stops_at_targets=True)
