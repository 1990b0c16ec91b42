"""Recurrent networks: layers that walk along a sequence, forward and back, stacked."""

from functools import partial

from ..dtypes import is_float
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.joins import concatenate, stack
from ..ops.movements import expand_dims, squeeze, transpose
from ..tensor.creation import empty, zeros
from ..tensor.tensor import Tensor
from ..transforms.scan import scan
from . import functional
from .cells import NONLINEARITIES, checked_nonlinearity, draw_all, gru_step, lstm_step, rnn_step, started
from .module import Module
from .parameter import Parameter


class RNNBase(Module):
    """Base of recurrent networks. Arguments, defaults and names of parameters are PyTorch's.

    num_layers     how many layers there are; each walks along what the one below gives
    batch_first    whether sequences are (batch, time, features), rather than (time, batch, features)
    dropout        the probability with which outputs of all layers but the last are dropped in training
    bidirectional  whether a second half of each layer walks from the end to the beginning

    `module(input, hx=None)` gives (output, state): the outputs of the last layer at all times, and the last state of each
    layer. Input without a batch axis gives output without one.
    """

    _gates, _states = 1, 1

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        _check_sizes(hidden_size, num_layers, dropout, proj_size)
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, float(dropout), bidirectional, 0
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * self._directions
            for suffix in self._suffixes(layer):
                self._add_parameters(suffix, width, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer):
        return [f"l{layer}", f"l{layer}_reverse"][: self._directions]

    def _add_parameters(self, suffix, width, device, dtype):
        rows = self._gates * self.hidden_size
        shapes = {"weight_ih": (rows, width), "weight_hh": (rows, self.hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            if self.bias or name.startswith("weight"):
                setattr(self, f"{name}_{suffix}", Parameter(empty(*shape, dtype=dtype, device=device)))

    def reset_parameters(self):
        """Draw new weights, evenly spread between plus and minus one over the root of `hidden_size`."""
        draw_all(self, self.hidden_size)

    def flatten_parameters(self):
        """Nothing: parameters need not lie side by side here."""

    def _step(self):
        """The function of one step: (carry, projected input, weight, bias) to the next carry, output first."""
        raise NotImplementedError("a recurrent network needs a method _step")

    def forward(self, input, hx=None):
        x, is_batched = self._in_time(input)
        states = self._start(hx, x, is_batched)
        ends = []
        for layer in range(self.num_layers):
            if layer:
                x = functional.dropout(x, self.dropout, self.training)
            outputs = []
            for suffix in self._suffixes(layer):
                end, ys = self._walk(suffix, x, tuple([state[len(ends)] for state in states]))
                ends.append(end)
                outputs.append(ys)
            x = outputs[0] if len(outputs) == 1 else concatenate(outputs, axis=-1)
        lasts = [stack(list(column)) for column in zip(*ends, strict=True)]
        if not is_batched:
            x, lasts = squeeze(x, 1), [squeeze(last, 1) for last in lasts]
        elif self.batch_first:
            x = transpose(x, 0, 1)
        return x, tuple(lasts) if self._states > 1 else lasts[0]

    def _in_time(self, input):
        """The input as (time, batch, features), and whether it had a batch axis."""
        if not isinstance(input, Tensor):
            raise DTypeError(f"{type(self).__name__} needs a tensor, got {type(input).__name__}; packed sequences are not "
                             "supported: pad them, and mask what is computed of the padding")
        if not is_float(input.dtype):
            raise DTypeError(f"{type(self).__name__} needs floats, got {input.dtype}; convert them, as in x.astype(rg.float32)")
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            axes = "batch, time" if self.batch_first else "time, batch"
            raise ShapeError(f"{type(self).__name__} needs input of shape ({axes}, {self.input_size}) or "
                             f"(time, {self.input_size}), got {input.shape}")
        if input.ndim == 2:
            return expand_dims(input, 1), False
        return transpose(input, 0, 1) if self.batch_first else input, True

    def _start(self, hx, x, is_batched):
        """The states that the layers start with, each (layers and directions, batch, hidden)."""
        shape = self.num_layers * self._directions, x.shape[1], self.hidden_size
        if hx is None:
            return (zeros(*shape, dtype=x.dtype),) * self._states
        states = started(self, hx, shape if is_batched else (shape[0], shape[2]))
        return states if is_batched else tuple([expand_dims(state, 1) for state in states])

    def _walk(self, suffix, x, carry):
        """One direction of one layer: (the last carry, the outputs). What the inputs add is one product for all times."""
        weight, bias = getattr(self, f"weight_hh_{suffix}"), None
        projected = functional.linear(x, getattr(self, f"weight_ih_{suffix}"), self._input_bias(suffix))
        if self.bias and not self._adds_biases:
            bias = getattr(self, f"bias_hh_{suffix}")
        step = self._step()

        def body(carry, row):
            carry = step(carry, row, weight, bias)
            return carry, carry[0]

        return scan(body, carry, projected, reverse=suffix.endswith("_reverse"))

    #: Whether both biases are added in the same place.
    _adds_biases = True

    def _input_bias(self, suffix):
        if not self.bias:
            return None
        bias = getattr(self, f"bias_ih_{suffix}")
        return bias + getattr(self, f"bias_hh_{suffix}") if self._adds_biases else bias

    def extra_repr(self):
        shown = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        more = [f"{name}={getattr(self, name)}" for name, usual in shown.items() if getattr(self, name) != usual]
        return ", ".join([str(self.input_size), str(self.hidden_size), *more])


class RNN(RNNBase):
    """A plain recurrent network: `h' = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`. See `RNNBase`.

    >>> output, h = rg.nn.RNN(3, 5)(rg.ones(7, 2, 3))
    >>> output.shape, h.shape
    ((7, 2, 5), (1, 2, 5))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        self.nonlinearity = checked_nonlinearity(nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)

    def _step(self):
        return partial(rnn_step, nonlinearity=NONLINEARITIES[self.nonlinearity])


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997). States are pairs (h, c). See `RNNBase`.

    >>> output, (h, c) = rg.nn.LSTM(3, 5, batch_first=True, bidirectional=True)(rg.ones(2, 7, 3))
    >>> output.shape, h.shape, c.shape
    ((2, 7, 10), (2, 2, 5), (2, 2, 5))
    """

    _gates, _states = 4, 2

    def _step(self):
        return lstm_step


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014), as PyTorch has them. See `RNNBase`.

    >>> output, h = rg.nn.GRU(3, 5, num_layers=2)(rg.ones(7, 3))
    >>> output.shape, h.shape
    ((7, 5), (2, 5))
    """

    _gates = 3
    _adds_biases = False

    def _step(self):
        return gru_step


def _check_sizes(hidden_size, num_layers, dropout, proj_size):
    if hidden_size < 1 or num_layers < 1:
        raise ArgumentError(f"hidden_size and num_layers must be at least 1, got {hidden_size} and {num_layers}")
    if not 0 <= dropout <= 1:
        raise ArgumentError(f"dropout, the probability of dropping, must lie between 0 and 1, got {dropout}")
    if proj_size:
        raise ArgumentError(f"projections are not supported: proj_size must be 0, got {proj_size}; put a Linear behind the network")
