"""SciPy by way of tensors."""

from . import linalg, special
