"""Attention: averages of values, weighted by how well queries and keys agree."""

import math
from functools import lru_cache

import numpy as np

from ..errors import ArgumentError, ShapeError
from ._families import composite
from ._samples import call
from .comparisons import isfinite, where
from .contractions import matmul
from .dropout import drop, kept
from .exponential import exp
from .movements import expand_dims, reshape, transpose, unbroadcast
from .reductions import max, sum


def scaled_dot_product_attention(query, key, value, /, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """For each query the mean of `value`, weighted by the softmax of the products of the query with each `key`.

    `query` is (..., L, E), `key` (..., S, E), `value` (..., S, Ev); the result is (..., L, Ev). A boolean `attn_mask`
    is True where a query may look; one of floats is added to the products. `is_causal` lets query i look at keys up to i.
    `scale` multiplies the products, by default one over the root of E. `dropout_p` drops weights whenever it is not 0: pass 0
    while not training. With `enable_gqa`, the axis third from the end may hold fewer key heads than query heads, of which
    as many in a row share a key. A query that may look nowhere gives zeros.

    Vaswani et al., "Attention is all you need" (2017).

    >>> q, k, v = rg.zeros(1, 2), rg.zeros(2, 2), rg.tensor([[1.0], [3.0]])
    >>> rg.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    _check(query, key, value, attn_mask, is_causal)
    if not 0 <= dropout_p < 1:
        raise ArgumentError(f"dropout_p must be at least 0 and less than 1, got {dropout_p}")
    shape, repeats = query.shape, _repeats(query, key, value) if enable_gqa else 1
    if repeats > 1:
        query, key, value, attn_mask = _grouped(query, key, value, attn_mask, repeats)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if dropout_p:
        batch = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        mask = kept(dropout_p, (*batch, query.shape[-2], key.shape[-2]))
        found = attention(query, key, value, attn_mask, is_causal, scale, mask, 1 / (1 - dropout_p))
    else:
        found = attention(query, key, value, attn_mask, is_causal, scale)
    return reshape(found, (*shape[:-1], value.shape[-1])) if repeats > 1 else found


def _check(query, key, value, attn_mask, is_causal):
    if min(query.ndim, key.ndim, value.ndim) < 2 or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError("attention needs query (..., L, E), key (..., S, E) and value (..., S, Ev), got "
                         f"{query.shape}, {key.shape} and {value.shape}")
    if attn_mask is not None and is_causal:
        raise ArgumentError("attention takes attn_mask or is_causal, not both; build the causal mask into attn_mask")
    if attn_mask is not None and attn_mask.dtype.kind in "iuc":
        raise ArgumentError(f"attn_mask must be of booleans or floats, got {attn_mask.dtype}")


def _repeats(query, key, value):
    """How many query heads share a key head."""
    heads = [x.shape[-3] if x.ndim > 2 else 1 for x in (query, key, value)]
    if heads[1] != heads[2] or not heads[1] or heads[0] % heads[1]:
        raise ShapeError(f"enable_gqa needs as many key as value heads, in a number that divides that of query heads, got {heads}")
    return heads[0] // heads[1]


def _grouped(query, key, value, attn_mask, repeats):
    """Operands with an axis for the query heads that share a key, before the last two."""
    heads = key.shape[-3]
    if attn_mask is not None and attn_mask.ndim > 2:
        is_shared = attn_mask.shape[-3] == 1
        split = (1, 1) if is_shared else (heads, repeats)
        attn_mask = reshape(attn_mask, (*attn_mask.shape[:-3], *split, *attn_mask.shape[-2:]))
    query = reshape(query, (*query.shape[:-3], heads, repeats, *query.shape[-2:]))
    return query, expand_dims(key, -3), expand_dims(value, -3), attn_mask


def _chances(query, key, attn_mask, is_causal, scale):
    """The softmax of the scaled products; zeros for a query that may look nowhere."""
    scores = matmul(query * scale, transpose(key))
    if is_causal:
        scores = where(_past(*scores.shape[-2:]), scores, -np.inf)
    if attn_mask is not None:
        scores = where(attn_mask, scores, -np.inf) if attn_mask.dtype.kind == "b" else scores + attn_mask
    top = max(scores, -1, keepdims=True)
    if attn_mask is None:
        powers = exp(scores - top)
        return powers / sum(powers, -1, keepdims=True)
    powers = exp(scores - where(isfinite(top), top, 0))
    total = sum(powers, -1, keepdims=True)
    return powers / where(total == 0, 1, total)


@lru_cache(maxsize=32)
def _past(length, keys):
    """Where query i may look: at keys up to i. The same array each time, so that a compiler sees that it is the same."""
    return np.tri(length, keys, dtype=bool)


_MASK = np.array([[True, False, False, True], [True, True, True, True], [False, False, False, False]])
_KEPT = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])


def _result_shape(query, key, value, attn_mask, *_):
    others = [x.shape[:-2] for x in (key, value, attn_mask) if x is not None]
    return *np.broadcast_shapes(query.shape[:-2], *others), query.shape[-2], value.shape[-1]


@composite(optional=("attn_mask",), result_shape=_result_shape, samples=(
    call((3, 2), (4, 2), (4, 3)), call((2, 3, 2), (2, 4, 2), (2, 4, 2), is_causal=True, scale=0.5),
    call((2, 2, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), (3, 4)), call((2, 3, 2), (2, 4, 2), (2, 4, 2), _MASK),
    call((2, 3, 2), (2, 4, 2), (2, 4, 2), dropped=_KEPT, factor=1.25)))
def attention(query, key, value, /, attn_mask=None, is_causal=False, scale=1.0, dropped=None, factor=1.0):
    r"""The arithmetic of `scaled_dot_product_attention`; weights stay where `dropped` is True, times `factor`.

    $Z = D\,V$ with $P = \operatorname{softmax}(s\,Q K^\top + M)$ and $D = f\,(B \circ P)$. With $E = f\,B \circ (\bar Z V^\top)$
    and $H = P \circ (E - \operatorname{rows}(\bar Z \circ Z))$: $\bar V = D^\top \bar Z$, $\bar M = H$, $\bar Q = s\,H K$,
    $\bar K = s\,H^\top Q$.
    """
    chances = _chances(query, key, attn_mask, is_causal, scale)
    return matmul(chances if dropped is None else drop(chances, dropped, factor), value)


def _attention_rule(g, needs, query, key, value, attn_mask, z, is_causal, scale, dropped, factor):
    chances = _chances(query, key, attn_mask, is_causal, scale)
    used = chances if dropped is None else drop(chances, dropped, factor)
    slopes = None
    if needs[0] or needs[1] or needs[3]:
        slopes = matmul(g, transpose(value))
        slopes = slopes if dropped is None else drop(slopes, dropped, factor)
        slopes = chances * (slopes - sum(g * z, -1, keepdims=True))
    return (
        unbroadcast(matmul(slopes, key) * scale, query.shape) if needs[0] else None,
        unbroadcast(matmul(transpose(slopes), query * scale), key.shape) if needs[1] else None,
        unbroadcast(matmul(transpose(used), g), value.shape) if needs[2] else None,
        unbroadcast(slopes, attn_mask.shape) if needs[3] else None,
    )


attention.defvjp_all(_attention_rule)
