"""Distributions of counts and of yes and no: Bernoulli's, binomial, geometric, Poisson's."""

import math
from typing import ClassVar

import numpy as np

from ...errors import MissingRuleError
from ...ops.random.counts import random_binomial, random_poisson, words_of_counts
from ...ops.random.draws import default_generator
from ..creation import arange
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, evenly, logits_to_probs, one_of, probs_to_logits, softplus


class _Chances(Distribution):
    """Base of distributions of a chance, given as `probs` or as log-odds `logits`."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    _ranks: ClassVar = {"probs": 0, "logits": 0, "total_count": 0}

    def _given(self, probs, logits):
        name = "probs" if one_of("one of probs and logits", probs, logits) else "logits"
        (self.__dict__[name],) = broadcast_all(probs if logits is None else logits)
        return self.__dict__[name]

    @property
    def probs(self):
        """The chance of 1."""
        given = self.__dict__
        return given["probs"] if "probs" in given else logits_to_probs(given["logits"], is_binary=True)

    @probs.setter
    def probs(self, probs):
        self.__dict__["probs"] = probs

    @property
    def logits(self):
        """The logarithm of the odds of 1."""
        given = self.__dict__
        return given["logits"] if "logits" in given else probs_to_logits(given["probs"], is_binary=True)

    @logits.setter
    def logits(self, logits):
        self.__dict__["logits"] = logits

    param_shape = property(lambda self: next(iter(self._parameter())).size(), doc="The shape of the parameter.")

    def _parameter(self):
        return [self.__dict__[name] for name in ("probs", "logits") if name in self.__dict__]

    def _surprise(self):
        """The entropy of one yes or no."""
        return softplus(self.logits) - self.probs * self.logits


class Bernoulli(_Chances):
    """1 with the chance `probs`, which may be given by its log-odds `logits`, else 0."""

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._given(probs, logits).shape, validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        probs = self.probs
        return (probs >= 0.5).to(probs.dtype).masked_fill(probs == 0.5, float("nan"))

    def sample(self, sample_shape=()):
        probs = self.probs.detach()
        return (evenly(self._extended_shape(sample_shape), probs.dtype) < probs).to(probs.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        return value * self.logits - softplus(self.logits)

    def entropy(self):
        return self._surprise()

    def enumerate_support(self, expand=True):
        return _enumerated(self, 2, expand)


class Binomial(_Chances):
    """How many of `total_count` trials succeed, each with the chance `probs`."""

    arg_constraints: ClassVar = {"total_count": constraints.nonnegative_integer, **_Chances.arg_constraints}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        name = "probs" if one_of("one of probs and logits", probs, logits) else "logits"
        count, self.__dict__[name] = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = count.to(self.__dict__[name].dtype)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """The integers up to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        count, probs = (x.detach().expand(shape) for x in (self.total_count, self.probs))
        return random_binomial(default_generator.take(words_of_counts(probs.numel())), count, probs)

    def log_prob(self, value):
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * logits - n * softplus(logits) + ways

    def entropy(self):
        scores = self.log_prob(self.enumerate_support(expand=False))
        return -(scores.exp() * scores).sum(0)

    def enumerate_support(self, expand=True):
        counts = np.unique(self.total_count.detach().numpy())
        if len(counts) != 1:
            raise MissingRuleError(f"the values of Binomial are listed for one total_count only, got {counts}")
        return _enumerated(self, int(counts[0]) + 1, expand)


class Geometric(_Chances):
    """How many trials fail before the first that succeeds, each with the chance `probs`."""

    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._given(probs, logits).shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check(constraints.positive, self.probs, "the parameter probs", "")

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: self.probs * 0)
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape=()):
        probs = self.probs.detach()
        even = evenly(self._extended_shape(sample_shape), probs.dtype)
        is_certain = probs == 1
        return ((-even).log1p() / (-probs.masked_fill(is_certain, 0.5)).log1p()).floor().masked_fill(is_certain, 0)

    def log_prob(self, value):
        self._validate_sample(value)
        probs = self.probs
        # No failure is certain where success is, although the logarithm of the chance to fail is infinite.
        is_certain = probs == 1
        found = value * (-probs.masked_fill(is_certain, 0)).log1p() + probs.log()
        return found.masked_fill(is_certain & (value > 0), -math.inf)

    def entropy(self):
        return self._surprise() / self.probs


class Poisson(Distribution):
    """How many events happen in a time in which `rate` are expected."""

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    _ranks: ClassVar = {"rate": 0}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape=()):
        rate = self.rate.detach().expand(self._extended_shape(sample_shape))
        return random_poisson(default_generator.take(words_of_counts(rate.numel())), rate)

    def log_prob(self, value):
        self._validate_sample(value)
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()


def _enumerated(distribution, count, expand):
    """The numbers below `count` along a first axis, for the batch of a distribution."""
    values = arange(count, dtype=distribution.probs.dtype).reshape(-1, *[1] * len(distribution.batch_shape))
    return values.expand(-1, *distribution.batch_shape) if expand else values


