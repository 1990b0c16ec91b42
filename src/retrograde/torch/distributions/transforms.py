"""Transforms of values that can be inverted, with the logarithm of how much they stretch.

>>> import retrograde.torch as torch
>>> transform = torch.distributions.transforms.AffineTransform(1.0, 2.0)
>>> y = transform(torch.tensor(3.0))
>>> y, transform.inv(y), transform.log_abs_det_jacobian(torch.tensor(3.0), y)
(tensor(7.), tensor(3.), tensor(0.6931))
"""

import math
from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError, MissingRuleError
from ..creation import arange, zeros_like
from ..nn import functional
from ..shapes import Size
from . import constraints
from .utils import softplus, sum_rightmost


class Transform:
    """A function of values, with its inverse. Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    cache_size  accepted as in PyTorch: with 1 the last value and result are kept, so that inverting gives back the very value
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ArgumentError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size, self._last = cache_size, (None, None)

    @property
    def inv(self) -> "Transform":
        """The inverse."""
        return Inverse(self)

    @property
    def event_dim(self):
        """How many axes its values have, before and after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError(f"{self!r} changes the axes of events; ask .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        raise MissingRuleError(f"{type(self).__name__} neither rises nor falls")

    def with_cache(self, cache_size=1):
        """The same transform with a cache, or without."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), _cache_size=cache_size, _last=(None, None))
        return made

    def __call__(self, x):
        return self._kept(x, 0, self._call)

    def inverted(self, y):
        """The value that `y` comes from."""
        return self._kept(y, 1, self._inverse)

    def _kept(self, given, place, compute) -> Any:
        if self._cache_size and given is self._last[place]:
            return self._last[1 - place]
        found = compute(given)
        # What is traced must not be kept beyond its trace.
        if self._cache_size and not given.is_traced:
            self._last = (given, found) if place == 0 else (found, given)
        return found

    def _call(self, x) -> Any:
        raise MissingRuleError(f"{type(self).__name__} cannot be computed")

    def _inverse(self, y) -> Any:
        raise MissingRuleError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x, y) -> Any:
        """The logarithm of the size of the derivative at `x`, whose result is `y`."""
        raise MissingRuleError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape):
        """The shape of the result for a value of a shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the value for a result of a shape."""
        return shape

    def _facts(self):
        """What tells two transforms of one class apart."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __eq__(self, other):
        return type(self) is type(other) and _are_equal(self._facts(), other._facts())

    __hash__: Any = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{n}={v}' for n, v in self._facts().items())})"


def _are_equal(a: dict[str, Any], b: dict[str, Any]):
    """Whether facts are equal."""
    return a.keys() == b.keys() and all(_is_equal(value, b[name]) for name, value in a.items())


def _is_equal(x: Any, y: Any):
    """Whether two values are equal: tensors of the same numbers are."""
    if x is y or not isinstance(x, Value) and not isinstance(y, Value):
        return x is y or x == y
    return bool((x == y).all())


class Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    inv: Any = property(lambda self: self.base)
    domain: Any = property(lambda self: self.base.codomain)
    codomain: Any = property(lambda self: self.base.domain)
    bijective: Any = property(lambda self: self.base.bijective)
    sign: Any = property(lambda self: self.base.sign)

    def __call__(self, x):
        return self.base.inverted(x)

    def inverted(self, y):
        return self.base(y)

    def with_cache(self, cache_size=1):
        return self.base.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x, y):
        return -self.base.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self.base.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self.base.forward_shape(shape)


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
        facts = np.finfo(x.dtype)
        return x.sigmoid().clamp(min=float(facts.tiny), max=1 - float(facts.eps))

    def _inverse(self, y):
        facts = np.finfo(y.dtype)
        y = y.clamp(min=float(facts.tiny), max=1 - float(facts.eps))
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
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=float(np.finfo(y.dtype).tiny))
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


def _broadcast(shape, *others):
    return Size(np.broadcast_shapes(tuple(shape), *[tuple(getattr(x, "shape", ())) for x in others]))


def _of_rank(constraint, rank):
    """A constraint of events with `rank` axes."""
    return constraints.independent(constraint, rank - constraint.event_dim) if rank > constraint.event_dim else constraint


identity_transform = ComposeTransform([])
