"""Distributions by the names of scipy.stats, differentiable in their arguments."""

from . import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t
