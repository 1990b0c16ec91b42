"""Recurrence: a layer of long short-term memory over all steps, as one op of eager code. A jitted one is a loop, of `scan`."""

import numpy as np

from ...errors import ShapeError
from .._families import composite
from .._native import small_step
from .._samples import call
from ..axes.reductions import sum
from ..elementary.conversions import narrowed, widened
from ..elementary.trigonometric import tanh
from ..linalg._multiplying import multiplier, product
from ..linalg.contractions import matmul
from ..manipulation.joins import concatenate, stack
from ..manipulation.movements import permute_dims, reshape, transpose
from .activation import sigmoid

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])


def _layer_in_ops(*operands):
    projected, h, c, weight = map(widened, operands)
    hs, cs, gates = [], [], []
    for t in range(projected.shape[0]):
        i, f, g, o = _parts(projected[t] + matmul(h, transpose(weight)))
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        c = f * c + i * g
        h = o * tanh(c)
        hs.append(h)
        cs.append(c)
        gates.append(concatenate([i, f, g, o], -1))
    return tuple([narrowed(stack(part), operands[0]) for part in (hs, cs, gates)])


def _parts(gates):
    """The four gates, which lie side by side along the last axis."""
    size = gates.shape[-1] // 4
    return [gates[..., k * size : (k + 1) * size] for k in range(4)]


@composite(is_public=False, is_multiple=True, is_real=True, told="LSTM", samples=(
    call((3, 2, 8), (2, 2), (2, 2), (8, 2)), call((1, 1, 4), (1, 1), (1, 1), (4, 1))))
def lstm_layer(projected, h, c, weight, /):
    r"""The outputs $h_t$ of a layer of long short-term memory, its states $c_t$ and its gates, for all steps $t$ of the first axis.

    `projected`, (steps, batch, 4 units), is what the inputs add to the gates; `h` and `c`, (batch, units), are what it starts with.

    $i, f, g, o = \sigma, \sigma, \tanh, \sigma\,(p_t + h_{t-1} W^\top)$, $c_t = f c_{t-1} + i g$, $h_t = o \tanh c_t$
    $\;\Rightarrow\;$ step by step from the last, $\bar c_t \mathrel{+}= \bar h_t\, o\,(1 - \tanh^2 c_t)$,
    $\bar c_{t-1} = f \bar c_t$, $\bar p_t$ from the slopes of the gates, $\bar h_{t-1} \mathrel{+}= \bar p_t W$ and
    $\bar W = \sum_t \bar p_t^\top h_{t-1}$.
    """
    operands = projected, h, c, weight
    _check_shapes(*[x.shape for x in operands])
    if not _are_plain(operands) or not projected.size:
        return _layer_in_ops(*operands)
    steps, batch, width = projected.shape
    hs, cs = np.empty((2, steps, batch, width // 4), projected.dtype)
    gates, sizes, added = np.empty(projected.shape, projected.dtype), (batch, width // 4), np.empty((batch, width), projected.dtype)
    multiply = multiplier(weight.T, batch, steps)
    for t in range(steps):
        multiply(h, added)
        arrays, results = (projected[t], added, c), (gates[t], cs[t], hs[t])
        if not small_step("lstm_gates", sizes, arrays, results):
            return _layer_in_ops(*operands)
        h, c = results[2], results[1]
    return hs, cs, gates


def _check_shapes(projected, h, c, weight):
    """Raise a ShapeError unless shapes fit: kernels read what these say, wherever it lies."""
    if len(projected) != 3 or h != c or len(h) != 2 or projected[1:] != (h[0], 4 * h[1]) or weight != (4 * h[1], h[1]):
        raise ShapeError("an LSTM needs what its inputs add to the gates of shape (steps, batch, 4 * hidden_size), states of shape "
                         "(batch, hidden_size) and weight_hh of shape (4 * hidden_size, hidden_size), got "
                         f"{tuple(projected)}, {tuple(h)} and {tuple(c)}, and {tuple(weight)}")


def _are_plain(operands):
    """Whether kernels take all operands: arrays of one float type, in row-major order."""
    first = operands[0]  # an array that was pickled has a dtype that is equal, but another object
    return all([x.__class__ is np.ndarray and x.dtype == first.dtype and x.flags.c_contiguous and x.flags.aligned
                for x in operands]) and first.dtype in _FLOATS


def _lstm_rule(g, needs, h, c, weight, z):  # noqa: ARG001 - all come from one walk
    hs, cs, gates = z
    operands = gates, hs, cs, h, c, weight
    given = [np.ascontiguousarray(part) if part.__class__ is np.ndarray else part for part in g if part is not None]
    if g[2] is not None or not _are_plain((*operands, *given)):
        return _rule_in_ops(g, operands)
    found = _rule_of_arrays(g, operands)
    return _rule_in_ops(g, operands) if found is None else found


def _rule_of_arrays(g, operands):
    gates, hs, cs, h, c, weight = operands
    steps, batch, size = hs.shape
    slopes, zero, multiply = np.empty_like(gates), np.zeros((batch, size), hs.dtype), multiplier(weight, batch, steps)
    of_hs, of_cs = [np.zeros_like(hs) if part is None else np.ascontiguousarray(part) for part in g[:2]]
    of_h, of_c = zero.copy(), zero
    for t in reversed(range(steps)):
        before, of_before = c if t == 0 else cs[t - 1], np.empty_like(zero)
        arrays = of_hs[t], of_h, of_cs[t], of_c, gates[t], before, cs[t]
        if not small_step("lstm_slopes", (batch, size), arrays, (slopes[t], of_before)):
            return None
        multiply(slopes[t], of_h)
        of_c = of_before
    earlier = np.concatenate([h[None], hs[:-1]]).reshape(-1, size)
    return slopes, of_h, of_c, product(slopes.reshape(-1, 4 * size).T, earlier)


def _rule_in_ops(g, operands):
    gates, hs, cs, h, c, weight = map(widened, operands)
    g = [None if part is None else widened(part) for part in g]
    of_h, of_c, slopes = None, None, []
    for t in reversed(range(hs.shape[0])):
        i, f, new, o = _parts(gates[t])
        before, bent = c if t == 0 else cs[t - 1], tanh(cs[t])
        of_h, of_c = _plus(of_h, g[0], t), _plus(of_c, g[1], t)
        of_h = bent * 0 if of_h is None else of_h
        of_c = of_h * o * (1 - bent * bent) + (0 if of_c is None else of_c)
        of_gates = [of_c * new, of_c * before, of_c * i, of_h * bent]
        if g[2] is not None:
            of_gates = [x + y for x, y in zip(of_gates, _parts(g[2][t]), strict=True)]
        rates = [i * (1 - i), f * (1 - f), 1 - new * new, o * (1 - o)]
        slopes.append(concatenate([x * y for x, y in zip(of_gates, rates, strict=True)], -1))
        of_c, of_h = of_c * f, matmul(slopes[-1], weight)
    found = stack(slopes[::-1])
    earlier = concatenate([reshape(h, (1, *h.shape)), hs[:-1]], 0)
    found = found, of_h, of_c, sum(matmul(permute_dims(found, (0, 2, 1)), earlier), 0)
    return tuple([narrowed(part, operands[0]) for part in found])


def _plus(x, g, t):
    """`x` plus step `t` of `g`, each of which may be None."""
    if g is None:
        return x
    return g[t] if x is None else x + g[t]


lstm_layer.defvjp_all(_lstm_rule)
