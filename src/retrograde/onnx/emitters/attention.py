"""Attention, written as the products and the softmax that it is."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import emits
from ..dimensions import Dimension
from .elementwise import met


@emits("attention")
def _attention(e, node, query, key, value, attn_mask=None, is_causal=False, scale=1.0, dropped=None, factor=1.0):
    if dropped is not None:
        raise UnsupportedOnnxError("attention with dropout draws random numbers, and a model in ONNX keeps no state; export it in "
                                   "eval() mode")
    dtype, ndim = node.dtype, len(key.shape)
    turned = e.add("Transpose", [e(key, dtype)], perm=[*range(ndim - 2), ndim - 1, ndim - 2])
    scores = e.add("MatMul", [e.add("Mul", [e(query, dtype), e(scale, dtype)]), turned])
    hidden = None
    if is_causal:
        hidden = e.add("Not", [_causal(e, query.shape[-2], key.shape[-2])])
    elif attn_mask is not None and met(attn_mask).kind == "b":
        hidden = e.add("Not", [e(attn_mask)])
    elif attn_mask is not None:
        scores = e.add("Add", [scores, e(attn_mask, dtype)])
        hidden = e.add("Equal", [e(attn_mask, dtype), e(-np.inf, dtype)])
    if hidden is not None:
        scores = e.add("Where", [hidden, e(-np.inf, dtype), scores])
    weights = e.add("Softmax", [scores], axis=-1)
    # A query that may look nowhere gives zeros; its softmax is no number.
    weights = weights if hidden is None else e.add("Where", [hidden, e(0, dtype), weights])
    return e.add("MatMul", [weights, e(value, dtype)])


def _causal(e, queries, keys):
    """Where a query may look: at keys up to its own place."""
    if not isinstance(queries, Dimension) and not isinstance(keys, Dimension):
        return e.constant(np.tri(queries, keys, dtype=bool))
    zero, one = e.scalar(0), e.scalar(1)
    rows, columns = [e.add("Range", [zero, e.scalar(n), one]) for n in (queries, keys)]
    return e.add("GreaterOrEqual", [e.add("Unsqueeze", [rows, e.constant(np.array([1], np.int64))]), columns])
