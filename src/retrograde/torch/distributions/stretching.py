"""Transforms of numbers, one by one or along the last axis, by functions that have a name."""

import math
from typing import Any

import numpy as np

from ...core.value import Value
from ...tensor.namespace import finfo
from ..creation import arange, zeros_like
from ..nn import functional
from ..shapes import Size
from . import constraints
from .transform import Transform
from .utils import softplus, sum_rightmost


class _Rising(Transform):
    """Base of transforms of numbers that rise everywhere."""

    bijective = True
    sign: Any = 1


class ExpTransform(_Rising):
    """e^x."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x^exponent, of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent

    sign: Any = property(lambda self: self.exponent.sign() if isinstance(self.exponent, Value) else math.copysign(1, self.exponent))

    def _call(self, x):
        return x**self.exponent

    def _inverse(self, y):
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


class SigmoidTransform(_Rising):
    """1 / (1 + e^-x); the inverse of 0 and 1 is finite, as in PyTorch."""

    codomain = constraints.unit_interval

    def _call(self, x):
        facts = finfo(x.dtype)
        return x.sigmoid().clamp(min=facts.tiny, max=1 - facts.eps)

    def _inverse(self, y):
        facts = finfo(y.dtype)
        y = y.clamp(min=facts.tiny, max=1 - facts.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """ln(1 + e^x)."""

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Rising):
    """The hyperbolic tangent."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """The absolute value, whose inverse gives the positive number."""

    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale x; with `event_dim`, of events with so many axes."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._rank = loc, scale, event_dim

    event_dim: Any = property(lambda self: self._rank)
    domain: Any = property(lambda self: constraints.independent(constraints.real, self._rank) if self._rank else constraints.real)
    codomain: Any = domain
    sign: Any = property(lambda self: self.scale.sign() if isinstance(self.scale, Value) else math.copysign(1, self.scale))

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale
        found = scale.abs().log() if isinstance(scale, Value) else math.log(abs(scale))
        return sum_rightmost(zeros_like(x) + found, self._rank)

    def forward_shape(self, shape):
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """The softmax along the last axis, which is not bijective; its inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return functional.softmax(x, dim=-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors of n numbers to points of a simplex of n + 1: each number tells the part that is broken off what is left."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _call(self, x):
        logits = x - self._offset(x).log()
        parts = SigmoidTransform()(logits)
        left = functional.pad((1 - parts).cumprod(-1), (1, 0), value=1.0)
        return functional.pad(parts, (0, 1), value=1.0) * left

    def _inverse(self, y):
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return y[..., :-1].log() - left.log() + self._offset(y[..., :-1]).log()

    def log_abs_det_jacobian(self, x, y):
        logits = x - self._offset(x).log()
        return (-logits - softplus(-logits) + y[..., :-1].log()).sum(-1)

    @staticmethod
    def _offset(x):
        n = x.shape[-1]
        return n - arange(n, dtype=x.dtype)

    def forward_shape(self, shape):
        return shape[:-1] + Size((shape[-1] + 1,))

    def inverse_shape(self, shape):
        return shape[:-1] + Size((shape[-1] - 1,))


def _broadcast(shape, *others):
    return Size(np.broadcast_shapes(tuple(shape), *[tuple(getattr(x, "shape", ())) for x in others]))
