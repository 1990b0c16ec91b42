"""Random tensors by the names of NumPy: numbers of many distributions, with gradients in their parameters where they exist.

>>> scale = rg.tensor([1.0, 2.0], requires_grad=True)
>>> rg.random.exponential(scale).sum().backward()
>>> scale.grad.shape
(2,)
"""

from .ops.random.draws import Generator, default_generator, manual_seed
from .tensor.distributions import (
    beta,
    categorical,
    cauchy,
    chisquare,
    choice,
    dirichlet,
    exponential,
    gamma,
    gumbel,
    gumbel_softmax,
    halfnormal,
    laplace,
    logistic,
    lognormal,
    pareto,
    rayleigh,
    student_t,
    weibull,
)
from .tensor.elsewhere import absent_from
from .tensor.random import bernoulli, normal, permutation, rand, randint, randn, uniform

standard_t = student_t

__all__ = [
    "Generator", "bernoulli", "beta", "categorical", "cauchy", "chisquare", "choice", "default_generator", "dirichlet",
    "exponential", "gamma", "gumbel", "gumbel_softmax", "halfnormal", "laplace", "logistic", "lognormal", "manual_seed",
    "normal", "pareto", "permutation", "rand", "randint", "randn", "rayleigh", "standard_t", "student_t", "uniform",
    "weibull",
]

__getattr__ = absent_from(__name__)
