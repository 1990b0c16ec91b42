"""What stands for the functions of scipy.linalg, with SciPy's signatures."""

import numpy as np

from ..errors import ArgumentError, DTypeError
from ..numpy._differentiable import either, refusing
from ..ops.axes.reductions import max
from ..ops.complexes import adjoint, conj
from ..ops.elementary.arithmetic import abs
from ..ops.elementary.comparisons import isfinite, where
from ..ops.elementary.exponential import exp2, log2
from ..ops.elementary.rounding import floor
from ..ops.linalg import inverses, sylvester
from ..ops.linalg._linalg import check_square
from ..ops.linalg.eigen import matrix_exp
from ..ops.linalg.matrices import tril, triu
from ..ops.linalg.triangular import solve_triangular as _triangular
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import matrix_transpose, squeeze
from ..tensor.counterparts.operands import refuse, stacked
from ..tensor.counterparts.submodules import LINALG
from ..transforms.grad import stop_gradient

#: What SciPy may do with memory, and whether it looks for NaN: of no consequence for tensors.
_OPTIONS = frozenset({"overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_c", "check_finite", "disp", "blocksize"})


def _solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, **_):
    a, b, is_transposed = stacked(a), stacked(b), trans not in (0, "N")
    a = (tril(a) if lower else triu(a)) if is_transposed else a
    a = matrix_transpose(conj(a) if trans in (2, "C") else a) if is_transposed else a
    return _triangular(a, b, lower == is_transposed, unitriangular=unit_diagonal)


def _solve_banded(l_and_u, ab, b, **_):
    return sylvester.solve_banded(stacked(ab), stacked(b), *map(int, l_and_u))


def _cholesky(a, lower=False, **rest):
    _refuse_others("cholesky", rest)
    return LINALG["cholesky"](a, upper=not lower)


def _cho_factor(a, lower=False, **rest):
    _refuse_others("cho_factor", rest)
    return _cholesky(a, lower), lower


def _cho_solve(c_and_lower, b, **_):
    factor, lower = c_and_lower
    if b.ndim == 1 and factor.ndim > 2:
        # The solutions of a stack are no vector any more, and would be taken for a matrix.
        return squeeze(_cho_solve(c_and_lower, b[:, None]), -1)
    first, second = (factor, matrix_transpose(conj(factor))) if lower else (matrix_transpose(conj(factor)), factor)
    return _triangular(second, _triangular(first, b, False), True)


def _mirrored(a, lower, turned):
    check_square(a)
    return tril(a) + turned(tril(a, -1)) if lower else triu(a) + turned(triu(a, 1))


def _hermitian(a, lower):
    """The matrix of which one triangle is given; imaginary parts on the diagonal are not read, as in LAPACK."""
    check_square(a)
    if a.dtype.kind == "c":
        a = where(np.eye(a.shape[-1], dtype=bool), a.real, a)
    return _mirrored(a, lower, adjoint)


#: What is read of a matrix by its kind, whatever the other elements are: SciPy's `assume_a`.
_READ = {
    "gen": lambda a, lower: a, "general": lambda a, lower: a, None: lambda a, lower: a,
    "sym": lambda a, lower: _mirrored(a, lower, matrix_transpose), "her": _hermitian,
    "pos": _hermitian, "diagonal": lambda a, lower: tril(triu(a)),
    "lower triangular": lambda a, lower: tril(a), "upper triangular": lambda a, lower: triu(a),
}
_READ.update({"symmetric": _READ["sym"], "hermitian": _READ["her"], "positive definite": _READ["pos"]})


def _solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    if assume_a not in _READ:
        raise ArgumentError(f"scipy.linalg.solve on tensors does not take assume_a={assume_a!r}; it takes "
                            f"{', '.join(str(kind) for kind in _READ)}")
    a = _READ[assume_a](stacked(a), lower)
    a = matrix_transpose(a) if transposed else a
    if assume_a in ("pos", "positive definite"):
        # By Cholesky's factor, so that a matrix that is not positive definite is an error, as it is for SciPy.
        return _cho_solve((LINALG["cholesky"](a), True), stacked(b))
    return inverses.solve(a, stacked(b))


def _eigh(a, b=None, *, lower=True, eigvals_only=False, **rest):
    refuse("scipy.linalg.eigh", b=b)
    _refuse_others("eigh", {name: value for name, value in rest.items() if value is not None and (name, value) != ("type", 1)})
    return LINALG["eigvalsh" if eigvals_only else "eigh"](stacked(a), "L" if lower else "U")


def _eigvalsh(a, b=None, *, lower=True, **rest):
    return _eigh(a, b, lower=lower, eigvals_only=True, **rest)


def _block_diag(*arrs):
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in map(stacked, arrs)]
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        after = width - before - x.shape[1]
        rows.append(concatenate([np.zeros((x.shape[0], before), x.dtype), x, np.zeros((x.shape[0], after), x.dtype)], 1))
        before += x.shape[1]
    return concatenate(rows, 0)


def _refuse_others(name, given):
    """Raise a DTypeError for options that would change the result."""
    refuse(f"scipy.linalg.{name}", **{option: value for option, value in given.items() if option not in _OPTIONS})


def _without_options(name, *known):
    """NumPy's function of that name, which takes the options `known`, and those that are of no consequence."""
    function = LINALG[name]

    def called(a, *args, **kwargs):
        _refuse_others(name, {option: value for option, value in kwargs.items() if option not in known})
        if len(args) > len(known):
            raise DTypeError(f"scipy.linalg.{name} on tensors does not take {len(args) + 1} arguments by position")
        return function(stacked(a), *args, **{option: kwargs[option] for option in known if option in kwargs})

    return called


def _norm(a, ord=None, axis=None, keepdims=False, **rest):
    """NumPy's norm of elements that are brought near 1, so that their squares fit their dtype, as in SciPy."""
    a, norm = stacked(a), _without_options("norm", "ord", "axis", "keepdims")
    if a.size == 0 or a.dtype.kind == "b" or ord == 0:
        return norm(a, ord=ord, axis=axis, keepdims=keepdims, **rest)
    top = stop_gradient(max(abs(a), axis, True))
    # A power of two, so that no digit changes.
    scale = where((top > 0) & isfinite(top), exp2(floor(log2(where(top > 0, top, 1)))), 1)
    found = norm(a / scale, ord=ord, axis=axis, keepdims=True, **rest) * scale
    return found if keepdims else squeeze(found, axis)


_OURS = {
    "sqrtm": lambda A, *_, **__: sylvester.sqrtm(A), "solve_sylvester": sylvester.solve_sylvester,
    "solve_triangular": _solve_triangular, "solve_banded": _solve_banded, "cholesky": _cholesky, "cho_factor": _cho_factor,
    "cho_solve": _cho_solve, "solve": _solve, "block_diag": _block_diag, "expm": matrix_exp,
    "svd": _without_options("svd", "full_matrices", "compute_uv"), "norm": _norm,
    "pinv": _without_options("pinv", "rtol"),
    **{name: _without_options(name) for name in ("inv", "det", "svdvals", "eigvals", "eig")},
    "eigh": _eigh, "eigvalsh": _eigvalsh,
}


def chosen(theirs):
    """The function of scipy.linalg that takes tensors, for `theirs`."""
    name = getattr(theirs, "__name__", "")
    if name in _OURS:
        return either(theirs, _OURS[name], takes_sequences=name in ("cho_solve", "solve_banded"))
    return refusing(theirs, f"scipy.linalg.{name} has no derivative here; add an op with @rg.ops, or a @rg.primitive")
