"""Attention of a text that grows: to what is in a cache, and to what is new."""

import numpy as np

from ...dtypes import float_of
from ...errors import DTypeError, ShapeError
from .._families import composite
from .._samples import call
from ..elementary.comparisons import clip
from ..manipulation.joins import concatenate
from ..manipulation.movements import expand_dims, transpose
from .attention import scaled_dot_product_attention

_LENGTHS = np.array([0, 3])


def _result_shape(query, key, value, keys, values, lengths, scale, window):  # noqa: ARG001 - it has the arguments of its op
    shapes = [x.shape for x in (query, key, value, keys, values)]
    if any([len(shape) != 4 for shape in shapes]):
        raise ShapeError(f"cached_attention needs query, key, value, keys and values of four axes, got {shapes}")
    (batch, count, heads, size), (_, longest, shared, _) = query.shape, keys.shape
    new, old = (batch, count, shared, size), (batch, longest, shared, size)
    is_fit = shapes[1:] == [new, new, old, old] and shared and heads % shared == 0
    if not is_fit or lengths.shape != (batch,):
        raise ShapeError("cached_attention needs query (batch, new, heads, size), key and value (batch, new, shared heads, size), "
                         "keys and values (batch, longest, shared heads, size), and lengths (batch,), got "
                         f"{shapes} and {lengths.shape}")
    if lengths.dtype.kind not in "iu":
        raise DTypeError(f"cached_attention needs lengths of integers, got {lengths.dtype}")
    return query.shape


def _dtype(query, key, value, keys, values, lengths, scale, window):  # noqa: ARG001
    return float_of(query, key, value, keys, values)


def _in_ops(query, key, value, keys, values, lengths, scale, window):
    count, longest = query.shape[1], keys.shape[1]
    lengths = clip(lengths, 0, longest)
    new = np.arange(count)[:, None]
    # Where each new position is, and each one in the cache, counted from the beginning of the text.
    places, cached = expand_dims(expand_dims(lengths, -1) + np.arange(count), -1), np.arange(longest)
    is_seen = cached < expand_dims(expand_dims(lengths, -1), -1) + new * 0
    is_past = new >= new.T
    if window is not None:
        is_seen = is_seen & (cached > places - window)
        is_past = is_past & (new - window < new.T)
    mask = expand_dims(concatenate([is_seen, is_past + is_seen[..., :1] * False], -1), 1)
    turned = [transpose(x, 1, 2) for x in (query, concatenate([keys, key], 1), concatenate([values, value], 1))]
    return transpose(scaled_dot_product_attention(*turned, attn_mask=mask, scale=scale, enable_gqa=True), 1, 2)


def _expansion(query, key, value, keys, values, lengths, scale, window):
    arrays = query, key, value, keys, values
    is_plain = all([x.dtype == np.float32 and x.size for x in arrays]) and lengths.dtype == np.int64
    if is_plain and query.shape[-1] % 4 == 0:
        return NotImplemented
    return _in_ops(*arrays, lengths, scale, window)


@composite(is_composite=False, is_differentiable=False, result_shape=_result_shape, result_dtype=_dtype, expansion=_expansion,
           samples=(
    call((2, 3, 4, 8), (2, 3, 2, 8), (2, 3, 2, 8), (2, 5, 2, 8), (2, 5, 2, 8), _LENGTHS),
    call((2, 1, 2, 8), (2, 1, 2, 8), (2, 1, 2, 8), (2, 5, 2, 8), (2, 5, 2, 8), _LENGTHS, scale=0.5, window=2)))
def cached_attention(query, key, value, keys, values, lengths, /, scale=1.0, window=None):
    """Attention of new positions of texts to those before them, which are in a cache, and to themselves.

    `query` is (batch, new, heads, size), `key` and `value` are (batch, new, shared heads, size); `keys` and `values`, (batch,
    longest, shared heads, size), are the cache, of which text b has filled the first `lengths[b]` positions, all if that is more.
    A query sees these, and of the new ones those up to its own; with a `window` no more than so many of the last ones, itself
    included. `scale` multiplies the products. It is made for writing text, and has no derivative: see
    `scaled_dot_product_attention`.
    """
    _result_shape(query, key, value, keys, values, lengths, scale, window)
    return np.ascontiguousarray(_in_ops(query, key, value, keys, values, lengths, scale, window))
