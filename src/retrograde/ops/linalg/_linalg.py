"""LAPACK's functions as NumPy offers them, for every float dtype, with errors of ours."""

import numpy as np

from ...dtypes import is_float
from ...errors import LinAlgError, ShapeError

#: So many equations are solved at once, as a small matrix of their own; all else is products of matrices.
_BLOCK = 64


def computed(function, *operands):
    """`function` of `operands`, in a dtype that LAPACK has and brought back to theirs; one result or a tuple of them.

    Where there is no answer, such as for a singular matrix, a LinAlgError is raised: in a backward pass and in compiled code too.
    """
    operands = [np.asarray(x) if not hasattr(x, "dtype") else x for x in operands]
    dtype = np.result_type(*operands)
    is_narrow = is_float(dtype) and dtype.itemsize < 4
    wide = [_as_lapack(x) for x in operands]
    try:
        found = function(*wide)
    except ValueError as error:  # NumPy's LinAlgError is one, and so is what SciPy raises for infinities
        if not isinstance(error, np.linalg.LinAlgError) and all([np.isfinite(x).all() for x in wide]):
            raise
        raise LinAlgError(f"there is no answer: {str(error).lower()}; look for rows that depend on each other") from None
    return _brought_back(found, dtype) if is_narrow else found


def _as_lapack(x):
    """`x` in a dtype that LAPACK has, which integers are not: what they add up to beforehand would wrap."""
    if is_float(x.dtype):
        return x.astype(np.float32) if x.dtype.itemsize < 4 else x
    return x.astype(np.float64)


def _brought_back(found, dtype):
    if isinstance(found, tuple):
        return tuple([_brought_back(part, dtype) for part in found])
    return found.astype(dtype) if found.dtype.kind == "f" else found


def check_square(x):
    """Raise a ShapeError unless `x` is made of square matrices."""
    if np.ndim(x) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"square matrices are needed in the last two axes, got shape {np.shape(x)}")


def check_matrix(x):
    """Raise a ShapeError unless `x` has two axes at least."""
    if np.ndim(x) < 2:
        raise ShapeError(f"matrices are needed in the last two axes, got shape {np.shape(x)}")


def square_shape(x, *_):
    """The shape of what has that of its square matrices, for types that LAPACK has; others are asked."""
    check_square(x)
    return tuple(x.shape) if x.dtype in (np.float32, np.float64) else NotImplemented


def slope_shape(x, g):
    """The shape of what a factor and its gradient give; they have the same."""
    if np.shape(x) != np.shape(g):
        raise ShapeError(f"a factor and its gradient have the same shape, got {np.shape(x)} and {np.shape(g)}")
    return square_shape(x) if x.dtype == g.dtype else NotImplemented


def check_equations(x, y):
    """Raise a ShapeError unless `x` is made of square matrices and `y` has a line for each of their rows."""
    check_square(x)
    if np.ndim(y) == 0 or y.shape[-1 if y.ndim == 1 else -2] != x.shape[-1]:
        raise ShapeError(f"X Z = Y needs as many rows in Y as in X, got {x.shape} and {np.shape(y)}")


def solution_shape(x, y, *_):
    """The shape of the solution of equations, for types that LAPACK has; others are asked."""
    check_equations(x, y)
    return shape_of_solution(x, y)


def shape_of_solution(x, y):
    """The same for equations that have been checked."""
    if x.dtype != y.dtype or x.dtype not in (np.float32, np.float64):
        return NotImplemented
    return np.broadcast_shapes(x.shape[:-2], y.shape[:-2]) + tuple(y.shape[-2:])


def lower_half(x):
    """The lower triangle of `x` with half of its diagonal, of which complex matrices keep the real part."""
    half = np.tril(x)
    places = np.arange(x.shape[-1])
    half[..., places, places] = half[..., places, places].real / 2
    return half


def hermitian(x):
    """The part of `x` that equals its own adjoint."""
    return (x + np.conjugate(np.swapaxes(x, -1, -2))) / 2


def adjugate(x):
    """The transposed cofactors of square matrices, of singular ones too.

    The determinant times the inverse is precise however close to singular a matrix is, since both come from the same factors.
    """
    determinant = np.linalg.det(x)
    is_flat = np.abs(determinant) < np.finfo(determinant.dtype).tiny
    found = determinant[..., None, None] * np.linalg.inv(np.where(is_flat[..., None, None], np.eye(x.shape[-1], dtype=x.dtype), x))
    if is_flat.any():
        found[is_flat] = _adjugate_of_singular(x[is_flat])
    return found


def _adjugate_of_singular(x):
    """From the singular values, each left out in turn."""
    u, s, vh = np.linalg.svd(x)
    others = _products_of_others(s) * (np.linalg.det(u) * np.linalg.det(vh))[..., None]
    return np.conjugate(np.swapaxes(vh, -1, -2)) * others[..., None, :] @ np.conjugate(np.swapaxes(u, -1, -2))


def _products_of_others(s):
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    return np.multiply(before, after)


def adjugate_gradient(x, g):
    """What `adjugate` hands back, for singular matrices too: between the singular vectors, each two of the values left out."""
    is_finite = np.isfinite(x).all((-2, -1), keepdims=True) & np.isfinite(g).all((-2, -1), keepdims=True)
    if not is_finite.all():  # no decomposition of one may keep the others of a stack from theirs
        found = adjugate_gradient(np.where(is_finite, x, 0), np.where(is_finite, g, 0))
        return np.where(is_finite, found, np.nan)
    u, s, vh = np.linalg.svd(x)
    u, vh, is_same = np.conjugate(u), np.conjugate(vh), np.eye(s.shape[-1], dtype=bool)
    others = np.where(is_same, 0, _products_of_others(np.where(is_same, 1, s[..., None, :])))
    turned = vh @ g @ u
    traces = others @ np.diagonal(turned, 0, -2, -1)[..., None]
    signs = np.conjugate(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return signs * (u @ np.where(is_same, traces, -others * turned) @ vh)


def substituted(x, y, upper):
    """The solution of triangular equations by substitution, some lines at a time."""
    dtype, count = np.result_type(x, y), x.shape[-1]
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2]) + y.shape[-2:]
    z = np.array(np.broadcast_to(y, shape), dtype if dtype.kind in "fc" else np.float64)
    starts = range(0, count, _BLOCK)
    for start in reversed(starts) if upper else starts:
        lines = slice(start, min(start + _BLOCK, count))
        others = slice(0, start) if upper else slice(lines.stop, count)
        block = x[..., lines, lines]
        z[..., lines, :] = np.linalg.solve(np.triu(block) if upper else np.tril(block), z[..., lines, :])
        z[..., others, :] -= np.matmul(x[..., others, lines], z[..., lines, :])
    return z
