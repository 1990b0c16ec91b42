"""Submodules: functions of np.linalg and np.fft."""

from functools import reduce

import ml_dtypes
import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ops import complexes, fourier
from ...ops.axes import reductions, searches
from ...ops.linalg import contractions, determinants, eigen, factorizations, inverses, matrices, norms, tensors
from ...ops.linalg._linalg import check_square
from ...ops.manipulation import movements
from . import calculus
from .operands import refuse, stacked


def _eigh(a, UPLO="L"):
    return factorizations.Eigh(*factorizations.eigh_pair(_hermitian(a, UPLO), UPLO.upper() == "U"))


def _eigvalsh(a, UPLO="L"):
    return factorizations.eigvalsh(_hermitian(a, UPLO))


def _hermitian(a, UPLO):
    """The Hermitian matrices whose lower or upper triangle is that of `a`: NumPy reads no more, and so no gradient goes further."""
    if UPLO.upper() not in ("L", "U"):
        raise ArgumentError(f"UPLO must be 'L' or 'U', got {UPLO!r}")
    check_square(a)  # rows and columns of other numbers would be broadcast against each other
    read, below = (matrices.triu(a), matrices.triu(a, 1)) if UPLO.upper() == "U" else (matrices.tril(a), matrices.tril(a, -1))
    return read + complexes.adjoint(below)


def _svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    return factorizations.svd(a, full_matrices) if compute_uv else factorizations.svdvals(a)


def _qr(a, mode="reduced"):
    if mode == "raw":
        raise ArgumentError("np.linalg.qr on tensors does not take mode='raw'; it takes 'reduced', 'complete' and 'r'")
    return factorizations.qr(a)[1] if mode == "r" else factorizations.qr(a, mode)


def _cholesky(a, /, *, upper=False):
    return factorizations.cholesky(_hermitian(a, "U" if upper else "L"), upper)


def _pinv(a, rcond=None, hermitian=False, *, rtol=None):
    if rcond is not None and rtol is not None and rtol is not np._NoValue:
        raise ArgumentError("rcond and rtol are two names of one number; give one of them")
    return inverses.pinv(a, rcond if rtol is None or rtol is np._NoValue else rtol)


def _lstsq(a, b, rcond=None):
    """The solution, the sums of squared distances, the rank and the singular values.

    As NumPy has it there are no distances where the rank is less than the number of columns, or no row is left over. While it is
    traced the rank is taken to be full.
    """
    a, b = stacked(a), stacked(b)
    if rcond is not None:
        # LAPACK's precision is the unit of rounding, half of NumPy's eps.
        rcond = float(ml_dtypes.finfo(np.result_type(a.dtype, np.float32)).eps) / 2 if rcond < 0 else rcond
    found, rank = inverses.lstsq(a, b, rcond), norms.matrix_rank(a, rcond)
    rows, columns = a.shape
    is_full = rows > columns and (getattr(rank, "is_traced", False) or int(rank) == columns)
    distances = contractions.matmul(a, found) - b
    distances = complexes.real(distances * complexes.conj(distances))
    residuals = distances.sum(0, keepdims=b.ndim == 1) if is_full else distances[:0].sum(1) if b.ndim > 1 else distances[:0]
    return found, residuals, rank, factorizations.svdvals(a)


def _matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """The number of singular values above `tol`, or above `rtol` times the greatest."""
    A = stacked(A)
    if A.ndim < 2:
        return searches.any(A != 0).astype(int)
    if tol is None:
        return norms.matrix_rank(A, rtol)
    if rtol is not None:
        raise ArgumentError("tol is a bound on singular values, rtol one by the greatest of them; give one of them")
    tol = stacked(tol)
    return reductions.sum(factorizations.svdvals(A) > movements.reshape(tol, (*tol.shape, 1)), -1)


def _norm(x, ord=None, axis=None, keepdims=False):
    return norms.linalg_norm(stacked(x), ord, axis, keepdims)


def _multi_dot(arrays, *, out=None):
    refuse("linalg.multi_dot", out=out)
    if len(arrays) < 2:
        raise ArgumentError(f"multi_dot multiplies two arrays or more, got {len(arrays)}")
    return reduce(contractions.matmul, [stacked(x) for x in arrays])


def _tensorinv(a, ind=2):
    old = a.shape
    if ind <= 0:
        raise ArgumentError(f"ind, the number of axes that are the rows, must be at least 1, got {ind}")
    rows = int(np.prod(old[ind:], dtype=int))
    return movements.reshape(inverses.inv(movements.reshape(a, (rows, -1))), (*old[ind:], *old[:ind]))


def _tensorsolve(a, b, axes=None):
    refuse("linalg.tensorsolve", axes=axes)
    left = a.shape[b.ndim :]
    square = movements.reshape(a, (b.size, int(np.prod(left, dtype=int))))
    return movements.reshape(inverses.solve(square, movements.ravel(b)), left)


def _transform(function):
    """A transform whose arguments are NumPy's; there is no `out`."""

    def transform(a, *args, out=None, **kwargs):
        refuse(f"fft.{function.__name__}", out=out)
        if kwargs.get("norm", "") is None:
            del kwargs["norm"]
        return function(a, *args, **kwargs)

    return transform


def _outer(x1, x2, /):
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError(f"Input arrays must be one-dimensional, got shapes {np.shape(x1)} and {np.shape(x2)}")
    return contractions.outer(x1, x2)


LINALG = {
    "eig": eigen.eig, "eigh": _eigh, "eigvals": eigen.eigvals, "eigvalsh": _eigvalsh, "svd": _svd,
    "svdvals": factorizations.svdvals,
    "qr": _qr, "cholesky": _cholesky, "inv": inverses.inv, "pinv": _pinv,
    "solve": lambda a, b: inverses.solve(stacked(a), stacked(b)), "lstsq": _lstsq,
    "det": determinants.det, "slogdet": determinants.slogdet, "norm": _norm, "matrix_power": inverses.matrix_power,
    "vector_norm": lambda x, /, *, axis=None, keepdims=False, ord=2: norms.vector_norm(x, axis, keepdims, ord),
    "matrix_norm": lambda x, /, *, keepdims=False, ord="fro": norms.matrix_norm(x, keepdims, ord),
    "matrix_rank": _matrix_rank, "cond": norms.cond,
    "multi_dot": _multi_dot, "tensorinv": _tensorinv, "tensorsolve": _tensorsolve, "trace": matrices.linalg_trace,
    "diagonal": lambda x, /, *, offset=0: matrices.linalg_diagonal(x, offset), "matmul": contractions.matmul,
    "outer": _outer, "tensordot": lambda x, y, /, *, axes=2: calculus.tensordot(x, y, axes),
    "cross": lambda x, y, /, *, axis=-1: tensors.cross(x, y, axis),
    "vecdot": lambda x, y, /, *, axis=-1: tensors.vecdot(x, y, axis), "matrix_transpose": movements.matrix_transpose,
}
FFT = {
    function.__name__: _transform(function) for function in (
        fourier.fft, fourier.fft2, fourier.fftn, fourier.hfft, fourier.ifft, fourier.ifft2, fourier.ifftn, fourier.ihfft,
        fourier.irfft, fourier.irfft2, fourier.irfftn, fourier.rfft, fourier.rfft2, fourier.rfftn)
} | {"fftshift": lambda x, axes=None: fourier.fftshift(x, axes), "ifftshift": lambda x, axes=None: fourier.ifftshift(x, axes)}
