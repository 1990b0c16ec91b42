"""Containers of other libraries as operands: pandas' tables, xarray's labelled arrays, sparse matrices, and arrays of values."""

from typing import Any

import numpy as np

from ..core.explain import described
from ..core.function import Function
from ..core.mode import is_tracing
from ..core.value import Value
from ..errors import DTypeError
from ..ops._arrays import arrays
from ..ops.manipulation.gathering import take
from ..ops.manipulation.movements import matrix_transpose, reshape
from ..ops.manipulation.segments import segment_sum
from .boxes import gathered, holds_values


def is_sparse(x):
    """Whether `x` is a sparse matrix, or array, of SciPy, of any format."""
    return hasattr(x, "tocoo") and hasattr(x, "nnz")


def is_labelled(x):
    """Whether `x` is an array of xarray, whose axes have names, or a set of such."""
    return hasattr(x, "dims") and hasattr(x, "__array_ufunc__")


def redirected(op, args) -> Any:
    """What `op` gives where other libraries' containers, or arrays of values, are among `args`; NotImplemented if there are none.

    Tables become arrays: their labels are left out. A labelled array applies a ufunc itself, so that it keeps its labels; it then
    holds tensors.
    """
    if op.is_variadic and args[0].__class__ in (list, tuple):
        parts = [_plain(a) for a in args[0]]
        is_changed = any([a is not b for a, b in zip(parts, args[0], strict=True)]) and any([isinstance(a, Value) for a in parts])
        return op.call(parts, *args[1:]) if is_changed else NotImplemented
    are_boxes = any(map(holds_values, args))
    if not are_boxes and not any([isinstance(a, Value) for a in args]):
        return NotImplemented
    if op.name == "matmul" and any(map(is_sparse, args)):
        return _product(*args)
    for a in args:
        if is_sparse(a):
            raise DTypeError(f"{op.name}({', '.join(map(described, args))}): a sparse matrix and a tensor have only the product "
                             "matrix @ x; scale the product, x * (matrix @ y), or make it an array by matrix.toarray()")
        if is_labelled(a) and len(args) == 2 and isinstance(getattr(np, op.name, None), np.ufunc) and op.name != "matmul":
            return a.__array_ufunc__(getattr(np, op.name), "__call__", *args)
    if not are_boxes and not any([hasattr(a, "to_numpy") for a in args]):
        return NotImplemented
    return op.call(*[_plain(a) for a in args])


def _plain(x):
    """`x` as an operand: a tensor, an array, or what it was."""
    if is_labelled(x):
        return x.raw
    if hasattr(x, "to_numpy") and not isinstance(x, Value):
        x = x.to_numpy()
        if x.dtype is arrays.boxed and not holds_values(x):
            raise DTypeError(f"a table of numbers is needed, got {described(x)}; choose its columns of numbers")
    return gathered(x)


def _product(x, y):
    """The matrix product of a sparse and a dense operand, or the other way round."""
    if is_sparse(x) and is_sparse(y):
        return x @ y
    if is_sparse(x):
        return _times(x, y)
    found = _times(y.T, matrix_transpose(x) if x.ndim > 1 else x)
    return matrix_transpose(found) if found.ndim > 1 else found


def _times(matrix, x):
    """`matrix @ x`, in ops while a function is traced: compiled code has no sparse matrices."""
    if x.ndim not in (1, 2) or x.shape[0] != matrix.shape[-1] or matrix.ndim != 2:
        raise DTypeError(f"a sparse matrix of shape {matrix.shape} can be multiplied with a vector or a matrix of "
                         f"{matrix.shape[-1]} rows, got {described(x)}")
    x = x if isinstance(x, Value) else arrays.made(np.asarray(x))
    if not x.is_traced and not is_tracing():
        return _Product.apply(x, matrix.tocsr())
    entries = matrix.tocoo()
    weights = reshape(entries.data, (-1,) + (1,) * (x.ndim - 1))
    return segment_sum(take(x, entries.col, 0) * weights, entries.row, matrix.shape[0])


class _Product(Function):
    r"""The product of a sparse matrix and a dense one: $z = S x \Rightarrow \bar x = S^\mathsf{H} \bar z$."""

    computes_with_data = True

    @staticmethod
    def forward(ctx, x, matrix):
        """The product, by SciPy."""
        ctx.matrix = matrix
        return arrays.made(np.asarray(matrix @ x.raw))

    @staticmethod
    def backward(ctx, g):
        """The product with the adjoint."""
        return _times(ctx.matrix.conj().T, g), None

