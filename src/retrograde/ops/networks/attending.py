"""The inside of attention: its weights, and the two ops that a compiler makes of it, which never hold all weights at once.

The log of the sum of a row's exponentials is all that is kept of its weights: Dao et al., "FlashAttention" (2022).
"""

from functools import lru_cache
from math import prod

import numpy as np

from ...errors import ShapeError
from ...shapes import mismatch
from .._families import composite
from .._samples import call, of, uniform
from ..axes.reductions import max, sum
from ..elementary.comparisons import isfinite, where
from ..elementary.conversions import astype
from ..elementary.exponential import exp, log
from ..linalg.contractions import matmul
from ..manipulation.movements import transpose, unbroadcast
from .activation import softmax

_MASK = np.array([[True, False, False, True], [True, True, True, True], [False, False, True, False]])


def chances(query, key, attn_mask, is_causal, scale):
    """The softmax of the scaled products; zeros for a query that may look nowhere."""
    if attn_mask is None:  # every query may look somewhere
        return softmax(_scores(query, key, None, is_causal, scale), -1)
    powers, _, total = _powers(query, key, attn_mask, is_causal, scale)
    return powers / where(total == 0, 1, total)


def _powers(query, key, attn_mask, is_causal, scale):
    """Exponentials of the scaled products less the greatest of each row, these, and the sums of rows."""
    scores = _scores(query, key, attn_mask, is_causal, scale)
    top = max(scores, -1, keepdims=True)
    top = top if attn_mask is None else where(isfinite(top), top, 0)
    powers = exp(scores - top)
    return powers, top, sum(powers, -1, keepdims=True)


def _scores(query, key, attn_mask, is_causal, scale):
    scores = matmul(query * scale, transpose(key))
    if is_causal:
        scores = where(_past(*scores.shape[-2:]), scores, -np.inf)
    if attn_mask is not None:
        scores = where(attn_mask, scores, -np.inf) if attn_mask.dtype.kind == "b" else scores + attn_mask
    return scores


@lru_cache(maxsize=32)
def _past(length, keys):
    """Where query i may look: at keys up to i. The same array each time, so that a compiler sees that it is the same."""
    return np.tri(length, keys, dtype=bool)


def is_plain(query, key, value, attn_mask):
    """Whether operands are such as kernels are written for: of one type of float, and not empty."""
    others = [key, value] if attn_mask is None or attn_mask.dtype.kind == "b" else [key, value, attn_mask]
    has_dtypes = query.dtype in (np.float32, np.float64) and all([x.dtype == query.dtype for x in others])
    return has_dtypes and prod([*query.shape, *key.shape, *value.shape, *result_shape(query, key, value, attn_mask)]) > 0


def result_shape(query, key, value, attn_mask, *_):
    """The shape of what attention gives; a ShapeError if operands do not fit each other."""
    check_mask(attn_mask, query.shape[-2], key.shape[-2])
    return *batch_of(query, key, value, attn_mask), query.shape[-2], value.shape[-1]


def check_mask(attn_mask, queries, keys):
    """Raise a ShapeError unless the last axes of a mask fit as many queries and keys."""
    if attn_mask is not None and any([n not in (1, m) for n, m in zip(attn_mask.shape[::-1], (keys, queries), strict=False)]):
        raise ShapeError(f"attn_mask must broadcast to (..., L, S), here (..., {queries}, {keys}), got {tuple(attn_mask.shape)}")


def batch_of(*operands):
    """The leading axes of all operands together, None among them."""
    return np.broadcast_shapes(*_fitting(*[x.shape[:-2] for x in operands if x is not None]))


def _fitting(*shapes):
    """`shapes`; a ShapeError unless they broadcast."""
    if wrong := mismatch(shapes):
        raise ShapeError(f"batches and masks of query, key and value must fit each other: {wrong}")
    return shapes


def _with_sums_shapes(query, key, value, attn_mask, *_):
    shape = result_shape(query, key, value, attn_mask)
    return [shape, (*shape[:-1], 1)]


@composite(is_public=False, is_composite=False, is_multiple=True, is_differentiable=False, result_shape=_with_sums_shapes,
           result_dtype=lambda query, *_: query.dtype, samples=(
    call((3, 2), (4, 2), (4, 3), None, False, 1.0), call((2, 3, 2), (2, 4, 2), (2, 4, 2), None, True, 0.5),
    call((2, 2, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), (3, 4), False, 0.5), call((2, 3, 2), (2, 4, 2), (2, 4, 2), _MASK, False, 1.0)))
def attention_with_sums(query, key, value, attn_mask, /, is_causal, scale):
    r"""`attention`, and for each query the log of the sum of the exponentials of its products: infinity if it looks nowhere.

    $Z = P\,V$ with $P = e^{s\,Q K^\top + M - L}$, where $L$ is what makes each row of $P$ add up to 1.
    """
    powers, top, total = _powers(query, key, attn_mask, is_causal, scale)
    if attn_mask is not None:
        top, total = where(total == 0, np.inf, top), where(total == 0, 1, total)
    shape = _with_sums_shapes(query, key, value, attn_mask)[1]
    return tuple([astype(x, query.dtype) for x in (matmul(powers / total, value), np.broadcast_to(top + log(total), shape))])


def _sums(*shape):
    """For samples: sums of `shape` that are no less than the products, so that no weight is great."""
    return of((*shape, 1), uniform(12, 16))


def _backward_shapes(_, query, key, value, attn_mask, *__):
    batch = result_shape(query, key, value, attn_mask)[:-2]
    shared = (*batch[:-1], 1) if are_shared(batch, key, value) else batch
    return [(*batch, *query.shape[-2:]), (*shared, *key.shape[-2:]), (*shared, *value.shape[-2:])]


def are_shared(batch, key, value):
    """Whether all of the last of the leading axes use the same keys and values."""
    return len(batch) > 0 and all([x.ndim < 3 or x.shape[-3] == 1 for x in (key, value)])


@composite(is_public=False, is_composite=False, is_multiple=True, is_differentiable=False, result_shape=_backward_shapes,
           result_dtype=lambda _, query, *__: query.dtype, samples=(
    call((3, 3), (3, 2), (4, 2), (4, 3), None, _sums(3), (3, 1), False, 1.0),
    call((2, 3, 2), (2, 3, 2), (2, 4, 2), (2, 4, 2), _MASK, _sums(2, 3), (2, 3, 1), False, 1.0),
    call((2, 2, 3, 3), (2, 2, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), (3, 4), _sums(2, 2, 3), (2, 2, 3, 1), True, 0.5)))
def attention_backward(cotangent, query, key, value, attn_mask, sums, means, /, is_causal, scale):
    r"""What `attention` hands back to query, key and value, from its cotangent $\bar Z$, the `sums` $L$ of
    `attention_with_sums` and `means` $= \operatorname{rows}(\bar Z \circ Z)$.

    With $P = e^{s\,Q K^\top + M - L}$ and $H = P \circ (\bar Z V^\top - \operatorname{means})$: $\bar Q = s\,H K$,
    $\bar K = s\,H^\top Q$, $\bar V = P^\top \bar Z$. All have the leading axes of $\bar Z$; the last of these has size 1
    where all of it shares keys and values.
    """
    weights = exp(_scores(query, key, attn_mask, is_causal, scale) - sums)
    slopes = weights * (matmul(cotangent, transpose(value)) - means)
    found = matmul(slopes, key) * scale, matmul(transpose(slopes), query) * scale, matmul(transpose(weights), cotangent)
    shapes = _backward_shapes(None, query, key, value, attn_mask)
    return tuple([astype(unbroadcast(x, shape), query.dtype) for x, shape in zip(found, shapes, strict=True)])
