"""Recurrent layers: LSTM, GRU and RNN, whose gates stand in another order in ONNX."""

import numpy as np

from ..building import emits
from ..layers import LAYER, LAYERS


@emits(LAYER)
def _layer(e, node, number, is_reverse, x, weight, bias, recurrent, inner_bias, states):
    layer, size = LAYERS[number], recurrent.shape[1]
    row = e.constant(np.zeros(1, np.int64))
    of_one_direction = lambda name: e.add("Unsqueeze", [name, row])
    weights = [of_one_direction(_in_order(e, e(w), layer.gates, size)) for w in (weight, recurrent)]
    biases = ""
    if bias is not None or inner_bias is not None:
        none = np.zeros(len(layer.gates) * size, np.float32)
        both = [_in_order(e, e(none if b is None else b), layer.gates, size) for b in (bias, inner_bias)]
        biases = of_one_direction(e.add("Concat", both, axis=0))
    rows, *lasts = e.add(
        layer.operator, [e(x), *weights, biases, "", *[of_one_direction(e(s)) for s in states]], 1 + layer.states,
        direction="reverse" if is_reverse else "forward", hidden_size=size, **layer.attributes)
    return (*[e.add("Squeeze", [last, row]) for last in lasts], e.add("Squeeze", [rows, e.constant(np.ones(1, np.int64))]))


def _in_order(e, name, gates, size):
    """Rows of a weight, or of a bias, with its gates in ONNX's order."""
    if len(gates) == 1:
        return name
    parts = e.add("Split", [name, e.integers([size] * len(gates))], len(gates), axis=0)
    return e.add("Concat", [parts[k] for k in gates], axis=0)
