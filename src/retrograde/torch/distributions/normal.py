"""The normal distribution of numbers and of vectors."""

import math
from typing import ClassVar

import numpy as np

from ...errors import ArgumentError, ShapeError
from .. import linalg
from ..creation import eye
from ..kinds import operand
from ..shapes import Size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, normally


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> import retrograde.torch as torch
    >>> d = torch.distributions.Normal(torch.tensor([0.0, 1.0]), 2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.sample((3,)).shape
    (tensor([-1.7371, -1.6121]), torch.Size([3, 2]))
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    _ranks: ClassVar = {"loc": 0, "scale": 0}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale * self.scale)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + normally(shape, self.loc.dtype) * self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class MultivariateNormal(Distribution):
    """The normal distribution of vectors of mean `loc`, with a covariance, its inverse, or a lower triangular `scale_tril` whose
    product with its transpose is the covariance.

    >>> import retrograde.torch as torch
    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> d.log_prob(torch.ones(2)), d.event_shape
    (tensor(-2.7205), torch.Size([2]))
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }
    _ranks: ClassVar = {"loc": 1, "_factor": 2, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {name: operand(x, name) for name, x in given.items() if x is not None}
        loc = operand(loc, "loc")
        if len(given) != 1:
            raise ArgumentError("MultivariateNormal needs one of covariance_matrix, precision_matrix and scale_tril, got "
                                f"{[*given] or 'none'}")
        name, matrix = next(iter(given.items()))
        if loc.dim() < 1 or matrix.dim() < 2:
            raise ShapeError(f"MultivariateNormal needs vectors and matrices, got loc of shape {tuple(loc.shape)} and {name} of "
                             f"shape {tuple(matrix.shape)}")
        batch = Size(np.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1])))
        size = matrix.shape[-1]
        self.loc = loc.expand(batch + Size((size,)))
        matrix = matrix.expand(batch + Size((size, size)))
        self.__dict__[name] = matrix
        super().__init__(batch, (size,), validate_args=validate_args)
        self._factor = _FACTORS[name](matrix)

    def _derived(self, name, compute):
        return self.__dict__[name] if name in self.__dict__ else compute()

    scale_tril = property(lambda self: self._derived("scale_tril", lambda: self._factor),
                          lambda self, x: self.__dict__.update(scale_tril=x), doc="The factor of the covariance.")
    covariance_matrix = property(lambda self: self._derived("covariance_matrix", lambda: self._factor @ self._factor.mT),
                                 lambda self, x: self.__dict__.update(covariance_matrix=x), doc="The covariance.")
    precision_matrix = property(lambda self: self._derived("precision_matrix", lambda: linalg.inv(self.covariance_matrix)),
                                lambda self, x: self.__dict__.update(precision_matrix=x), doc="The inverse of the covariance.")
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self._factor * self._factor).sum(-1))

    def rsample(self, sample_shape=()):
        noise = normally(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance(self._factor, value - self.loc)) - half_log_det(
            self._factor)

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(self._factor)


def half_log_det(factor):
    """Half of the logarithm of the determinant of a covariance, from its factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def distance(factor, difference):
    """The square of Mahalanobis' distance."""
    shape = np.broadcast_shapes(tuple(factor.shape[:-2]), tuple(difference.shape[:-1]))
    n = difference.shape[-1]
    found = linalg.solve_triangular(factor.expand(*shape, n, n), difference.expand(*shape, n).unsqueeze(-1), upper=False)
    return (found * found).sum((-2, -1))


def _factor_of_precision(matrix):
    """The factor of the inverse: that of the matrix turned round, turned round and inverted."""
    turned = linalg.cholesky(matrix.flip(-2, -1)).flip(-2, -1).mT
    identity = eye(matrix.shape[-1], dtype=matrix.dtype).expand(matrix.shape)
    return linalg.solve_triangular(turned, identity, upper=False)


_FACTORS = {"scale_tril": lambda x: x, "covariance_matrix": linalg.cholesky, "precision_matrix": _factor_of_precision}
