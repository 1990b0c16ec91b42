"""Recurrent layers among the loops of a graph: those whose body is a step that an operator of ONNX's does become that operator."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..nn.cells import NONLINEARITIES, gru_step, lstm_step, rnn_step
from ..tensor.tensor import Tensor
from ..transforms.scan import scan
from .capturing import captured
from .nodes import RESULT, Lowering, Node, changed_args, ordered

#: The name of the node of a layer.
LAYER = "recurrent layer"


class Layer(NamedTuple):
    """An operator of ONNX's, and the step of ours that it does.

    gates   the number of each of our gates, in ONNX's order
    states  how many states there are
    biased  whether the step adds a bias of its own, beside that of what the inputs add
    """

    operator: str
    step: Callable
    gates: tuple
    states: int
    biased: bool
    attributes: dict


LAYERS = (
    Layer("LSTM", lstm_step, (0, 3, 1, 2), 2, False, {}),
    Layer("GRU", gru_step, (1, 0, 2), 1, True, {"linear_before_reset": 1}),
    Layer("GRU", gru_step, (1, 0, 2), 1, False, {"linear_before_reset": 1}),
    *[Layer("RNN", partial(rnn_step, nonlinearity=function), (0,), 1, False, {"activations": [name.capitalize()]})
      for name, function in NONLINEARITIES.items()],
)


def find_layers(outputs, known):
    """Let loops among what `outputs` depend on be layers, where they are; `known` are the ops that are written as they are."""
    nodes = ordered(outputs)
    for node in nodes:
        if node.name == "loop" and (number := _layer_of(node, known)) is not None:
            _become(node, number, [n for n in nodes if node in n.inputs], outputs)


def _layer_of(loop, known):
    """The number of the layer that a loop is; None if it is none."""
    body = loop.body
    _, stacks, held, count = loop.args
    if count is not None or body.has_condition or body.counts[1:] != (1, 0) or body.starts != [0] or not _is_linear(stacks[0]):
        return None
    if not (held and _is_transposed(held[0])) or len(body.leaves) != body.counts[0] + 1 + len(held):
        return None
    (size, width), text = held[0].shape, _told(body)
    fitting = [k for k, layer in enumerate(LAYERS) if len(layer.gates) * size == width == stacks[0].shape[2]]
    return next((k for k in fitting if text == _step_told(k, size, frozenset(known))), None)


def _is_linear(node):
    """Whether a node is a product of inputs of several steps with a weight, in the precision that runtimes have layers for."""
    return isinstance(node, Node) and node.name == "linear" and node.dtype == np.float32 and len(node.shape) == 3 and all(
        isinstance(a, Node) and a.dtype == np.float32 for a in node.args[:2])


def _is_transposed(node):
    return isinstance(node, Node) and node.name == "transpose" and node.args[1:] == (-2, -1) and len(node.shape) == 2


def _told(body):
    """What a body computes, in a form that can be compared; sizes of values are left out."""
    numbers: dict[Any, int] = {}
    for leaf in body.leaves:
        numbers[leaf] = len(numbers)
    rows = []
    for node in ordered(body.outputs):
        if node not in numbers:
            numbers[node] = len(numbers)
            args = changed_args(node.args, lambda a: numbers[a] if isinstance(a, Node) else f"={a!r}")
            rows.append((node.name, node.dtype.name, args))
    return rows, [numbers.get(o) for o in body.outputs], body.counts, len(body.leaves)


@cache
def _step_told(number, size, known):
    """What the body of a loop of a layer computes, as `_told` does."""
    layer, batch = LAYERS[number], 2
    width = len(layer.gates) * size

    def walked(rows, weight, bias, *start):
        return scan(lambda carry, row: ((after := layer.step(carry, row, weight.T, bias)), after[0]), start, rows)[1]

    shapes = [(3, batch, width), (size, width), *([(width,)] if layer.biased else []), *[(batch, size)] * layer.states]
    arrays = [Tensor(np.zeros(shape, np.float32)) for shape in shapes]
    function = walked if layer.biased else lambda rows, weight, *start: walked(rows, weight, None, *start)
    found = captured(function, tuple(arrays), shapes)
    lowering = Lowering(known)
    for i, symbol in enumerate(found.inputs):
        lowering.leaf(symbol, "input", i)
    loops = [node for node in ordered(lowering.nodes(found.outputs)) if node.name == "loop"]
    return _told(loops[0].body) if len(loops) == 1 else None


def _become(loop, number, users, outputs):
    """Let a loop be a layer, which gives the last states and the outputs of all steps, unless something uses another result."""
    layer, body = LAYERS[number], loop.body
    starts, stacks, held, _ = loop.args
    lasts, rows = {}, []
    for user in users:
        kind, state = body.results[user.args[1]] if user.name == RESULT else (None, None)
        if kind == "final":
            lasts[user] = state
        elif (kind, state) == ("history", 0) and not any(user is o for o in outputs):
            rows.append(user)
        else:
            return
    parts = [n for n in ordered(outputs) if any(row in n.inputs for row in rows)]
    # A history begins with the state at the start, or ends with it where steps are taken from the last to the first.
    wanted = slice(0, body.length, None) if body.reverse else slice(1, None, None)
    if not all(_is_part(n, wanted, body) for n in parts):
        return
    for node, state in lasts.items():
        node.args = loop, state
    for node in parts:
        node.name, node.args = RESULT, (loop, layer.states)
    x, weight, bias = stacks[0].args[:3]
    loop.name, loop.body = LAYER, None
    loop.args = (number, body.reverse, x, weight, bias, held[0].args[0], held[1] if layer.biased else None, tuple(starts))


def _is_part(node, wanted, body):
    """Whether a node is all of a history but the state at its start."""
    if node.name != "getitem" or not isinstance(node.args[1], slice):
        return False
    key, more = node.args[1], node.shape[0]
    return key.step is None and (key.start or 0) == wanted.start and repr(more) == repr(body.length)
