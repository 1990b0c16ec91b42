"""Distributions of numbers that are functions of evenly spread ones: uniform, exponential, Laplace's."""

import math
from typing import ClassVar

from ...errors import ArgumentError
from ...tensor.namespace import finfo
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, evenly, is_true


class Uniform(Distribution):
    """Numbers spread evenly from `low` to `high`."""

    arg_constraints: ClassVar = {"low": constraints.dependent, "high": constraints.dependent}
    _ranks: ClassVar = {"low": 0, "high": 0}
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not is_true(self.low < self.high):
            raise ArgumentError(f"Uniform needs low < high, got {low} and {high}")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """From `low` to `high`."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: self.high * float("nan"))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)

    def rsample(self, sample_shape=()):
        return self.low + evenly(self._extended_shape(sample_shape), self.low.dtype) * (self.high - self.low)

    def log_prob(self, value):
        self._validate_sample(value)
        is_outside = (value < self.low) | (value >= self.high)
        return (value * 0).masked_fill(is_outside, -math.inf) - (self.high - self.low).log()

    def cdf(self, value):
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(Distribution):
    """Waiting times of mean 1 / `rate`."""

    arg_constraints: ClassVar = {"rate": constraints.positive}
    _ranks: ClassVar = {"rate": 0}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = stddev = property(lambda self: 1 / self.rate)
    mode = property(lambda self: self.rate * 0)
    variance = property(lambda self: self.rate**-2)

    def rsample(self, sample_shape=()):
        return -(-evenly(self._extended_shape(sample_shape), self.rate.dtype)).log1p() / self.rate

    def log_prob(self, value):
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1 - self.rate.log()


class Laplace(Distribution):
    """Numbers with the density exp(-|x - loc| / scale) / (2 scale)."""

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    _ranks: ClassVar = {"loc": 0, "scale": 0}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape=()):
        even = evenly(self._extended_shape(sample_shape), self.loc.dtype)
        # The logarithm of 0 is infinite: it is half a step up.
        side = 2 * even.clamp(min=finfo(even.dtype).eps / 4) - 1
        return self.loc - self.scale * side.sign() * (-side.abs()).log1p()

    def log_prob(self, value):
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._validate_sample(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * (-apart.abs() / self.scale).expm1()

    def icdf(self, value):
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()
