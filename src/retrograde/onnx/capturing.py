"""Capturing: a function as a graph of ops, traced as `rg.jit` traces it, with what it is handed and what it finds outside."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tree
from ..compiler.trace.trace import Trace
from ..core.mode import changed
from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import ArgumentError, UnsupportedOnnxError
from ..ops._arrays import arrays
from ..ops.random.draws import State, unnoted
from ..tensor.boxes import gathered
from ..tensor.shown import shown
from ..transforms.loop_tracing import traced_scan
from ..transforms.plain import numbers_kept


@dataclass
class Captured:
    """What a function computes.

    inputs    the symbols of its arguments that are arrays
    outputs   the symbols of its results, or arrays
    captures  {symbol: tensor from outside}
    made      {symbol: array that the function makes of numbers alone}
    """

    inputs: list
    outputs: list
    captures: dict[Any, Any]
    made: dict[Any, Any]


def is_array(leaf):
    """Whether an argument is an array or a tensor, and so an input."""
    return isinstance(leaf, (Value, np.ndarray))


def captured(function, arguments, shapes):
    """What `function` computes of `arguments`, a tuple, if those of them that are arrays had `shapes`."""
    leaves, build = tree.flatten(arguments)
    trace, inputs, shapes = Trace(), [], iter(shapes)
    trace.scan, trace.shown = traced_scan, shown
    for leaf in leaves:
        made = leaf
        if is_array(leaf):
            made = arrays.made(Symbol(None, (), next(shapes), leaf.dtype), None, getattr(leaf, "kind", None))
            trace.born(made)
        inputs.append(made)
    symbols = [x.raw for x, leaf in zip(inputs, leaves, strict=True) if is_array(leaf)]
    trace.plain.update({x.raw: not isinstance(leaf, Value) for x, leaf in zip(inputs, leaves, strict=True) if is_array(leaf)})
    try:
        with changed(tracer=trace, keeps_arrays=True, records=False), unnoted():
            returned = tree.map(gathered, numbers_kept(function, build(inputs), {}))
            outputs = [trace.symbol(r) if isinstance(r, Value) else np.asarray(r) for r in tree.leaves(returned)]
            _check(trace, symbols, inputs, leaves)
        made = {c.start: trace.created(c.start) for c in trace.captured()}
        captures = {c.start: c.value for c in trace.captured() if made[c.start] is None}
    except BaseException:
        trace.fail()
        raise
    finally:
        trace.restore()
    if not outputs:
        raise ArgumentError("an exported function must return something")
    return Captured(symbols, outputs, captures, {symbol: array for symbol, array in made.items() if array is not None})


def _check(trace, symbols, inputs, leaves):
    """Raise unless the function only computes: a model in ONNX has no state."""
    for capture in trace.changed():
        what = "draws random numbers" if isinstance(capture.value, State) else f"writes to a tensor of shape {capture.value.shape}"
        raise UnsupportedOnnxError(f"the function {what}, and a model in ONNX keeps no state; export what only computes, such as a "
                                   "module in eval() mode")
    now = [x.raw for x, leaf in zip(inputs, leaves, strict=True) if is_array(leaf)]
    if any(a is not b for a, b in zip(now, symbols, strict=True)):
        raise UnsupportedOnnxError("the function writes to an argument, and a model in ONNX keeps no state; return what it "
                                   "computes")
