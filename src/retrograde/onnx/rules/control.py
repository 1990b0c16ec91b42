"""Branches and loops: their bodies are graphs, which see the values around them."""

import numpy as np

from ...core.value import Value
from ...errors import OnnxError, UnsupportedOnnxError
from ...ops.manipulation.joins import stack
from ...ops.manipulation.movements import flip, moveaxis
from ...transforms.loops import cond, while_loop
from ...transforms.scan import scan
from ..rule import rule
from ..values import is_computed, settled


def _is_traced(value):
    return isinstance(value, Value) and value.is_traced


@rule("If")
def _if(condition, /, *, then_branch, else_branch, context):
    if _is_traced(condition):
        found = cond(condition.reshape(()), lambda: tuple(context.run(then_branch, [])),
                     lambda: tuple(context.run(else_branch, [])))
        return tuple(found)
    chosen = then_branch if bool(np.asarray(condition).reshape(())) else else_branch
    return tuple(context.run(chosen, []))


@rule("Loop")
def _loop(most=None, condition=None, *carried, body, context):
    carried = list(carried)
    if _is_traced(condition) or _is_traced(most):
        return _traced_loop(most, condition, carried, body, context)
    most = None if most is None else int(np.asarray(most).reshape(()))
    goes_on, i, rows = condition is None or bool(np.asarray(condition).reshape(())), 0, []
    while goes_on and (most is None or i < most):
        after, *found = context.run(body, [np.array(i, np.int64), np.array(True) if condition is None else condition, *carried])
        if _is_traced(after):
            raise UnsupportedOnnxError("a loop with a number of iterations ends by a condition that is being traced; call the "
                                       "model outside of rg.jit")
        carried, last = found[:len(carried)], found[len(carried):]
        rows.append(last)
        condition, i = after, i + 1
        goes_on = bool(np.asarray(after).reshape(()))
    count = len(body.outputs) - 1 - len(carried)
    return (*carried, *[_stacked([row[k] for row in rows]) for k in range(count)])


def _stacked(rows):
    if not rows:
        raise UnsupportedOnnxError("a loop that stacks results ran no iteration, so that their shape is not known")
    return stack([settled(row) for row in rows], 0) if is_computed(rows[0].dtype) else np.stack(rows)


def _traced_loop(most, condition, carried, body, context):
    if len(body.outputs) - 1 > len(carried):
        raise UnsupportedOnnxError("a loop whose number of iterations is being traced stacks results, whose shape depends on it; "
                                   "call the model outside of rg.jit")

    def goes_on(state):
        i, holds, _ = state
        return holds if most is None else holds & (i < most)

    def step(state):
        i, holds, values = state
        after, *found = context.run(body, [i, holds, *values])
        return i + 1, after.reshape(()) if isinstance(after, Value) else np.asarray(after).reshape(()), tuple(found)

    most = None if most is None else most.reshape(())
    start = np.array(True) if condition is None else condition.reshape(())
    return tuple(while_loop(goes_on, step, (np.array(0, np.int64), start, tuple(carried)))[2])


@rule("Scan", since=9)
def _scan(*inputs, body, num_scan_inputs, scan_input_axes=None, scan_input_directions=None, scan_output_axes=None,
          scan_output_directions=None, context):
    states, rows = list(inputs[:len(inputs) - num_scan_inputs]), list(inputs[len(inputs) - num_scan_inputs:])
    axes = scan_input_axes or [0] * len(rows)
    backwards = scan_input_directions or [0] * len(rows)
    rows = [_turned(moveaxis(row, axis, 0), back) for row, axis, back in zip(rows, axes, backwards, strict=True)]
    if not rows:
        raise OnnxError("a Scan needs something to go along")

    def step(carry, row):
        found = context.run(body, [*carry, *row])
        return tuple(found[:len(states)]), tuple(found[len(states):])

    carry, stacked = scan(step, tuple(states), tuple(rows))
    axes = scan_output_axes or [0] * len(stacked)
    backwards = scan_output_directions or [0] * len(stacked)
    return (*carry, *[moveaxis(_turned(row, back), 0, axis) for row, axis, back in zip(stacked, axes, backwards, strict=True)])


@rule("Scan", since=8)
def _scan_of_batches(lengths=None, *inputs, body, num_scan_inputs, directions=None, context):
    """Version 8: with an axis for the examples before all others, each of which is gone along by itself."""
    if lengths is not None:
        raise UnsupportedOnnxError("a Scan of version 8 with lengths of sequences is not known here")
    found = [_scan(*[x[i] for x in inputs], body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions,
                   context=context)
             for i in range(inputs[0].shape[0])]
    return tuple([stack(parts, 0) for parts in zip(*found, strict=True)])


def _turned(x, is_backwards):
    return flip(x, 0) if is_backwards else x
