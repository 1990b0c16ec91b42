"""Linear algebra as generated machine code: triangular equations and factorizations of matrices in the last two axes."""

from .cholesky import CholeskyPlan, write_cholesky
from .spec import spec_for
from .triangular import TriangularPlan, write_triangular

__all__ = ["CholeskyPlan", "TriangularPlan", "spec_for", "write_cholesky", "write_triangular"]
