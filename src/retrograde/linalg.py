"""Linear algebra of matrices in the last two axes, by the names of the Array API standard, NumPy and PyTorch."""

from .ops.contractions import matmul, outer
from .ops.determinants import adjugate, det, slogdet
from .ops.eigen import eig, eigvals, matrix_exp
from .ops.factorizations import cholesky, eigh, eigvalsh, qr, svd, svdvals
from .ops.inverses import inv, lstsq, matrix_power, pinv, solve, tensorinv, tensorsolve
from .ops.matrices import linalg_diagonal as diagonal
from .ops.matrices import linalg_trace as trace
from .ops.matrices import vander
from .ops.movements import matrix_transpose
from .ops.norms import cond, matrix_norm, matrix_rank, vector_norm
from .ops.norms import linalg_norm as norm
from .ops.tensors import cross, multi_dot, tensordot, vecdot
from .ops.triangular import solve_triangular
from .tensor.elsewhere import absent_from

__all__ = [
    "adjugate", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vander", "vecdot",
    "vector_norm",
]

__getattr__ = absent_from(__name__)
