"""Distributions made of gamma distributed numbers, with gradients in their shapes: beta, Dirichlet's and Student's as well."""

import math
from typing import ClassVar

from ...errors import ShapeError
from ...ops.manipulation.joins import stack
from ...ops.random.draws import default_generator
from ...ops.random.gammas import random_dirichlet, words_of_gamma
from ...tensor import distributions as draws
from ..kinds import operand
from ..nn import functional
from ..special import gammainc
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, normally


class Gamma(Distribution):
    """Positive numbers with a density proportional to x^(concentration - 1) exp(-rate x).

    >>> import retrograde.torch as torch
    >>> a = torch.tensor([0.5, 4.0], requires_grad=True)
    >>> torch.distributions.Gamma(a, 2.0).rsample().sum().backward()
    >>> bool((a.grad > 0).all())
    True
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    _ranks: ClassVar = {"concentration": 0, "rate": 0}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape=()):
        return draws.gamma(self.concentration, 1.0, self._extended_shape(sample_shape)) / self.rate

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    def cdf(self, value):
        self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """Sums of `df` squares of normal numbers."""

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        (df,) = broadcast_all(df)
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)
        if self._validate_args:
            self._check(constraints.positive, df, "the parameter df", "")

    df = property(lambda self: 2 * self.concentration, doc="How many squares are summed.")

    def __repr__(self):
        return f"Chi2(df: {self.df if self.df.numel() == 1 else self.df.size()})"


class Dirichlet(Distribution):
    """Vectors of positive numbers whose sum is 1, with a density proportional to the product of x_i^(concentration_i - 1)."""

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    _ranks: ClassVar = {"concentration": 1}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        self.concentration = operand(concentration, "concentration")
        if self.concentration.dim() < 1:
            raise ShapeError("Dirichlet needs a concentration with an axis, got a single number")
        super().__init__(self.concentration.shape[:-1], self.concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0)
        total = above.sum(-1, True)
        found = (above / total.masked_fill(total == 0, 1)).masked_fill(total == 0, math.nan)
        # Where every corner has an infinite density PyTorch names the first; where none is known, NaN.
        corner = functional.one_hot(self.concentration.argmax(-1) * 0, above.shape[-1]).to(above.dtype)
        return corner.where((self.concentration < 1).all(-1, True), found)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return random_dirichlet(default_generator.take(words_of_gamma(concentration.numel())), concentration)

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a = self.concentration
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (a.shape[-1] - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)


class Beta(Distribution):
    """Numbers between 0 and 1 with a density proportional to x^(concentration1 - 1) (1 - x)^(concentration0 - 1)."""

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    _ranks: ClassVar = {"concentration1": 0, "concentration0": 0}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _pair(self):
        return Dirichlet(stack([self.concentration1, self.concentration0], -1), validate_args=False)

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._pair().mode[..., 0])
    variance = property(lambda self: self._pair().variance[..., 0])

    def rsample(self, sample_shape=()):
        return self._pair().rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        self._validate_sample(value)
        return self._pair().log_prob(stack([value, 1 - value], -1))

    def entropy(self):
        return self._pair().entropy()


class StudentT(Distribution):
    """Student's t with `df` degrees of freedom, moved by `loc` and stretched by `scale`."""

    arg_constraints: ClassVar = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    _ranks: ClassVar = {"df": 0, "loc": 0, "scale": 0}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        above = self.df.where(self.df > 2, 3)
        return (self.scale**2 * above / (above - 2)).masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        squares = 2 * draws.gamma(0.5 * self.df, 1.0, shape)
        return self.loc + self.scale * normally(shape, self.df.dtype) * (squares / self.df).rsqrt()

    def log_prob(self, value):
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - (half + 0.5).lgamma()
        return -(half + 0.5) * (y * y / self.df).log1p() - scale

    def entropy(self):
        half = 0.5 * self.df
        beta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        return self.scale.log() + (half + 0.5) * ((half + 0.5).digamma() - half.digamma()) + 0.5 * self.df.log() + beta
