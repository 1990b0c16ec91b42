"""Distributions of PyTorch's names: densities, samples with gradients, divergences.

>>> import retrograde.torch as torch
>>> from retrograde.torch.distributions import Normal, kl_divergence
>>> p = Normal(torch.zeros(2), torch.tensor([1.0, 2.0]))
>>> kl_divergence(p, Normal(0.0, 1.0))
tensor([0.0000, 0.8069])
"""

from ..absent import absent_from
from . import constraints, kl, transforms
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .continuous import Exponential, Laplace, Uniform
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .distribution import Distribution
from .gammas import Beta, Chi2, Dirichlet, Gamma, StudentT
from .kl import kl_divergence, register_kl
from .normal import MultivariateNormal, Normal
from .transformed import Independent, LogNormal, TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Chi2", "ComposeTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "Gamma", "Geometric", "Independent", "IndependentTransform", "Laplace",
    "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "constraints", "identity_transform", "kl",
    "kl_divergence", "register_kl", "transforms",
]
__getattr__ = absent_from("torch.distributions", lambda: __all__)
