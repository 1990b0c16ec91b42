"""Linear algebra of matrices in the last two axes, by the names of the Array API standard, NumPy and PyTorch."""

from .ops.linalg.contractions import matmul, outer
from .ops.linalg.determinants import adjugate, det, slogdet
from .ops.linalg.eigen import eig, eigvals, matrix_exp
from .ops.linalg.factorizations import cholesky, eigh, eigvalsh, qr, svd, svdvals
from .ops.linalg.inverses import inv, lstsq, matrix_power, pinv, solve, tensorinv, tensorsolve
from .ops.linalg.matrices import linalg_diagonal as diagonal
from .ops.linalg.matrices import linalg_trace as trace
from .ops.linalg.matrices import vander
from .ops.linalg.norms import cond, matrix_norm, matrix_rank, vector_norm
from .ops.linalg.norms import linalg_norm as norm
from .ops.linalg.tensors import cross, multi_dot, tensordot, vecdot
from .ops.linalg.triangular import solve_triangular
from .ops.manipulation.movements import matrix_transpose
from .tensor.elsewhere import absent_from

__all__ = [
    "adjugate", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vander", "vecdot",
    "vector_norm",
]

__getattr__ = absent_from(__name__)
