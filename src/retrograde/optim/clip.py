"""Clipping gradients, in place, between `backward` and `step`."""

from math import inf, isfinite

import numpy as np

from ..core import writes
from ..core.value import Value
from ..errors import AnomalyError
from ..tensor.tensor import Tensor


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scale all gradients together so that their norm, taken as one vector, is at most `max_norm`; returns the old norm.

    >>> p = rg.nn.Parameter(rg.ones(2))
    >>> (3 * p[0] + 4 * p[1]).backward()
    >>> rg.optim.clip_grad_norm_([p], 1.0), p.grad.norm() < 1
    (tensor(5.), tensor(True))
    """
    gradients = _gradients(parameters)
    total = _norm([_norm(g.data, norm_type) for g in gradients], norm_type)
    if error_if_nonfinite and not isfinite(total):
        raise AnomalyError(f"the norm of the gradients is {total}, so they cannot be clipped")
    scale = max_norm / (total + 1e-6)
    if not scale >= 1:
        for g in gradients:
            _write(g, g.data * scale if not g.data.flags.writeable else np.multiply(g.data, scale, g.data))
    return Tensor(np.asarray(total, gradients[0].dtype if gradients else np.float32))


def clip_grad_value_(parameters, clip_value):
    """Bring every element of every gradient between -`clip_value` and `clip_value`."""
    for g in _gradients(parameters):
        _write(g, np.clip(g.data, -clip_value, clip_value, out=g.data if g.data.flags.writeable else None))


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Value) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def _norm(numbers, order):
    flat = np.asarray(numbers, np.float64 if isinstance(numbers, list) else None).reshape(-1)
    if not flat.size:
        return 0.0
    if order == inf:
        return float(np.abs(flat).max())
    if order == 2:
        return float(np.sqrt(np.dot(flat, flat).astype(np.float64)))
    return float((np.abs(flat).astype(np.float64) ** order).sum() ** (1 / order))


def _write(g, data):
    if data is not g.data:
        g.data = data
    writes.stamp(g.algebra, g.data)
