"""Recurrent networks: layers that walk along a sequence, forward and back, stacked."""

from functools import partial

from ..core.mode import is_tracing
from ..dtypes import common_dtype, is_float
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.elementary.comparisons import where
from ..ops.elementary.conversions import astype
from ..ops.manipulation.gathering import take
from ..ops.manipulation.joins import concatenate, stack
from ..ops.manipulation.movements import expand_dims, flip, squeeze, transpose
from ..ops.manipulation.selections import getitem
from ..ops.networks.recurrent import lstm_layer
from ..tensor.creation import empty, zeros
from ..tensor.tensor import Tensor
from ..transforms.scan import scan
from . import functional
from .cells import NONLINEARITIES, checked_nonlinearity, draw_all, gru_step, lstm_step, rnn_step, started
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, places, unpacked


class RNNBase(Module):
    """Base of recurrent networks. Arguments, defaults and names of parameters are PyTorch's.

    num_layers     how many layers there are; each walks along what the one below gives
    batch_first    whether sequences are (batch, time, features), rather than (time, batch, features)
    dropout        the probability with which outputs of all layers but the last are dropped in training
    bidirectional  whether a second half of each layer walks from the end to the beginning
    proj_size      of an LSTM: the size to which each output is brought by `weight_hr_l0` and so on, if it is not 0

    `module(input, hx=None)` gives (output, state): the outputs of the last layer at all times, and the last state of each
    layer. Input without a batch axis gives output without one; a `PackedSequence` gives one, and the state at the end of each
    sequence.
    """

    _gates, _states, _projects = 1, 1, False

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        _check_sizes(self, hidden_size, num_layers, dropout, proj_size)
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else self._output_size * self._directions
            for suffix in self._suffixes(layer):
                self._add_parameters(suffix, width, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self):
        return self.proj_size or self.hidden_size

    def _suffixes(self, layer):
        return [f"l{layer}", f"l{layer}_reverse"][: self._directions]

    def _add_parameters(self, suffix, width, device, dtype):
        rows, size = self._gates * self.hidden_size, self._output_size
        shapes = {"weight_ih": (rows, width), "weight_hh": (rows, size)}
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if self.bias else {}
        shapes |= {"weight_hr": (size, self.hidden_size)} if self.proj_size else {}
        for name, shape in shapes.items():
            setattr(self, f"{name}_{suffix}", Parameter(empty(*shape, dtype=dtype, device=device)))

    @property
    def all_weights(self):
        """The parameters of each direction of each layer, as lists."""
        suffixes = [suffix for layer in range(self.num_layers) for suffix in self._suffixes(layer)]
        return [[p for name, p in self.own(Parameter) if name.endswith(f"_{suffix}")] for suffix in suffixes]

    def reset_parameters(self):
        """Draw new weights, evenly spread between plus and minus one over the root of `hidden_size`."""
        draw_all(self, self.hidden_size)

    def flatten_parameters(self):
        """Nothing: parameters need not lie side by side here."""

    def _step(self, suffix):
        """The function of one step: (carry, projected input, weight, bias) to the next carry, output first."""
        raise NotImplementedError("a recurrent network needs a method _step")

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._of_packed(input, hx)
        x, is_batched = self._in_time(input)
        x, lasts = self._layers(x, self._start(hx, x, is_batched))
        if not is_batched:
            x, lasts = squeeze(x, 1), [squeeze(last, 1) for last in lasts]
        elif self.batch_first:
            x = transpose(x, 0, 1)
        return x, tuple(lasts) if self._states > 1 else lasts[0]

    def _of_packed(self, packed, hx):
        """What becomes of packed sequences: they are filled up, and what is carried stands still beyond the end of each."""
        self._check_width(packed.data, 2)
        x, is_inside = unpacked(packed)
        states = self._start(hx, x, True)
        if packed.sorted_indices is not None and hx is not None:
            states = [take(state, packed.sorted_indices, 1) for state in states]
        x, lasts = self._layers(x, states, None if is_inside.all() else is_inside[..., None])
        if packed.unsorted_indices is not None:
            lasts = [take(last, packed.unsorted_indices, 1) for last in lasts]
        found = packed._replace(data=getitem(x, places(packed.batch_sizes)))
        return found, tuple(lasts) if self._states > 1 else lasts[0]

    def _layers(self, x, states, is_inside=None):
        """(the outputs of the last layer, the last states of all), with time as the first axis."""
        ends = []
        for layer in range(self.num_layers):
            if layer:
                x = functional.dropout(x, self.dropout, self.training)
            outputs = []
            for suffix in self._suffixes(layer):
                end, ys = self._walk(suffix, x, tuple([state[len(ends)] for state in states]), is_inside)
                ends.append(end)
                outputs.append(ys)
            x = outputs[0] if len(outputs) == 1 else concatenate(outputs, axis=-1)
        return x, [stack(list(column)) for column in zip(*ends, strict=True)]

    def _in_time(self, input):
        """The input as (time, batch, features), and whether it had a batch axis."""
        if not isinstance(input, Tensor):
            raise DTypeError(f"{type(self).__name__} needs a tensor or a PackedSequence, got {type(input).__name__}; make one of "
                             "sequences with rg.nn.utils.rnn.pack_sequence")
        if not is_float(input.dtype):
            raise DTypeError(f"{type(self).__name__} needs floats, got {input.dtype}; convert them, as in x.astype(rg.float32)")
        self._check_width(input, 2, 3)
        if input.ndim == 2:
            return expand_dims(input, 1), False
        return transpose(input, 0, 1) if self.batch_first else input, True

    def _check_width(self, input, *axes):
        if input.ndim not in axes or input.shape[-1] != self.input_size:
            order = "batch, time" if self.batch_first else "time, batch"
            raise ShapeError(f"{type(self).__name__} needs input of shape ({order}, {self.input_size}) or "
                             f"(time, {self.input_size}), got {input.shape}")

    def _start(self, hx, x, is_batched):
        """The states that the layers start with, each (layers and directions, batch, size)."""
        lead = self.num_layers * self._directions, x.shape[1]
        shapes = [(*lead, size) for size in (self._output_size, self.hidden_size)[: self._states]]
        if hx is None:
            return tuple([zeros(*shape, dtype=x.dtype) for shape in shapes])
        states = started(self, hx, *(shapes if is_batched else [(shape[0], shape[2]) for shape in shapes]))
        return states if is_batched else tuple([expand_dims(state, 1) for state in states])

    def _walk(self, suffix, x, carry, is_inside):
        """One direction of one layer: (the last carry, the outputs). What the inputs add is one product for all times.

        Where `is_inside`, (time, batch, 1), is False, what is carried stays what it is.
        """
        weight, bias = getattr(self, f"weight_hh_{suffix}"), None
        projected = functional.linear(x, getattr(self, f"weight_ih_{suffix}"), self._input_bias(suffix))
        if self.bias and not self._adds_biases:
            bias = getattr(self, f"bias_hh_{suffix}")
        projected, *carry = _of_one_dtype(weight, projected, *carry)
        step, is_reverse = self._step(suffix), suffix.endswith("_reverse")
        if is_inside is None and step is lstm_step and not is_tracing() and x.shape[0]:
            return self._at_once(projected, carry, weight, is_reverse)

        def body(carry, row):
            carry = step(carry, row, weight, bias)
            return carry, carry[0]

        def masked(carry, rows):
            row, goes_on = rows
            after = step(carry, row, weight, bias)
            after = tuple([where(goes_on, new, old) for new, old in zip(after, carry, strict=True)])
            return after, after[0]

        if is_inside is None:
            return scan(body, tuple(carry), projected, reverse=is_reverse)
        return scan(masked, tuple(carry), (projected, is_inside), reverse=is_reverse)

    def _at_once(self, projected, carry, weight, is_reverse):
        """`_walk` of eager long short-term memory: one op for all steps."""
        projected = flip(projected, 0) if is_reverse else projected
        h, c = carry
        hs, cs, _ = lstm_layer(projected, h, c, weight)
        return (hs[-1], cs[-1]), flip(hs, 0) if is_reverse else hs

    #: Whether both biases are added in the same place.
    _adds_biases = True

    def _input_bias(self, suffix):
        if not self.bias:
            return None
        bias = getattr(self, f"bias_ih_{suffix}")
        return bias + getattr(self, f"bias_hh_{suffix}") if self._adds_biases else bias

    def extra_repr(self):
        shown = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        more = [f"{name}={getattr(self, name)}" for name, usual in shown.items() if getattr(self, name) != usual]
        return ", ".join([str(self.input_size), str(self.hidden_size), *more])


def _of_one_dtype(weight, *values):
    """`values` in the dtype that a step with `weight` makes of them, which a carry has from the start."""
    if all([x.dtype == weight.dtype for x in values]):  # mostly
        return values
    dtype = common_dtype([weight.dtype, *[x.dtype for x in values]])
    return [astype(x, dtype) for x in values]


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

    def _step(self, suffix):
        return partial(rnn_step, nonlinearity=NONLINEARITIES[self.nonlinearity])


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997). States are pairs (h, c). See `RNNBase`.

    >>> output, (h, c) = rg.nn.LSTM(3, 5, batch_first=True, bidirectional=True)(rg.ones(2, 7, 3))
    >>> output.shape, h.shape, c.shape
    ((2, 7, 10), (2, 2, 5), (2, 2, 5))
    """

    _gates, _states, _projects = 4, 2, True

    def _step(self, suffix):
        return partial(lstm_step, projection=getattr(self, f"weight_hr_{suffix}")) if self.proj_size else lstm_step


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014), as PyTorch has them. See `RNNBase`.

    >>> output, h = rg.nn.GRU(3, 5, num_layers=2)(rg.ones(7, 3))
    >>> output.shape, h.shape
    ((7, 5), (2, 5))
    """

    _gates = 3
    _adds_biases = False

    def _step(self, suffix):
        return gru_step


def _check_sizes(owner, hidden_size, num_layers, dropout, proj_size):
    if hidden_size < 1 or num_layers < 1:
        raise ArgumentError(f"hidden_size and num_layers must be at least 1, got {hidden_size} and {num_layers}")
    if not 0 <= dropout <= 1:
        raise ArgumentError(f"dropout, the probability of dropping, must lie between 0 and 1, got {dropout}")
    if proj_size and not owner._projects:  # noqa: SLF001 - of our own kind
        raise ArgumentError(f"only an LSTM has projections: proj_size of {type(owner).__name__} must be 0, got {proj_size}")
    if not 0 <= proj_size < hidden_size:
        raise ArgumentError(f"proj_size must be at least 0 and less than hidden_size, {hidden_size}, got {proj_size}")
