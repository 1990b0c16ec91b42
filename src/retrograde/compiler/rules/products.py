"""Rules of matrix products and of linear algebra."""

from itertools import pairwise

import numpy as np

from ...core import registry
from ...core.symbol import Symbol
from ..graph.constants import first, is_uniform
from ..graph.infer import called
from ..graph.views import is_reordered
from .algebra import added_to_zero, is_number

#: Products of at most so many rows and at least so many columns gain more from one large product than it costs to copy rows.
_FEW_ROWS, _MANY_COLUMNS = 64, 64


def outer_product(call):
    """An elementwise product, where the axis that is summed has one number; the sum starts from +0, so -0 becomes +0."""
    x, y = call.args
    # Products of integers are checked for what wraps, which the elementwise op is not.
    if x.shape[-1] != 1 or x.ndim == 1 or y.ndim == 1 or call.dtype.kind in "iu":
        return None
    # By ones, as a sum hands them back, all rows or columns are alike: one is computed and shown as all, so that what is made of
    # them is alike too.
    alike = next((other for ones, other in ((x, y), (y, x)) if is_number(ones, 1) and other.dtype == call.dtype), None)
    if alike is None:
        return call.as_is(added_to_zero(called("multiply", x, y)))
    return call.by("broadcast_to", added_to_zero(alike), call.shape)


def product_with_equal_numbers(call):
    """A sum, where all numbers of one matrix are equal."""
    x, y = call.args
    for known, other, axis in ((x, y, -2), (y, x, -1)) if call.dtype.kind == "f" and x.dtype == y.dtype else ():
        if isinstance(known, np.ndarray) and isinstance(other, Symbol) and known.ndim > 1 and is_uniform(known):
            total = called("sum", other, axis=axis, keepdims=True)
            scaled = total if is_number(known, 1) else called("multiply", total, float(first(known)))
            return call.by("broadcast_to", scaled, call.shape)
    return None


def product_of_rows_that_lie_apart(call):
    """One large product of rows that are brought together."""
    x, y = call.args
    has_few_rows = y.ndim == 2 and y.shape[1] >= _MANY_COLUMNS and x.ndim > 2 and 1 < x.shape[-2] <= _FEW_ROWS
    if not has_few_rows or not _lies_apart(x):
        return None
    return call.by("reshape", called("matmul", called("reshape", x, (-1, x.shape[-1])), y), call.shape)


def equations_of_a_transposed_matrix(call):
    """Equations by the factors of the matrix itself."""
    factors, y, is_transposed = call.args
    x = factors.args[0] if isinstance(factors, Symbol) and factors.op is registry.get("lu_factor") else None
    if not is_reordered(x):
        return None
    source = np.empty(x.args[0].shape, np.bool_)
    # An empty array tells by its strides what the op does, whichever of the three it is and however its axes are named.
    moved, swapped = x.op.kernel(source, *x.args[1:]), np.swapaxes(source, -1, -2)
    if (moved.shape, moved.strides) != (swapped.shape, swapped.strides):
        return None
    return call._replace(args=(called("lu_factor", x.args[0]), y, not is_transposed))


def _lies_apart(x):
    """Whether the rows of `x` are those of another array in another order."""
    if not is_reordered(x) or not x.size:
        return False
    moved = x.op.kernel(np.empty(x.args[0].shape, np.bool_), *x.args[1:])
    axes = [(n, step) for n, step in zip(moved.shape[:-1], moved.strides[:-1], strict=True) if n > 1]
    return any([outer != n * step for (_, outer), (n, step) in pairwise(axes)])
