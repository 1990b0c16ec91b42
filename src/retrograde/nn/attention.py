"""Multi-head attention, as transformers are made of."""

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.elementary.comparisons import where
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import broadcast_to, pad, permute_dims, reshape, transpose
from ..tensor.creation import asarray, empty
from . import functional, init
from .checks import check_counts
from .linear import Linear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """Attention in `num_heads` parts of the `embed_dim` numbers of each vector, between learned projections.

    `forward` takes query, key and value, of shape (length, batch, features), or (batch, length, features) with
    `batch_first`, or without the batch; `kdim` and `vdim` are the features of key and value where they differ. Where a
    boolean mask is True a query may NOT look, and a mask of floats is added: `attn_mask` is (L, S) or (batch * heads, L, S),
    `key_padding_mask` (batch, S). `is_causal` says that `attn_mask` is the causal mask; without a mask, it makes one.
    Returns the output and, with `need_weights`, the weights: averaged over the heads, or (batch, heads, L, S).

    Vaswani et al., "Attention is all you need" (2017).

    >>> layer, x = rg.nn.MultiheadAttention(8, 2, batch_first=True), rg.randn(3, 5, 8)
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        super().__init__()
        check_counts(self, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ArgumentError(f"num_heads must divide embed_dim, got {num_heads} and {embed_dim}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        options: dict = {"dtype": dtype, "device": device}
        is_packed = self.kdim == self.vdim == embed_dim
        sizes = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, **options)) if is_packed else None
        for letter, size in sizes.items():
            weight = None if is_packed else Parameter(empty(embed_dim, size, **options))
            self.register_parameter(f"{letter}_proj_weight", weight)
        self.in_proj_bias = Parameter(empty(3 * embed_dim, **options)) if bias else None
        self.bias_k = Parameter(empty(1, 1, embed_dim, **options)) if add_bias_kv else None
        self.bias_v = Parameter(empty(1, 1, embed_dim, **options)) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, **options)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new projections; their biases are zero."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        self._check(query, key, value)
        if attn_mask is not None or key_padding_mask is not None:
            self._check_masks(query.shape, key.shape, attn_mask, key_padding_mask)
        is_single, axis = query.ndim == 2, 0 if self.batch_first else 1
        q, k, v = [self._in_heads(x[None] if is_single else x, is_single) for x in self._projected(query, key, value)]
        k, v, added = self._with_more_keys(k, v)
        is_plain = is_causal and key_padding_mask is None and not need_weights and not added
        mask = None if is_plain else self._mask(attn_mask, key_padding_mask, is_causal, (*q.shape[:3], k.shape[2] - added), added)
        rate = self.dropout if self.training else 0.0
        if need_weights:
            output, weights = self._with_weights(q, k, v, mask, rate, average_attn_weights)
        else:
            output, weights = functional.scaled_dot_product_attention(q, k, v, mask, rate, is_plain), None
        output = permute_dims(output, (0, 2, 1, 3) if is_single or axis == 0 else (2, 0, 1, 3))
        output = self.out_proj(reshape(output, (*output.shape[:2], self.num_heads * self.head_dim)))
        return (output[0], None if weights is None else weights[0]) if is_single else (output, weights)

    def _check(self, query, key, value):
        """Raise an error of ours unless all shapes fit the layer and each other."""
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise ShapeError(f"MultiheadAttention needs query, key and value of 2 or 3 axes each, got {_told(query, key, value)}")
        sizes = self.embed_dim, self.kdim, self.vdim
        if (query.shape[-1], key.shape[-1], value.shape[-1]) != sizes:
            raise ShapeError("MultiheadAttention needs as many features in query, key and value as embed_dim, kdim and vdim say, "
                             f"{sizes}, got shapes {_told(query, key, value)}")
        batch = 0 if self.batch_first else 1
        if query.ndim == 3 and query.shape[batch] != key.shape[batch] or key.shape[:-1] != value.shape[:-1]:
            order = "batch, length" if self.batch_first else "length, batch"
            raise ShapeError(f"MultiheadAttention needs query, key and value, ({order}, features), of one batch, and as many "
                             f"values as keys, got shapes {_told(query, key, value)}; batch_first={self.batch_first}")

    def _check_masks(self, query_shape, key_shape, attn_mask, key_padding_mask):
        """Raise an error of ours unless masks have the shapes that queries and keys of these shapes need."""
        is_single, time = len(query_shape) == 2, 1 if self.batch_first else 0
        batch, length, keys = (1, query_shape[0], key_shape[0]) if is_single else (
            query_shape[1 - time], query_shape[time], key_shape[time])
        _check_mask("attn_mask", attn_mask, [(length, keys), (batch * self.num_heads, length, keys)])
        _check_mask("key_padding_mask", key_padding_mask, [(keys,), (1, keys)] if is_single else [(batch, keys)])

    def _projected(self, query, key, value):
        bias, size = self.in_proj_bias, self.num_heads * self.head_dim
        parts = [slice(i * size, (i + 1) * size) for i in range(3)]
        if self.in_proj_weight is not None and query is key and key is value:
            found = functional.linear(query, self.in_proj_weight, bias)
            return [found[..., part] for part in parts]
        weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        if self.in_proj_weight is not None:
            weights = [self.in_proj_weight[part] for part in parts]
        biases = [None if bias is None else bias[part] for part in parts]
        return [functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _in_heads(self, x, is_single):
        """`x` as (batch, heads, length, features of a head)."""
        x = reshape(x, (*x.shape[:2], self.num_heads, self.head_dim))
        return permute_dims(x, (0, 2, 1, 3) if self.batch_first or is_single else (1, 2, 0, 3))

    def _with_more_keys(self, k, v):
        """Keys and values with the learned ones and the zeros that the layer adds, and how many these are."""
        added = 0
        if self.bias_k is not None:
            shape = (k.shape[0], self.num_heads, 1, self.head_dim)
            more = [broadcast_to(reshape(bias, (1, *shape[1:])), shape) for bias in (self.bias_k, self.bias_v)]
            k, v, added = concatenate([k, more[0]], 2), concatenate([v, more[1]], 2), 1
        if self.add_zero_attn:
            ends = ((0, 0), (0, 0), (0, 1), (0, 0))
            k, v, added = pad(k, ends), pad(v, ends), added + 1
        return k, v, added

    def _mask(self, attn_mask, key_padding_mask, is_causal, shape, added):
        """Both masks as one that `scaled_dot_product_attention` takes, for scores of `shape` and `added` keys that all may see."""
        batch, heads, length, keys = shape
        if attn_mask is None and is_causal:
            attn_mask = asarray(np.arange(length)[:, None] < np.arange(keys))
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = reshape(attn_mask, (batch, heads, length, keys))
        if key_padding_mask is not None:
            key_padding_mask = reshape(key_padding_mask, (batch, 1, 1, keys))
        masks = [mask for mask in (attn_mask, key_padding_mask) if mask is not None]
        if added:
            masks = [pad(mask, ((0, 0),) * (mask.ndim - 1) + ((0, added),)) for mask in masks]
        if not masks:
            return None
        if all(mask.dtype.kind == "b" for mask in masks):
            return ~masks[0] if len(masks) == 1 else ~(masks[0] | masks[1])
        masks = [_as_numbers(mask, self.out_proj.weight.dtype) for mask in masks]
        return masks[0] if len(masks) == 1 else masks[0] + masks[1]

    def _with_weights(self, q, k, v, mask, rate, average):
        scores = matmul(q * self.head_dim**-0.5, transpose(k))
        if mask is not None:
            scores = where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
        weights = functional.dropout(functional.softmax(scores, -1), rate)
        return matmul(weights, v), weights.mean(axis=1) if average else weights


def _told(query, key, value):
    return f"{query.shape}, {key.shape} and {value.shape}"


def _check_mask(name, mask, shapes):
    if mask is None:
        return
    if mask.dtype.kind not in "bf":
        raise DTypeError(f"{name} must be of booleans (True where none may look) or floats (to be added), got {mask.dtype}; "
                         f"convert it, as in {name}.astype(bool)")
    if tuple(mask.shape) not in shapes:
        raise ShapeError(f"{name} must have the shape {' or '.join(map(str, shapes))}, got {tuple(mask.shape)}")


def _as_numbers(mask, dtype):
    return where(mask, np.array(-np.inf, dtype), np.array(0, dtype)) if mask.dtype.kind == "b" else mask
