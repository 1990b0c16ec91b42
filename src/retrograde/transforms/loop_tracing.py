"""Loops in a trace: bodies are called once, on values that stand for what is another array in each iteration."""

from typing import Any

import numpy as np

from .. import tree
from ..compiler.graph.loop_op import Rows
from ..core.mode import no_grad, remembered
from ..core.value import Value, tick
from ..errors import TraceError
from ..ops._arrays import arrays
from ..ops.elementary.comparisons import where
from ..ops.random.draws import State, begun, unnoted
from ..tensor.creation import asarray
from .batched_loop import Body
from .carry_checks import check_carry, checked_pair, dtype_of, is_number, is_plain, settled, shape_of, truth, writable
from .recurrence import Carried, Recurrence

#: How often a body is traced at most: each time what it writes to is known better, of which there is little.
_ATTEMPTS = 60
#: More steps than any loop takes.
_ENDLESS = 1 << 62


def traced_scan(tracer, f, init, leaves, build, count, reverse, is_checkpoint=False):
    """`scan` in a trace; with `is_checkpoint`, the backward pass keeps only what is carried."""
    def run(call, starts):
        loop = recorded(tracer, call, starts, leaves, count, reverse, is_checkpoint)
        return loop.finals[: len(starts)], loop.stacked

    return flattened(tracer, f, init, leaves, build, run)


def flattened(tracer, f, init, leaves, build, run):
    """What a scan gives: the trees made of the lists that `run(call, starts)` gives, whose `call` takes and gives lists, too."""
    starts, build_carry = tree.flatten(init)
    starts = settled_starts(tracer, f, starts, build_carry, leaves, build)
    rebuild: Any = None

    def call(carried, rows):
        nonlocal rebuild
        carry, y = checked_pair(f(build_carry(carried), build(rows)))
        check_carry(build_carry(starts), carry)
        ys, rebuild = tree.flatten(y)
        return tree.leaves(carry), ys

    finals, stacked = run(call, starts)
    return build_carry(finals), rebuild(stacked)


def settled_starts(tracer, f, starts, build_carry, leaves, build):
    """The carry at the start; numbers of Python's as tensors of the dtype that the body makes of them."""
    if not any(map(is_number, starts)):
        return starts
    with tracer.attempt(), unnoted():
        carried = [x if is_number(x) else writable(tracer.blank(shape_of(x), dtype_of(x))) for x in starts]
        rows = [writable(tracer.blank(x.shape[1:], x.dtype)) for x in leaves]
        after = tree.leaves(checked_pair(f(build_carry(carried), build(rows)))[0])
    return list(map(settled, starts, after)) if len(after) == len(starts) else starts


def traced_while(tracer, condition, body, init):
    """`while_loop` in a trace."""
    starts, build, call, goes_on = flat_while(tracer, condition, body, init)
    with no_grad():
        count = where(goes_on, np.int64(_ENDLESS), np.int64(0))
    def run(call, starts):
        past = remembered(tracer)
        loop = recorded(tracer, call, starts, [], None, False, False, tracer.symbol(count))
        loop.again, loop.past = run, past
        return loop.finals[: len(starts)]

    return build(run(call, starts))


def flat_while(tracer, condition, body, init):
    """What a `while_loop` starts with as a list, what makes a carry of such a list, the function of an iteration, which gives the
    list that is carried on and whether there is another iteration, and whether there is a first one.
    """
    starts, build = tree.flatten(init)
    starts = settled_starts(tracer, lambda carry, _: (body(carry), None), starts, build, [], list)

    def call(carried, _):
        carry = body(build(carried))
        check_carry(build(starts), carry)
        return tree.leaves(carry), [truth(condition(carry))]

    return starts, build, call, truth(condition(build([asarray(x) for x in starts])))


def recorded(tracer, call, starts, leaves, length, reverse, is_checkpoint, count=None):
    """The loop of a body: `call(carried, rows)` returns what is carried on, and what is stacked.

    What the body writes to tensors from outside, such as the state of a generator, is carried along as well. What starts as an
    array is one as long as the body makes arrays of it, as it is outside of a trace.
    """
    made = Recurrence(tracer, length, reverse, is_checkpoint, count=count)
    past, starts = remembered(tracer), [_as_it_is(tracer, x) for x in starts]
    stacks = [_as_it_is(tracer, x) if isinstance(x, Value) else np.ascontiguousarray(x) for x in leaves]
    attempt, outs, kinds = _settled(tracer, made, call, starts, stacks)
    written = attempt.written
    for carried, out in zip(made.carries, outs, strict=True):
        carried.out = out
    states = [_begun(c.value, now) for c, (now, _, _) in zip(written, attempt.states, strict=True)]
    made.carries += [Carried(None if now.record is None else now, made.node(now), leaf, out)
                     for (now, _), (_, leaf, out) in zip(states, attempt.states, strict=True)]
    made.finish(made.close([(leaf.raw, Rows(made.node(x), 0)) for leaf, x in made.handed]))
    made.link()
    _note_kinds(tracer, made.finals[: len(starts)], kinds)
    _note_kinds(tracer, made.stacked, [is_plain(tracer, y) for y in made.made[: len(made.stacked)]])
    for capture, final, (_, moves) in zip(written, made.finals[len(starts) :], states, strict=True):
        capture.now = final.raw if moves else capture.now
        if id(capture) in attempt.linked:
            capture.value.record = final.record
    made.body = Body(call, starts, stacks, [c.value for c in written], past)
    return made


def _as_it_is(tracer, x):
    """A value with what it holds and its history now: the derivative reads it after the function may have written to `x`."""
    return arrays.made(tracer.symbol(x), x.record) if isinstance(x, Value) else x


def _settled(tracer, made, call, starts, stacks):
    """Record the body until it is known what it writes to, and what stays an array: the last attempt, what is carried on, and
    whether each of that is an array.
    """
    written, linked = [], {}
    kinds = [is_plain(tracer, x) for x in starts]
    for _ in range(_ATTEMPTS):
        start = tick()
        made.carries = [Carried(x, made.node(x), tracer.blank(shape_of(x), dtype_of(x))) for x in starts]
        made.handed = [(tracer.blank(x.shape[1:], x.dtype), x) for x in stacks]
        tracer.plain.update({c.leaf.raw: kind for c, kind in zip(made.carries, kinds, strict=True)})
        tracer.plain.update({leaf.raw: is_plain(tracer, x) for leaf, x in made.handed})
        with tracer.attempt(written, linked) as attempt, unnoted():
            outs, made.made = call([writable(c.leaf) for c in made.carries], [writable(leaf) for leaf, _ in made.handed])
            # A view follows its base when it is read: here, since what that takes is part of the body.
            for x in filter(_is_value, (*outs, *made.made)):
                _ = x.record
        before, kinds = kinds, [kind and is_plain(tracer, x) for kind, x in zip(kinds, outs, strict=True)]
        if len(attempt.written) == len(written) and len(attempt.linked) == len(linked) and kinds == before:
            made.windows = [(start, tick())]
            return attempt, outs, kinds
        written, linked = attempt.written, attempt.linked
    raise TraceError(f"what the body of a loop writes to is another tensor each time that it is traced, {_ATTEMPTS} times; write "
                     "to tensors that are there before the loop, or carry along what changes")


def _is_value(x):
    return isinstance(x, Value)


def _begun(value, now):
    """(what a tensor from outside holds as the loop begins, whether it holds something else after it)."""
    return begun(now) if isinstance(value, State) else (now, True)


def _note_kinds(tracer, values, kinds):
    """Let `values` stand for arrays where `kinds` says so, and else for tensors."""
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(value, Value):
            tracer.note_kind(value, kind)
