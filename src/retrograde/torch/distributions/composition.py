"""Transforms made of others, and of the axes of events."""

import math
from typing import Any

from ...errors import ArgumentError
from ..creation import zeros_like
from ..shapes import Size
from . import constraints
from .transform import Transform
from .utils import sum_rightmost


class ComposeTransform(Transform):
    """Transforms one after another."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else [*parts]

    bijective: Any = property(lambda self: all(part.bijective for part in self.parts))
    sign: Any = property(lambda self: math.prod([part.sign for part in self.parts]))

    @property
    def domain(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the first transform, with the axes that all of them need."""
        rank = self.parts[-1].codomain.event_dim if self.parts else 0
        for part in reversed(self.parts):
            rank = max(rank + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _of_rank(self.parts[0].domain if self.parts else constraints.real, rank)

    @property
    def codomain(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the last transform, with the axes that all of them need."""
        rank = self.parts[0].domain.event_dim if self.parts else 0
        for part in self.parts:
            rank = max(rank + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _of_rank(self.parts[-1].codomain if self.parts else constraints.real, rank)

    @property
    def inv(self):
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def with_cache(self, cache_size=1):
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def inverted(self, y):
        for part in reversed(self.parts):
            y = part.inverted(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return zeros_like(x)
        total, rank = 0, self.domain.event_dim
        for i, part in enumerate(self.parts):
            after = y if i == len(self.parts) - 1 else part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, after), rank - part.domain.event_dim)
            rank += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape


class IndependentTransform(Transform):
    """A transform of events with more axes."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims

    bijective: Any = property(lambda self: self.base_transform.bijective)
    sign: Any = property(lambda self: self.base_transform.sign)
    domain: Any = property(lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain: Any = property(lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims))

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform.inverted(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Events in another shape."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ArgumentError(f"in_shape and out_shape must have as many elements, got {tuple(in_shape)} and {tuple(out_shape)}")

    domain: Any = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain: Any = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(zeros_like(x), len(self.in_shape))

    def forward_shape(self, shape):
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape, old, new):
    cut = len(shape) - len(old)
    if cut < 0 or Size(shape[cut:]) != old:
        raise ArgumentError(f"a value must end in the axes {tuple(old)}, got shape {tuple(shape)}")
    return Size(shape[:cut]) + new


def _of_rank(constraint, rank):
    """A constraint of events with `rank` axes."""
    return constraints.independent(constraint, rank - constraint.event_dim) if rank > constraint.event_dim else constraint


identity_transform = ComposeTransform([])
