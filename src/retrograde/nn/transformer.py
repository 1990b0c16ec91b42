"""Layers of transformers: attention and a small network, each added to its input, between norms."""

from copy import deepcopy

import numpy as np

from ..errors import ArgumentError
from ..tensor.tensor import Tensor
from . import functional, init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

_ACTIVATIONS = {"relu": functional.relu, "gelu": functional.gelu}


class _Layer(Module):
    """What encoder and decoder layers share: how attention and network are called."""

    def _set_activation(self, activation):
        if isinstance(activation, str) and activation not in _ACTIVATIONS:
            raise ArgumentError(f'activation must be "relu", "gelu" or a function, got {activation!r}')
        self.activation = _ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def _network(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _around(self, x, norm, dropout, function):
        """`function` of `x`, added to `x`, with the norm before or after."""
        if self.norm_first:
            return x + dropout(function(norm(x)))
        return norm(x + dropout(function(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two linear layers, each added to its input. Vaswani et al. (2017).

    `norm_first` puts each norm before what it belongs to instead of after the sum. Masks are those of `MultiheadAttention`.

    >>> rg.nn.TransformerEncoderLayer(8, 2, batch_first=True)(rg.randn(3, 5, 8)).shape
    (3, 5, 8)
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        options: dict = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **options)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self._set_activation(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        x = self._around(src, self.norm1, self.dropout1, attend)
        return self._around(x, self.norm2, self.dropout2, self._network)


class TransformerDecoderLayer(_Layer):
    """`TransformerEncoderLayer` with attention to a `memory`, the output of an encoder, in between.

    >>> rg.nn.TransformerDecoderLayer(8, 2, batch_first=True)(rg.randn(3, 5, 8), rg.randn(3, 7, 8)).shape
    (3, 5, 8)
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        options: dict = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **options)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **options)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self._set_activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        def attend(x):
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def look(x):
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask,
                                       is_causal=memory_is_causal)[0]

        x = self._around(tgt, self.norm1, self.dropout1, attend)
        x = self._around(x, self.norm2, self.dropout2, look)
        return self._around(x, self.norm3, self.dropout3, self._network)


class _Stack(Module):
    """Copies of a layer, one after the other, and a norm at the end if there is one."""

    def __init__(self, layer, num_layers, norm):
        super().__init__()
        self.layers = ModuleList([deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(_Stack):
    """`num_layers` copies of `encoder_layer`, one after the other, and `norm` at the end. Copies start with equal weights.

    >>> layer = rg.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    >>> rg.nn.TransformerEncoder(layer, 2)(rg.randn(3, 5, 8)).shape
    (3, 5, 8)
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """`num_layers` copies of `decoder_layer`, one after the other, and `norm` at the end. Copies start with equal weights."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal),
                        memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of a source and a decoder of a target, each with a norm at its end (Vaswani et al., 2017).

    Sources and targets are (length, batch, d_model), or with `batch_first` (batch, length, d_model).

    >>> model = rg.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(rg.randn(3, 5, 8), rg.randn(3, 4, 8)).shape
    (3, 4, 8)
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        arguments = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
                     dtype)
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*arguments), num_encoder_layers, norms[0])
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*arguments), num_decoder_layers, norms[1])
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                            memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz):
        """The mask with which each place looks at itself and those before it: 0 there, minus infinity elsewhere."""
        return Tensor(np.triu(np.full((sz, sz), -np.inf, np.float32), 1))
