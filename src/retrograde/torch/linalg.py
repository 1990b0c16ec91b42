"""`torch.linalg`: that of `rg`, with PyTorch's names of arguments, and named results."""

from collections import namedtuple
from typing import Any

from .. import linalg as rg
from ..core.mode import no_grad, whole
from ..errors import ArgumentError
from ..ops.linalg.norms import matrix_norm as _matrix_norm
from ..ops.linalg.norms import vector_norm as _vector_norm
from ..ops.manipulation.joins import concatenate
from .absent import absent_from
from .amp import lowered
from .binding import counted
from .differing import axes
from .functions.factors import Underived, householder_product, lu_factor, lu_factor_ex, lu_of, lu_solve_with
from .kinds import operand
from .nn.functional import handed

__all__ = ["cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul",
           "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
           "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm"]


def _named(name, fields):
    made = namedtuple(name, fields)
    made.__module__ = "retrograde.torch.return_types"
    return made


_QR, _SVD, _EIGH, _EIG = (_named(n, f) for n, f in (
    ("qr", "Q R"), ("svd", "U S Vh"), ("eigh", "eigenvalues eigenvectors"), ("eig", "eigenvalues eigenvectors")))
_SOLVE_EX, _CHOLESKY_EX = _named("solve_ex", "result info"), _named("cholesky_ex", "L info")
_SLOGDET, _LSTSQ, _INV = (_named(n, f) for n, f in (
    ("slogdet", "sign logabsdet"), ("lstsq", "solution residuals rank singular_values"), ("inv_ex", "inverse info")))

lu, lu_solve = lu_of, lu_solve_with
for _name in ("det", "eigvals", "inv", "matrix_exp", "matrix_power", "multi_dot", "svdvals", "tensorinv", "tensorsolve"):
    globals()[_name] = handed(getattr(rg, _name))


def cholesky(A, *, upper=False):
    """The triangular factor of a matrix that is positive definite."""
    return rg.cholesky(operand(A, "A"), upper=upper)


def solve(A, B, *, left=True):
    """X in A X = B; in X A = B without `left`."""
    if left:
        is_vector = B.ndim == 1 or B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1])
        return rg.solve(operand(A, "A"), B.unsqueeze(-1)).squeeze(-1) if is_vector else rg.solve(operand(A, "A"), B)
    return solve(A.mT, B.mT).mT


def solve_ex(A, B, *, left=True, check_errors=False):
    """`solve`, and zeros; a matrix that has no inverse is an error here."""
    found = solve(A, B, left=left)
    return _SOLVE_EX(found, found.new_zeros(tuple(A.shape[:-2]), dtype="int32"))


def cholesky_ex(A, *, upper=False, check_errors=False):
    """`cholesky`, and zeros; a matrix that is not positive definite is an error here."""
    found = cholesky(A, upper=upper)
    return _CHOLESKY_EX(found, found.new_zeros(tuple(A.shape[:-2]), dtype="int32"))


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X in A X = B, where A is triangular."""
    return rg.solve_triangular(operand(A, "A"), B, upper=upper, left=left, unitriangular=unitriangular)


def qr(A, mode="reduced"):
    """Orthonormal columns Q and a triangular R with Q R = A."""
    return _QR(*rg.qr(operand(A, "A"), mode=mode))


def svd(A, full_matrices=True, *, driver=None):
    """U, singular values and V conjugate transposed, of which A is the product.

    The rows and columns that `full_matrices` adds are any basis of what is left, and have no derivative.
    """
    A = operand(A, "A")
    if not full_matrices or A.shape[-1] == A.shape[-2] or not A.requires_grad:
        return _SVD(*rg.svd(A, full_matrices=full_matrices))
    parts: Any = rg.svd(A, full_matrices=False)
    wide: Any = rg.svd(A.detach(), full_matrices=True)
    U, S, Vh = parts
    count = S.shape[-1]
    U = concatenate([U, Underived.apply(wide[0][..., count:], A)], -1) if U.shape[-1] < U.shape[-2] else U
    Vh = concatenate([Vh, Underived.apply(wide[2][..., count:, :], A)], -2) if Vh.shape[-2] < Vh.shape[-1] else Vh
    return _SVD(U, S, Vh)


def _of_triangle(A, UPLO):
    """The symmetric matrix of one triangle of `A`. Gradients are symmetric, as if `A` were: half of each for either triangle."""
    if UPLO.upper() not in ("L", "U"):
        raise ArgumentError(f'UPLO must be "L" or "U", got {UPLO!r}')
    A = operand(A, "A")
    mean = (A + A.mT.conj()) / 2
    with no_grad():
        found = A.tril() + A.tril(-1).mT.conj() if UPLO.upper() == "L" else A.triu() + A.triu(1).mT.conj()
        rest = found - mean
    return mean + rest.detach()


def eigh(A, UPLO="L"):
    """Eigenvalues and eigenvectors of a symmetric matrix, of which one triangle is read."""
    return _EIGH(*rg.eigh(_of_triangle(A, UPLO)))


def eigvalsh(A, UPLO="L"):
    """Eigenvalues of a symmetric matrix, of which one triangle is read."""
    return rg.eigvalsh(_of_triangle(A, UPLO))


def eig(A):
    """Eigenvalues and eigenvectors."""
    return _EIG(*rg.eig(operand(A, "A")))


def slogdet(A):
    """The sign of the determinant, and the logarithm of its size."""
    return _SLOGDET(*rg.slogdet(operand(A, "A")))


def inv_ex(A, *, check_errors=False):
    """The inverse, and zeros; a matrix that has none is an error here."""
    found = rg.inv(operand(A, "A"))
    return _INV(found, found.new_zeros(tuple(A.shape[:-2]), dtype="int32"))


@whole
def lstsq(A, B, rcond=None, *, driver=None):
    """X for which A X is nearest to B. What is left, and the singular values, are told for drivers that tell them in PyTorch."""
    A = operand(A, "A")
    found, sizes = rg.lstsq(A, B, rtol=rcond), A.new_zeros(0)
    rank = A.new_zeros(0, dtype="int64") if driver == "gels" else rg.matrix_rank(A, rtol=rcond)
    rest = found.flatten()[:0]  # of the same graph
    if A.shape[-2] > A.shape[-1] and B.ndim == A.ndim and driver in ("gels", "gelsd", "gelss") and (
            driver == "gels" or bool((rank == A.shape[-1]).all())):
        rest = ((A @ found - B).abs() ** 2).sum(-2)
    if driver in ("gelsd", "gelss"):
        sizes = rg.svdvals(A).detach()
    return _LSTSQ(found, rest, rank, sizes)


def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False):
    """How many singular values are greater than `atol`, and than `rtol` times the greatest."""
    A = _symmetric(operand(A, "A"), hermitian)
    atol = atol if tol is None else tol
    if atol is None:
        return rg.matrix_rank(A, rtol=rtol)
    sizes = rg.svdvals(A)
    most = sizes.amax(-1) if sizes.shape[-1] else sizes.sum(-1)
    bound = most * (0.0 if rtol is None else rtol)
    bound = bound.maximum(atol if isinstance(atol, type(A)) else bound * 0 + atol)
    return (sizes > bound.unsqueeze(-1)).sum(-1)


def _symmetric(A, wanted):
    """The matrix whose lower triangle is that of `A`, if a symmetric one is `wanted`."""
    return _of_triangle(A, "L") if wanted else A


def pinv(A, rcond=None, *, atol=None, rtol=None, hermitian=False):
    """The pseudoinverse."""
    if atol is not None:
        raise ArgumentError("pinv takes no atol= here; pass rtol=, relative to the greatest singular value")
    return rg.pinv(_symmetric(operand(A, "A"), hermitian), rtol=rtol if rcond is None else rcond)


def cond(A, p=None):
    """How much a matrix spreads errors."""
    return rg.cond(operand(A, "A"), p)


def cross(input, other, *, dim=-1):
    """The cross product of vectors along `dim`."""
    return rg.cross(operand(input), other, axis=dim)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices."""
    return operand(A, "A").diagonal(offset, dim1, dim2)


def matmul(input, other):
    """The product of matrices."""
    return rg.matmul(operand(input), other)


@lowered
def vecdot(x, y, *, dim=-1):
    """The sum of products along `dim`."""
    return rg.vecdot(operand(x, "x"), y, axis=dim)


def vander(x, N=None):
    """The powers of the elements of a vector, as the columns of a matrix."""
    x = operand(x, "x") if x.ndim else operand(x, "x").reshape(1)
    return _stacked_powers(counted(x) if x.dtype.kind in "biu" else x, x.shape[-1] if N is None else N)


def _stacked_powers(x, count):
    return x.unsqueeze(-1) ** x.new_tensor(list(range(count)))


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of vectors, of all elements or over `dim`."""
    return _vector_norm(operand(x, "x") if dtype is None else x.to(dtype), axis=axes(dim, operand(x, "x")), keepdims=keepdim,
                        ord=ord)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices."""
    return _matrix_norm(operand(A, "A") if dtype is None else A.to(dtype), keepdims=keepdim, ord=ord, axis=tuple(dim))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements; with `ord` or two axes that of matrices."""
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is None or isinstance(dim, int) or dims is not None and len(dims) == 1 or dims is None and A.ndim == 1:
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)


__getattr__ = absent_from("torch.linalg", lambda: __all__)
