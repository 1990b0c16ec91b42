"""Sizes of vectors and matrices, and what is told by singular values: rank and condition."""

from typing import Any

import ml_dtypes
import numpy as np

from ...dtypes import float64, is_float
from ...errors import ArgumentError, LinAlgError
from ...shapes import axis_tuple
from .._families import composite, reduction, search
from .._samples import call, distinct, of, uniform, well_conditioned
from ..axes.reductions import length, length_gradient, length_of_sizes, max, min, sum
from ..elementary.arithmetic import abs
from ..elementary.comparisons import where
from ..elementary.conversions import as_floats, astype, narrowed, widened
from ..elementary.trigonometric import hypot
from ..manipulation.movements import expand_dims, moveaxis
from . import _linalg
from .factorizations import svdvals
from .inverses import inv

_FAR = uniform(-3, 3, avoid=(0,), gap=0.3)


@reduction(samples=(call((3,)), call((2, 3), axis=-1), call((2, 3, 2), axis=(0, 2), keepdims=True),
                    call(of((2, 3), _FAR), axis=0, ord=1),
                    call(of((2, 3), distinct()), axis=1, ord=np.inf), call(of((2, 3), distinct()), axis=1, ord=-np.inf),
                    call(of((2, 3), _FAR), axis=1, ord=3), call(of((4,), _FAR), ord=-2), call(of((4,), _FAR), ord=0.5)),
           expansion=lambda x, axis, keepdims, ord: length(x, ord, axis, keepdims))
def vector_norm(x, /, axis=None, keepdims=False, ord=2):
    r"""Length of the vectors of `x` over `axis`: $(\sum_i |x_i|^p)^{1/p}$ with $p$ = `ord`.

    `inf` gives the greatest size, `-inf` the least, 0 the number of elements that are not zero, which has no gradient.

    $\bar x_i = \bar z\, \frac{\overline{x_i}}{|x_i|}\,(|x_i| / z)^{p - 1}$, and 0 where $z = 0$.
    """
    # As in the rule: the sizes of complex numbers must come out the same to the last bit.
    size = np.hypot(x.real, x.imag) if np.iscomplexobj(x) else np.abs(widened(*as_floats(x)))
    return narrowed(length_of_sizes(size, ord, axis, keepdims), x)


def vector_norm_gradient(g, x, z, axis, ord):
    """What `vector_norm` hands back to `x`."""
    return length_gradient(g, x, _sizes(x), z, ord, axis)


def _sizes(x):
    """The sizes of the elements, floats: the least integer has none among the integers."""
    return hypot(x.real, x.imag) if x.dtype.kind == "c" else abs(x if is_float(x.dtype) else astype(x, float64))


vector_norm.defvjp(vector_norm_gradient)

_MATRIX = of((2, 3, 2), distinct())


@composite(samples=(call((2, 3)), call(_MATRIX, ord=1), call(_MATRIX, keepdims=True, ord=np.inf), call(_MATRIX, ord=-1),
                    call(of((3, 3), well_conditioned()), ord=2), call(of((3, 2)), ord="nuc"), call(of((2, 3)), ord=-2)))
def matrix_norm(x, /, keepdims=False, ord="fro", axis=(-2, -1)):
    r"""Size of the matrices in two axes of `x`, by default the last.

    `ord` is "fro" ($\sqrt{\sum |x_{i j}|^2}$), "nuc" (the sum of the singular values), 2 or -2 (the greatest or least singular
    value), 1 or -1 (the greatest or least sum of sizes over a column), inf or -inf (over a row). The derivative is that of
    `vector_norm`, or of the singular values.
    """
    axes = axis_tuple(axis, x.ndim)
    _linalg.check_matrix(x)
    if len(axes) != 2:
        raise ArgumentError(f"a matrix norm needs two axes, got {axis}")
    x = moveaxis(x, axes, (-2, -1))
    if ord == "fro" or 0 in x.shape[-2:] and ord in (1, 2, np.inf):
        found = vector_norm(x, (-2, -1))
    elif ord == "nuc":
        found = sum(svdvals(x), -1)
    elif ord in (2, -2):
        found = (max if ord > 0 else min)(svdvals(x), -1)
    elif ord in (1, -1, np.inf, -np.inf):
        found = (max if ord > 0 else min)(sum(_sizes(x), -2 if ord in (1, -1) else -1), -1)
    else:
        raise ArgumentError(f"ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices, got {ord!r}")
    return expand_dims(found, axes) if keepdims else found


def linalg_norm(x, /, ord=None, axis=None, keepdims=False):
    """Size of vectors or matrices, as NumPy's `linalg.norm`: two axes mean matrices, one means vectors.

    Without `axis` and `ord` it is the length of all elements; with `ord` alone `x` must have one or two axes.
    """
    if axis is None and ord is None:
        return vector_norm(x, None, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis_tuple(axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axes, keepdims, 2 if ord is None else ord)
    return matrix_norm(x, keepdims, "fro" if ord is None else ord, axes)


@search(samples=(call((3, 2)), call((2, 3, 3)), call((2, 2), rtol=10.0)))
def matrix_rank(x, /, rtol=None):
    """How many singular values of matrices are greater than `rtol` times the greatest; by default rounding errors are not."""
    _linalg.check_matrix(x)
    values: Any = _linalg.computed(lambda x: np.linalg.svd(x, compute_uv=False), x)
    rtol = np.float64(ml_dtypes.finfo(values.dtype).eps) * np.max(x.shape[-2:]) if rtol is None else np.asarray(rtol)[..., None]
    return np.sum(values > np.max(values, -1, keepdims=True, initial=0) * rtol, -1)


@composite(skips={"exported": "rg.cond is the branch; this is rg.linalg.cond"}, samples=(
    call(of((3, 3), well_conditioned())), call(of((3, 3), well_conditioned()), p=1), call(of((3, 2)), p=-2)))
def cond(x, /, p=None):
    r"""The condition number of matrices, $\lVert X \rVert\, \lVert X^{-1} \rVert$ in the norm `p`: see `matrix_norm`.

    By default the greatest singular value over the least, infinite for a singular matrix. The derivative is that of the norms.
    """
    _linalg.check_matrix(x)
    if 0 in x.shape[-2:]:
        raise LinAlgError(f"a matrix of no elements has no condition number, got shape {x.shape}")
    if p in (None, 2, -2):
        values = svdvals(x)
        above, below = (values[..., -1], values[..., 0]) if p == -2 else (values[..., 0], values[..., -1])
        return where(below == 0, np.inf, above / where(below == 0, 1, below))
    return matrix_norm(x, False, p) * matrix_norm(inv(x), False, p)
