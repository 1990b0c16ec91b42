"""Choices among some: their numbers, or one-hot vectors."""

import math
from typing import ClassVar

import numpy as np

from ...errors import ShapeError
from ...tensor import distributions as draws
from ...tensor.namespace import finfo
from ..creation import arange, eye
from ..kinds import operand, tensor_of
from ..nn import functional
from ..shapes import Size
from . import constraints
from .distribution import Distribution
from .utils import logits_to_probs, one_of, probs_to_logits


class Categorical(Distribution):
    """The integers from 0 on, with chances along the last axis of `probs`, or by their logarithms `logits` of any scale.

    >>> import retrograde.torch as torch
    >>> d = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> d.log_prob(torch.tensor(1)).exp(), d.sample((5,)).shape
    (tensor(0.7500), torch.Size([5]))
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _ranks: ClassVar = {"probs": 1, "logits": 1}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        is_probs = one_of("one of probs and logits", probs, logits)
        given = operand(probs if is_probs else logits, "probs" if is_probs else "logits")
        if given.dim() < 1:
            raise ShapeError("Categorical needs chances with an axis, got a single number")
        # Both are brought to a sum of 1.
        if is_probs:
            self.__dict__["probs"] = given / given.sum(-1, True)
        else:
            self.__dict__["logits"] = given - given.logsumexp(-1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @property
    def probs(self):
        """The chances."""
        given = self.__dict__
        return given["probs"] if "probs" in given else logits_to_probs(given["logits"])

    @probs.setter
    def probs(self, probs):
        self.__dict__["probs"] = probs

    @property
    def logits(self):
        """The logarithms of the chances."""
        given = self.__dict__
        return given["logits"] if "logits" in given else probs_to_logits(given["probs"])

    @logits.setter
    def logits(self, logits):
        self.__dict__["logits"] = logits

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """The integers below the number of choices."""
        return constraints.integer_interval(0, self._num_events - 1)

    param_shape = property(lambda self: self._batch_shape + Size((self._num_events,)), doc="The shape of the parameter.")
    mean = variance = property(lambda self: self.probs.sum(-1) * float("nan"))
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape=()):
        probs = self.probs
        logits = probs.masked_fill(probs == 0, 1).log().masked_fill(probs == 0, -math.inf)
        return tensor_of(draws.categorical(logits, -1, Size(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        shape = np.broadcast_shapes(tuple(value.shape), tuple(self._batch_shape))
        places = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand(*shape, self._num_events).gather(-1, places).squeeze(-1)

    def entropy(self):
        logits = self.logits
        return -(logits.clamp(min=finfo(logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = arange(self._num_events).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class OneHotCategorical(Distribution):
    """One-hot vectors, with the chances of `Categorical`."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The chances.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the chances.")
    param_shape = property(lambda self: self._categorical.param_shape, doc="The shape of the parameter.")
    mean = property(lambda self: self.probs)
    mode = property(lambda self: self._vectors(self.probs.argmax(-1)))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _vectors(self, places):
        return functional.one_hot(places, self._event_shape[0]).to(self.probs.dtype)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        vars(new)["_categorical"] = self._categorical.expand(batch_shape)
        return new

    def sample(self, sample_shape=()):
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        values = eye(n, dtype=self.probs.dtype).reshape(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values

    def __repr__(self):
        return f"OneHotCategorical{repr(self._categorical).removeprefix('Categorical')}"


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors through which the gradient flows as if they were the chances (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
