"""Elementary functions as LLVM IR on scalars and vectors; importing the package fills the table of `table.py`."""

from . import (
    activation,
    beta_slope,
    division,
    exponential,
    gamma,
    gamma_slope,
    hyperbolic,
    inverse,
    logarithmic,
    powers,
    quantiles,
    special,
    trigonometric,
)
from .table import FUNCTIONS, NAMES

__all__ = [
    "FUNCTIONS",
    "NAMES",
    "activation",
    "beta_slope",
    "division",
    "exponential",
    "gamma",
    "gamma_slope",
    "hyperbolic",
    "inverse",
    "logarithmic",
    "powers",
    "quantiles",
    "special",
    "trigonometric",
]
