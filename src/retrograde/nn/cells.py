"""One step of recurrent networks, as functions and as modules."""

import math

from ..errors import ArgumentError, ShapeError
from ..ops.elementary.trigonometric import tanh
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.movements import transpose
from ..ops.networks.activation import relu, sigmoid
from ..tensor.creation import empty, zeros
from . import functional, init
from .module import Module
from .parameter import Parameter

#: The functions that `nonlinearity` names.
NONLINEARITIES = {"tanh": tanh, "relu": relu}


def rnn_step(carry, projected, weight, bias, nonlinearity=tanh):
    """A step of a plain recurrent network; `projected` is what the input adds, with its bias."""
    (h,) = carry
    return (nonlinearity(projected + recurrent(h, weight, bias)),)


def lstm_step(carry, projected, weight, bias, projection=None):
    r"""A step of long short-term memory (Hochreiter and Schmidhuber, 1997): $c' = f c + i g$, $h' = o \tanh c'$.

    With a `projection`, (size of $h$, size of $c$), $h'$ is brought to a smaller size by it (Sak, Senior and Beaufays, 2014).
    """
    h, c = carry
    i, f, g, o = parts(projected + recurrent(h, weight, bias), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h if projection is None else matmul(h, transpose(projection)), c


def gru_step(carry, projected, weight, bias):
    r"""A step of a gated recurrent unit (Cho et al., 2014), as PyTorch has it: $h' = (1 - z) n + z h$."""
    (h,) = carry
    (r, z, n), (from_r, from_z, from_n) = parts(projected, 3), parts(recurrent(h, weight, bias), 3)
    z = sigmoid(z + from_z)
    n = tanh(n + sigmoid(r + from_r) * from_n)
    return (n + z * (h - n),)


def recurrent(h, weight, bias):
    """What the state adds."""
    product = matmul(h, transpose(weight))
    return product if bias is None else product + bias


def parts(gates, count):
    """The gates, which lie side by side along the last axis."""
    size = gates.shape[-1] // count
    return [gates[..., i * size : (i + 1) * size] for i in range(count)]


class RNNCellBase(Module):
    """Base of the cells: their weights, and what of it the state is."""

    _gates, _states = 1, 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            is_left_out = name.startswith("bias") and not bias
            setattr(self, name, None if is_left_out else Parameter(empty(*shape, dtype=dtype, device=device)))
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new weights, evenly spread between plus and minus one over the root of `hidden_size`."""
        draw_all(self, self.hidden_size)

    def _step(self, carry, projected):
        raise NotImplementedError("a cell needs a method _step")

    def forward(self, input, hx=None):
        """The next state, for `input` of shape (batch, input_size) or (input_size,); it starts with zeros."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(f"{type(self).__name__} needs input of shape (batch, {self.input_size}) or ({self.input_size},), got "
                             f"{input.shape}")
        shape = (*input.shape[:-1], self.hidden_size)
        states = (zeros(*shape, dtype=input.dtype),) * self._states if hx is None else started(self, hx, *[shape] * self._states)
        carry = self._step(states, functional.linear(input, self.weight_ih, self.bias_ih))
        return carry if self._states > 1 else carry[0]

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of a plain recurrent network: `tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`.

    >>> rg.nn.RNNCell(3, 5)(rg.ones(2, 3)).shape
    (2, 5)
    """

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        self.nonlinearity = checked_nonlinearity(nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def _step(self, carry, projected):
        return rnn_step(carry, projected, self.weight_hh, self.bias_hh, NONLINEARITIES[self.nonlinearity])


class LSTMCell(RNNCellBase):
    """One step of an LSTM: from `input` and (h, c) to the next (h, c).

    >>> h, c = rg.nn.LSTMCell(3, 5)(rg.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    _gates, _states = 4, 2

    def _step(self, carry, projected):
        return lstm_step(carry, projected, self.weight_hh, self.bias_hh)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    >>> rg.nn.GRUCell(3, 5)(rg.ones(3)).shape
    (5,)
    """

    _gates = 3

    def _step(self, carry, projected):
        return gru_step(carry, projected, self.weight_hh, self.bias_hh)


def started(module, hx, *shapes):
    """The states `hx` that a recurrent `module` is to start with, as a tuple, one of each of the `shapes`; raises for others."""
    states = tuple(hx) if isinstance(hx, (tuple, list)) or len(shapes) > 1 else (hx,)
    if len(states) != len(shapes) or any([getattr(x, "shape", None) != shape for x, shape in zip(states, shapes, strict=True)]):
        told = "a state of" if len(shapes) == 1 else "(h, c), each of" if len({*shapes}) == 1 else "(h, c) of"
        wanted, found = " and ".join(map(str, dict.fromkeys(shapes))), [str(getattr(state, "shape", state)) for state in states]
        raise ShapeError(f"{type(module).__name__} needs {told} shape {wanted}, got {' and '.join(found)}")
    return states


def checked_nonlinearity(name):
    """The name of a nonlinearity, if there is such."""
    if name not in NONLINEARITIES:
        raise ArgumentError(f'nonlinearity must be "tanh" or "relu", got {name!r}')
    return name


def draw_all(module, hidden_size):
    """Draw all parameters of a recurrent module."""
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)
