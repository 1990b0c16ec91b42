"""Loops, and branches, which are loops of one iteration or none."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import Builder, emits
from ..library import element_type, onnx
from ..nodes import Node, ordered


@emits("loop")
def _loop(e, node, starts, stacks, captured, count):
    body = node.body
    carried, rows, stacked = body.counts
    inner = Builder(e.sizes, e)
    i, before = inner.fresh("iteration"), inner.fresh("condition")
    inputs = [_info(i, np.int64, ()), _info(before, np.bool_, ())]
    leaves = iter(body.leaves)
    for _ in range(carried):
        leaf = next(leaves)
        inner.names[leaf] = inner.fresh("carried")
        inputs.append(_info(inner.names[leaf], leaf.dtype, leaf.shape))
    for k in range(rows):
        inner.names[next(leaves)] = _row(inner, e(stacks[k]), i, body.starts[k], body)
    _hand_in(inner, e, list(leaves), captured)
    inner.emit(ordered(body.outputs))
    outs = [inner.add("Identity", [inner(o, leaf.dtype)]) for o, leaf in zip(body.outputs[:carried], body.leaves, strict=False)]
    made = body.outputs[carried:carried + stacked]
    rows_made = [inner.add("Identity", [inner(o)]) for o in made]
    # The histories of what is carried are stacked too.
    histories = [k for kind, k in body.results if kind == "history"]
    kept = [inner.add("Identity", [outs[k]]) for k in histories]
    after = inner.add("Identity", [inner(body.outputs[-1], np.bool_)]) if body.has_condition else inner.add("Identity", [before])
    results = [after, *outs, *rows_made, *kept]
    specs = [(np.bool_, ()), *[(leaf.dtype, leaf.shape) for leaf in body.leaves[:carried]], *[(o.dtype, o.shape) for o in made],
             *[(body.leaves[k].dtype, body.leaves[k].shape) for k in histories]]
    graph = onnx().helper.make_graph(inner.nodes, inner.fresh("body"), inputs,
                                     [_info(n, *s) for n, s in zip(results, specs, strict=True)])
    most = e.scalar(body.length) if count is None else e.add("Reshape", [e(count, np.int64), e.constant(np.zeros(0, np.int64))])
    begin = [e(start, leaf.dtype) for start, leaf in zip(starts, body.leaves, strict=False)]
    names = e.add("Loop", [most, e.constant(np.array(True)), *begin], len(results) - 1, body=graph)
    return _results(e, body, names, begin, histories)


def _info(name, dtype, shape):
    return onnx().helper.make_tensor_value_info(name, element_type(dtype), [n if isinstance(n, int) else None for n in shape])


def _row(inner, stack, i, first, body):
    """The row of a stack that an iteration is handed."""
    place = i
    if body.reverse:
        place = inner.add("Sub", [inner.scalar(body.length), inner.add("Add", [i, inner.scalar(1)])])
    if first:
        place = inner.add("Add", [place, inner.scalar(first)])
    return inner.add("Gather", [stack, place], axis=0)


def _hand_in(inner, e, leaves, captured):
    """Let the leaves of what is captured have its names. Uniform constants stand in the body itself, and have no leaf."""
    values = captured if len(leaves) == len(captured) else [c for c in captured if isinstance(c, Node)]
    if len(leaves) != len(values):
        raise UnsupportedOnnxError("a loop captures a constant in a way that is not exported; hand it in as an argument")
    for leaf, value in zip(leaves, values, strict=True):
        inner.names[leaf] = e(value, leaf.dtype)


def _results(e, body, names, begin, histories):
    carried, _, stacked = body.counts
    found = []
    for kind, key in body.results:
        if kind == "final":
            found.append(names[key])
        elif kind == "stack":
            found.append(_turned(e, names[carried + key], body))
        else:
            rows = names[carried + stacked + histories.index(key)]
            first = e.add("Unsqueeze", [begin[key], e.constant(np.zeros(1, np.int64))])
            found.append(_turned(e, e.add("Concat", [first, rows], axis=0), body))
    return tuple(found)


def _turned(e, name, body):
    """Rows from the last to the first, where the loop went that way."""
    if not body.reverse:
        return name
    parts = ([-1], [-np.iinfo(np.int64).max], [0], [-1])
    return e.add("Slice", [name, *[e.constant(np.array(p, np.int64)) for p in parts]])
