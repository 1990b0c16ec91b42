"""Recurrent layers: RNN, GRU, LSTM, in both directions, for sequences of any lengths."""


import numpy as np

from ...errors import OnnxError
from ...ops.elementary.arithmetic import abs
from ...ops.elementary.comparisons import clip as limited
from ...ops.elementary.comparisons import greater, where
from ...ops.elementary.trigonometric import tanh
from ...ops.linalg.contractions import matmul
from ...ops.manipulation.joins import stack
from ...ops.manipulation.movements import permute_dims
from ...ops.networks.activation import elu, leaky_relu, relu, sigmoid, softplus
from ...transforms.scan import scan
from ..rule import rule

#: {name: (function of (x, alpha, beta), alpha, beta)}
_ACTIVATIONS = {
    "relu": (lambda x, a, b: relu(x), None, None), "tanh": (lambda x, a, b: tanh(x), None, None),
    "sigmoid": (lambda x, a, b: sigmoid(x), None, None), "affine": (lambda x, a, b: x * a + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: leaky_relu(x, a), 0.01, None), "elu": (lambda x, a, b: elu(x, a), 1.0, None),
    "thresholdedrelu": (lambda x, a, b: where(greater(x, a), x, 0), 1.0, None),
    "scaledtanh": (lambda x, a, b: tanh(x * b) * a, 1.0, 1.0), "hardsigmoid": (lambda x, a, b: limited(x * a + b, 0, 1), 0.2, 0.5),
    "softsign": (lambda x, a, b: x / (abs(x) + 1), None, None), "softplus": (lambda x, a, b: softplus(x), None, None),
}


def _functions(names, alphas, betas):
    """The activation functions, each with the numbers that it takes, in order."""
    alphas, betas, found = iter(alphas or ()), iter(betas or ()), []
    for name in names:
        if name.lower() not in _ACTIVATIONS:
            raise OnnxError(f"no activation is named {name!r}")
        function, alpha, beta = _ACTIVATIONS[name.lower()]
        alpha = None if alpha is None else next(alphas, alpha)
        beta = None if beta is None else next(betas, beta)
        found.append(lambda x, f=function, a=alpha, b=beta: f(x, a, b))
    return found


def _run(x, lengths, states, direction, layout, make_step, count):
    """A layer: (results of all steps and directions, the last states), by a step for each direction.

    make_step  of the number of a direction: a function of (states, x of one step) that gives the next states
    states     the first states, (directions, batch, hidden) each
    """
    if direction not in ("forward", "reverse", "bidirectional"):
        raise OnnxError(f"direction is forward, reverse or bidirectional, got {direction!r}")
    if layout:
        x, states = permute_dims(x, (1, 0, 2)), [permute_dims(s, (1, 0, 2)) for s in states]
    length, batch = x.shape[:2]
    results, lasts = [], []
    for number in range(count):
        is_backwards = direction == "reverse" or number == 1
        valid = np.ones((length, batch, 1), bool) if lengths is None else (np.arange(length)[:, None] < lengths[None, :])[..., None]
        step = make_step(number)

        def masked(carry, row, step=step):
            inputs, holds = row
            after = step(carry, inputs)
            if lengths is not None:
                kept = tuple([where(holds, new, old) for new, old in zip(after, carry, strict=True)])
                return kept, where(holds, after[0], 0)
            return tuple(after), after[0]

        last, found = scan(masked, tuple([s[number] for s in states]), (x, valid), reverse=is_backwards)
        results.append(found)
        lasts.append(last)
    found, last = stack(results, 1), [stack(each, 0) for each in zip(*lasts, strict=True)]
    if layout:
        found, last = permute_dims(found, (2, 0, 1, 3)), [permute_dims(s, (1, 0, 2)) for s in last]
    return (found, *last)


def _first(state, x, weight, layout):
    """A state at the start: zeros where none is given."""
    if state is not None:
        return state
    batch, count, size = x.shape[0 if layout else 1], weight.shape[0], weight.shape[2]
    return np.zeros((batch, count, size) if layout else (count, batch, size), x.dtype)


def _gates(x, h, w, r, bias, clipped):
    found = matmul(x, w.T) + matmul(h, r.T)
    return clipped(found if bias is None else found + bias)


def _limiter(limit):
    return (lambda x: x) if limit is None else (lambda x: limited(x, -limit, limit))


def _halves(bias, size):
    return (None, None) if bias is None else (bias[:size], bias[size:])


@rule("RNN", since=7, numbers=(4,))
def _rnn(x, w, r, bias=None, lengths=None, h=None, /, *, hidden_size=None, direction="forward", layout=0, clip=None,
         activations=("Tanh", "Tanh"), activation_alpha=None, activation_beta=None):
    functions, clipped = _functions(activations, activation_alpha, activation_beta), _limiter(clip)

    def make_step(number):
        f, (one, other) = functions[number], _halves(None if bias is None else bias[number], r.shape[2])
        return lambda carry, row: (f(_gates(row, carry[0], w[number], r[number], None if one is None else one + other, clipped)),)

    return _run(x, lengths, [_first(h, x, r, layout)], direction, layout, make_step, r.shape[0])


@rule("GRU", since=7, numbers=(4,))
def _gru(x, w, r, bias=None, lengths=None, h=None, /, *, hidden_size=None, direction="forward", layout=0, clip=None,
         activations=None, activation_alpha=None, activation_beta=None, linear_before_reset=0):
    names = activations or ["Sigmoid", "Tanh"] * r.shape[0]
    functions, clipped, size = _functions(names, activation_alpha, activation_beta), _limiter(clip), r.shape[2]

    def make_step(number):
        f, g = functions[2 * number:2 * number + 2]
        wb, rb = _halves(None if bias is None else bias[number], 3 * size)
        wn, rn = w[number], r[number]
        both = None if wb is None or rb is None else (wb + rb)[:2 * size]
        new_wb, new_rb = (0, 0) if wb is None or rb is None else (wb[2 * size:], rb[2 * size:])

        def step(carry, row):
            (old,) = carry
            gates = f(_gates(row, old, wn[:2 * size], rn[:2 * size], both, clipped))
            update, reset = gates[:, :size], gates[:, size:]
            inner = matmul(row, wn[2 * size:].T) + new_wb
            if linear_before_reset:
                inner = inner + reset * (matmul(old, rn[2 * size:].T) + new_rb)
            else:
                inner = inner + matmul(reset * old, rn[2 * size:].T) + new_rb
            new = g(clipped(inner))
            return ((1 - update) * new + update * old,)

        return step

    return _run(x, lengths, [_first(h, x, r, layout)], direction, layout, make_step, r.shape[0])


@rule("LSTM", since=7, numbers=(4,))
def _lstm(x, w, r, bias=None, lengths=None, h=None, c=None, peepholes=None, /, *, hidden_size=None, direction="forward", layout=0,
          clip=None, activations=None, activation_alpha=None, activation_beta=None, input_forget=0):
    names = activations or ["Sigmoid", "Tanh", "Tanh"] * r.shape[0]
    functions, clipped, size = _functions(names, activation_alpha, activation_beta), _limiter(clip), r.shape[2]

    def make_step(number):
        f, g, last = functions[3 * number:3 * number + 3]
        one, other = _halves(None if bias is None else bias[number], 4 * size)
        whole = None if one is None else one + other
        peep = None if peepholes is None else [peepholes[number][i * size:(i + 1) * size] for i in range(3)]

        def step(carry, row):
            old, cell = carry
            gates = matmul(row, w[number].T) + matmul(old, r[number].T)
            gates = gates if whole is None else gates + whole
            i, o, forget, new = [gates[:, k * size:(k + 1) * size] for k in range(4)]
            if peep is not None:
                i, forget = i + peep[0] * cell, forget + peep[2] * cell
            i = f(clipped(i))
            forget = 1 - i if input_forget else f(clipped(forget))  # the specification leaves open which is which; onnxruntime's
            cell = forget * cell + i * g(clipped(new))
            o = o if peep is None else o + peep[1] * cell
            return f(clipped(o)) * last(cell), cell

        return step

    return _run(x, lengths, [_first(h, x, r, layout), _first(c, x, r, layout)], direction, layout, make_step, r.shape[0])

