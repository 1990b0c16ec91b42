"""Dropout: elements set to zero at random, so that a network does not rely on any single one."""

from math import prod
from numbers import Real
from typing import Any

import numpy as np

from ...errors import ArgumentError
from .._arrays import shape_of
from .._families import elementwise
from .._samples import call
from ..elementary.comparisons import where
from .draws import default_generator, random_mask


def dropout(x, /, p=0.5, training=True, generator=None):
    """`x` with each element set to 0 with probability `p`, the others divided by 1 - `p`; `x` itself unless `training`.

    The mean stays what it was. Hinton et al., "Improving neural networks by preventing co-adaptation" (2012).

    >>> rg.ops.dropout.dropout(rg.tensor([1.0, 2.0]), p=0.5, training=False)
    tensor([1., 2.])
    """
    return _dropped(x, shape_of(x), p, training, generator)


def feature_dropout(x, /, p=0.5, training=True, generator=None):
    """`dropout` of whole channels: axes 0 and 1 of `x` are drawn, all others go with them. `Dropout2d` in PyTorch."""
    return _dropped(x, x.shape[:2] + (1,) * (x.ndim - 2), p, training, generator)


def _dropped(x, shape, p, training, generator):
    _check_chance(p)
    if not training or p == 0:
        return x
    return drop(x, kept(p, shape, generator), 0.0 if p == 1 else 1 / (1 - p))


#: What `selu` tends to far below zero.
_LEAST = -1.7580993408473766


def alpha_dropout(x, p, training, shape, generator=None):
    """`x` with elements set to the least value of `selu` with probability `p`, drawn in `shape`, scaled and moved back to its mean
    and variance.
    """
    _check_chance(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    scale = ((1 - p) * (1 + p * _LEAST**2)) ** -0.5
    return where(kept(p, shape, generator), x, _LEAST) * scale - scale * _LEAST * p


def _check_chance(p: Any):
    if not isinstance(p, Real) or not 0 <= float(p) <= 1:
        raise ArgumentError(f"p, the probability of dropping, must lie between 0 and 1, got {p!r}")


def kept(p, shape, generator=None):
    """Booleans of `shape`, each False with probability `p`."""
    if p == 1:
        return np.zeros(shape, bool)
    state = (generator or default_generator).take(prod(shape))
    return random_mask(state, tuple(shape), p)


def _drop_in_ops(x, mask, scale):
    return x * scale * mask


@elementwise(is_public=False, keeps_sizes=True, broadcasts=False, expansion=_drop_in_ops, samples=(
    call((2, 3), mask=np.array([[True, False, True], [False, True, True]]), scale=2.0),
    call((2, 3), mask=np.array([[True], [False]]), scale=1.25)))
def drop(x, /, mask, scale):
    r"""`x` times `scale` where `mask` holds, else 0: the arithmetic of `dropout`.

    $z = s\,m\,x \;\Rightarrow\; \bar x = s\,m\,\bar z$
    """
    result = x * scale
    result *= mask
    return result


drop.defvjp(lambda g, mask, scale: drop(g, mask, scale))
