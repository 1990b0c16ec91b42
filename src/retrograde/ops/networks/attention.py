"""Attention: averages of values, weighted by how well queries and keys agree."""

import math

import numpy as np

from ...core.mode import whole
from ...dtypes import common_dtype, float_of
from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._native import by_shape, small
from .._samples import call
from ..axes.reductions import sum
from ..elementary.conversions import astype, widened
from ..linalg.contractions import matmul
from ..manipulation.movements import expand_dims, reshape, transpose, unbroadcast
from ..random.dropout import drop, kept
from .attending import attention_backward, attention_with_sums, chances, check_mask, is_plain, result_shape


@whole
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
    dtype = float_of(query, key, value)
    query, key, value = widened(query), widened(key), widened(value)
    attn_mask = None if attn_mask is None else widened(attn_mask)
    if dropout_p:
        batch = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        mask = kept(dropout_p, (*batch, query.shape[-2], key.shape[-2]))
        found = attention(query, key, value, attn_mask, is_causal, scale, mask, 1 / (1 - dropout_p))
    else:
        found = attention(query, key, value, attn_mask, is_causal, scale)
    found = found if found.dtype == dtype else astype(found, dtype)
    return reshape(found, (*shape[:-1], value.shape[-1])) if repeats > 1 else found


def _check(query, key, value, attn_mask, is_causal):
    if min(query.ndim, key.ndim, value.ndim) < 2 or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError("attention needs query (..., L, E), key (..., S, E) and value (..., S, Ev), got "
                         f"{query.shape}, {key.shape} and {value.shape}")
    if attn_mask is not None and is_causal:
        raise ArgumentError("attention takes attn_mask or is_causal, not both; build the causal mask into attn_mask")
    if attn_mask is not None and attn_mask.dtype.kind in "iuc":
        raise ArgumentError(f"attn_mask must be of booleans or floats, got {attn_mask.dtype}")
    check_mask(attn_mask, query.shape[-2], key.shape[-2])


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


_MASK = np.array([[True, False, False, True], [True, True, True, True], [False, False, False, False]])
_KEPT = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])


def _weighted(query, key, value, attn_mask, is_causal, scale, dropped, factor):
    weights = chances(query, key, attn_mask, is_causal, scale)
    return matmul(weights if dropped is None else drop(weights, dropped, factor), value)


def _attention_in_ops(query, key, value, attn_mask, is_causal, scale, dropped, factor):
    if dropped is None and is_plain(query, key, value, attn_mask):
        return attention_with_sums(query, key, value, attn_mask, is_causal, scale)[0]
    return _weighted(query, key, value, attn_mask, is_causal, scale, dropped, factor)


@composite(is_public=False, faster=by_shape, is_composite=False, expansion=_attention_in_ops, optional=("attn_mask",),
           result_shape=result_shape, result_dtype=float_of, samples=(
    call((3, 2), (4, 2), (4, 3)), call((2, 3, 2), (2, 4, 2), (2, 4, 2), is_causal=True, scale=0.5),
    call((2, 2, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), (3, 4)), call((2, 3, 2), (2, 4, 2), (2, 4, 2), _MASK),
    call((2, 3, 2), (2, 4, 2), (2, 4, 2), dropped=_KEPT, factor=1.25)))
def attention(query, key, value, /, attn_mask=None, is_causal=False, scale=1.0, dropped=None, factor=1.0):
    r"""The arithmetic of `scaled_dot_product_attention`; weights stay where `dropped` is True, times `factor`.

    $Z = D\,V$ with $P = \operatorname{softmax}(s\,Q K^\top + M)$ and $D = f\,(B \circ P)$. With $E = f\,B \circ (\bar Z V^\top)$
    and $H = P \circ (E - \operatorname{rows}(\bar Z \circ Z))$: $\bar V = D^\top \bar Z$, $\bar M = H$, $\bar Q = s\,H K$,
    $\bar K = s\,H^\top Q$.
    """
    if attn_mask is None and dropped is None and (found := _by_kernel(query, key, value, is_causal, scale)) is not None:
        return found
    return _weighted(query, key, value, attn_mask, is_causal, scale, dropped, factor)


#: With more products than this, those of matrices are faster than those of one query after the other.
_MOST_PRODUCTS = 1 << 17


def _sizes(query, key, value, is_causal):
    """The sizes of a kernel for few queries and keys; None where there is none."""
    for x in (query, key, value):
        if x.__class__ is not np.ndarray or x.dtype != query.dtype or not x.flags.c_contiguous:
            return None
    *batch, queries, depth = query.shape
    *lead, keys, width = value.shape
    if lead != batch or key.shape != (*batch, keys, depth):
        return None
    count = math.prod(batch)
    if not 0 < count * queries * keys * (depth + width) <= _MOST_PRODUCTS or not depth or not width:
        return None
    return count, queries, keys, depth, width, int(is_causal)


def _by_kernel(query, key, value, is_causal, scale):
    """Attention of few queries and keys by a kernel; None where there is none."""
    sizes = _sizes(query, key, value, is_causal)
    if sizes is None:
        return None
    room, found = np.empty(sizes[2], query.dtype), np.empty((*query.shape[:-1], value.shape[-1]), query.dtype)
    arrays = query, key, value, np.array(scale, query.dtype)
    return found if small("attention", sizes, arrays, (room, found)) else None


def _gradients_by_kernel(cotangent, query, key, value, output, is_causal, scale):
    """What attention hands back, by a kernel; None where there is none."""
    sizes = _sizes(query, key, value, is_causal)
    if sizes is None or not cotangent.__class__ is output.__class__ is np.ndarray:
        return None
    if not cotangent.dtype == output.dtype == query.dtype or cotangent.shape != output.shape:
        return None
    if output.shape != (*query.shape[:-1], value.shape[-1]):
        return None
    found = [np.empty(x.shape, x.dtype) for x in (query, key, value)]
    arrays = np.ascontiguousarray(cotangent), query, key, value, np.array(scale, query.dtype), np.ascontiguousarray(output)
    return tuple(found) if small("attention_slopes", sizes, arrays, (np.empty(sizes[2], query.dtype), *found)) else None


def _attention_rule(g, needs, query, key, value, attn_mask, z, is_causal, scale, dropped, factor):
    if dropped is None and not needs[3]:
        found = attention_gradients(g, query, key, value, z, attn_mask, is_causal, scale)
        return (*[x if is_needed else None for x, is_needed in zip(found, needs, strict=False)], None)
    weights = chances(query, key, attn_mask, is_causal, scale)
    used = weights if dropped is None else drop(weights, dropped, factor)
    slopes = matmul(g, transpose(value))
    slopes = weights * ((slopes if dropped is None else drop(slopes, dropped, factor)) - sum(g * z, -1, keepdims=True))
    return (
        unbroadcast(matmul(slopes, key) * scale, query.shape),
        unbroadcast(matmul(transpose(slopes), query * scale), key.shape),
        unbroadcast(matmul(transpose(used), g), value.shape),
        unbroadcast(slopes, attn_mask.shape) if needs[3] else None,
    )


attention.defvjp_all(_attention_rule)


def _gradients_in_ops(cotangent, query, key, value, output, attn_mask, is_causal, scale):
    operands = query, key, value, attn_mask
    if not is_plain(*operands) or not cotangent.dtype == output.dtype == query.dtype:
        return _gradients(cotangent, query, key, value, output, attn_mask, is_causal, scale)
    sums = attention_with_sums(*operands, is_causal, scale)[1]
    found = attention_backward(cotangent, *operands, sums, sum(cotangent * output, -1, keepdims=True), is_causal, scale)
    return tuple([unbroadcast(x, y.shape) for x, y in zip(found, operands, strict=False)])


def _gradients(cotangent, query, key, value, output, attn_mask, is_causal, scale):
    weights = chances(query, key, attn_mask, is_causal, scale)
    slopes = weights * (matmul(cotangent, transpose(value)) - sum(cotangent * output, -1, keepdims=True))
    found = matmul(slopes, key) * scale, matmul(transpose(slopes), query * scale), matmul(transpose(weights), cotangent)
    dtype = common_dtype([x.dtype for x in (cotangent, query, key, value, output, attn_mask) if x is not None])
    return tuple([astype(unbroadcast(x, y.shape), dtype) for x, y in zip(found, (query, key, value), strict=True)])


def _zeros(x):
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def _shapes_of_operands(_, query, key, value, __, attn_mask, *___):
    result_shape(query, key, value, attn_mask)
    return [query.shape, key.shape, value.shape]


@composite(is_public=False, is_composite=False, is_multiple=True, expansion=_gradients_in_ops, optional=("attn_mask",),
           result_shape=_shapes_of_operands, samples=(
    call((3, 3), (3, 2), (4, 2), (4, 3), (3, 3)), call((2, 3, 2), (2, 3, 2), (2, 4, 2), (2, 4, 2), (2, 3, 2), is_causal=True),
    call((2, 2, 3, 3), (2, 2, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), (2, 2, 3, 3), (3, 4), scale=0.5),
    call((2, 3, 2), (2, 3, 2), (2, 4, 2), (2, 4, 2), (2, 3, 2), _MASK)))
def attention_gradients(cotangent, query, key, value, output, /, attn_mask=None, is_causal=False, scale=1.0):
    r"""What `attention` without dropping hands back to query, key and value, from its `cotangent` and its `output`.

    With $H = P \circ (G V^\top - \operatorname{rows}(G \circ Z))$ for cotangent $G$ and output $Z$, the results are
    $s\,H K$, $s\,H^\top Q$ and $P^\top G$. For their cotangents $A$, $B$, $C$, let $U = s\,(A K^\top + Q B^\top)$, $W = P \circ U$,
    $w = \operatorname{rows}(W)$ and $T = P \circ (t - \operatorname{rows}(P \circ t))$, where
    $t = G C^\top + U \circ (G V^\top - \operatorname{rows}(G \circ Z))$. Then
    $\bar G = P C + W V - w \circ Z$, $\bar Q = s\,(H B + T K)$, $\bar K = s\,(H^\top A + T^\top Q)$, $\bar V = W^\top G$,
    $\bar Z = -w \circ G$ and $\bar M = T$.
    """
    if attn_mask is None:
        found = _gradients_by_kernel(cotangent, query, key, value, output, is_causal, scale)
        if found is not None:
            return found
    return _gradients(cotangent, query, key, value, output, attn_mask, is_causal, scale)


def _gradients_rule(g, needs, cotangent, query, key, value, output, attn_mask, is_causal, scale):
    to_query, to_key, to_value = [_zeros(x) if part is None else part for part, x in zip(g, (query, key, value), strict=True)]
    weights = chances(query, key, attn_mask, is_causal, scale)
    steep = matmul(cotangent, transpose(value)) - sum(cotangent * output, -1, keepdims=True)
    pulled = scale * (matmul(to_query, transpose(key)) + matmul(query, transpose(to_key)))
    slopes, spread = weights * steep, weights * pulled
    total = sum(spread, -1, keepdims=True)
    turned = matmul(cotangent, transpose(to_value)) + pulled * steep
    turned = weights * (turned - sum(weights * turned, -1, keepdims=True))
    found = (
        matmul(weights, to_value) + matmul(spread, value) - total * output,
        scale * (matmul(slopes, to_key) + matmul(turned, key)),
        scale * (matmul(transpose(slopes), to_query) + matmul(transpose(turned), query)),
        matmul(transpose(spread), cotangent),
        -total * cotangent,
        turned,
    )
    operands = cotangent, query, key, value, output, attn_mask
    return tuple([unbroadcast(x, y.shape) if is_needed else None
                  for x, y, is_needed in zip(found, operands, needs, strict=True)])


attention_gradients.defvjp_all(_gradients_rule)
