"""Random numbers: drawn by the generator of this library, so that a seed in the model does not make every call the same."""

import numpy as np

from ...ops.elementary.comparisons import less
from ...ops.elementary.conversions import astype
from ...tensor.random import rand, randn
from ..library import element_types
from ..rule import rule
from ..values import is_floating
from .creation import checked_shape


def _drawn(draw, shape, dtype, factor, shift):
    found = draw(*checked_shape(shape)) if len(shape) else draw(1).reshape(())
    return astype(found * factor + shift, dtype)


def _dtype(x, dtype):
    return element_types()[dtype] if dtype else x.dtype if is_floating(x) else np.dtype(np.float32)


@rule("RandomUniform")
def _uniform(*, shape, dtype=1, high=1.0, low=0.0, seed=None):
    return _drawn(rand, shape, element_types()[dtype], high - low, low)


@rule("RandomNormal")
def _normal(*, shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    return _drawn(randn, shape, element_types()[dtype], scale, mean)


@rule("RandomUniformLike")
def _uniform_like(x, /, *, dtype=None, high=1.0, low=0.0, seed=None):
    return _drawn(rand, x.shape, _dtype(x, dtype), high - low, low)


@rule("RandomNormalLike")
def _normal_like(x, /, *, dtype=None, mean=0.0, scale=1.0, seed=None):
    return _drawn(randn, x.shape, _dtype(x, dtype), scale, mean)


@rule("Bernoulli", since=15)
def _bernoulli(x, /, *, dtype=None, seed=None):
    return astype(less(_drawn(rand, x.shape, x.dtype, 1, 0), x), element_types()[dtype] if dtype else x.dtype)
