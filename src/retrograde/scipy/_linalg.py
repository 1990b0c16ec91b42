"""What stands for the functions of scipy.linalg, with SciPy's signatures."""

import numpy as np

from ..numpy._differentiable import either, refusing
from ..ops import factorizations, inverses, sylvester
from ..ops.complexes import conj
from ..ops.eigen import matrix_exp
from ..ops.joins import concatenate
from ..ops.matrices import tril, triu
from ..ops.movements import matrix_transpose
from ..ops.triangular import solve_triangular as _triangular
from ..tensor.counterparts.operands import refuse, stacked
from ..tensor.counterparts.submodules import LINALG

#: What SciPy may do with memory, and whether it looks for NaN: of no consequence for tensors.
_OPTIONS = frozenset({"overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_c", "check_finite", "disp", "blocksize"})


def _solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, **_):
    is_turned = trans not in (0, "N")
    a = (tril(a) if lower else triu(a)) if is_turned else a
    a = matrix_transpose(conj(a) if trans in (2, "C") else a) if is_turned else a
    return _triangular(a, b, lower == is_turned, unitriangular=unit_diagonal)


def _solve_banded(l_and_u, ab, b, **_):
    return sylvester.solve_banded(ab, b, *map(int, l_and_u))


def _cholesky(a, lower=False, **_):
    return factorizations.cholesky(a, not lower)


def _cho_factor(a, lower=False, **_):
    return _cholesky(a, lower), lower


def _cho_solve(c_and_lower, b, **_):
    factor, lower = c_and_lower
    first, second = (factor, matrix_transpose(conj(factor))) if lower else (matrix_transpose(conj(factor)), factor)
    return _triangular(second, _triangular(first, b, False), True)


def _solve(a, b, lower=False, **rest):
    refuse("scipy.linalg.solve", **{name: value for name, value in rest.items() if name not in _OPTIONS | {"assume_a"}})
    return inverses.solve(a, b)


def _block_diag(*arrs):
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in map(stacked, arrs)]
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        after = width - before - x.shape[1]
        rows.append(concatenate([np.zeros((x.shape[0], before), x.dtype), x, np.zeros((x.shape[0], after), x.dtype)], 1))
        before += x.shape[1]
    return concatenate(rows, 0)


def _without_options(function):
    return lambda *args, **kwargs: function(*args, **{name: value for name, value in kwargs.items() if name not in _OPTIONS})


_OURS = {
    "sqrtm": lambda A, *_, **__: sylvester.sqrtm(A), "solve_sylvester": sylvester.solve_sylvester,
    "solve_triangular": _solve_triangular, "solve_banded": _solve_banded, "cholesky": _cholesky, "cho_factor": _cho_factor,
    "cho_solve": _cho_solve, "solve": _solve, "block_diag": _block_diag, "expm": matrix_exp,
    "svd": _without_options(LINALG["svd"]),
    **{name: _without_options(LINALG[name]) for name in ("inv", "det", "norm", "pinv", "svdvals", "eigvals", "eigvalsh", "eig")},
    "eigh": lambda a, *, lower=True, **_: LINALG["eigh"](a, "L" if lower else "U"),
}


def chosen(theirs):
    """The function of scipy.linalg that takes tensors, for `theirs`."""
    name = getattr(theirs, "__name__", "")
    if name in _OURS:
        return either(theirs, _OURS[name], takes_sequences=name in ("cho_solve", "solve_banded"))
    return refusing(theirs, f"scipy.linalg.{name} has no derivative here; add an op with @rg.ops, or a @rg.primitive")
