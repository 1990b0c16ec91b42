"""Products of matrices."""

import numpy as np

from ...linalg import det
from ...ops.elementary.conversions import astype
from ...ops.linalg.contractions import einsum, matmul
from ...ops.manipulation.movements import transpose
from ..rule import rule


@rule("MatMul")
def _matmul(x, y, /):
    return matmul(x, y)


@rule("Gemm", since=7)
def _gemm(x, y, addend=None, /, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    found = matmul(transpose(x) if transA else x, transpose(y) if transB else y)
    found = found if alpha == 1 else astype(found * alpha, x.dtype)
    if addend is None:
        return found
    return found + (addend if beta == 1 else astype(addend * beta, x.dtype))


@rule("Gemm")
def _old_gemm(x, y, addend, /, *, alpha=1.0, beta=1.0, transA=0, transB=0, broadcast=0):
    return _gemm(x, y, addend, alpha=alpha, beta=beta, transA=transA, transB=transB)


@rule("Einsum", since=12)
def _einsum(*inputs, equation):
    return einsum(equation.replace(" ", ""), *inputs)


@rule("Det", since=11)
def _det(x, /):
    return det(x)


@rule("MatMulInteger", since=10)
def _matmul_integer(x, y, x_zero=None, y_zero=None, /):
    x, y = astype(x, np.int32), astype(y, np.int32)
    if x_zero is not None:
        zero = astype(x_zero, np.int32)
        x = x - (zero.reshape(-1, 1) if len(zero.shape) == 1 and zero.shape[0] > 1 else zero)
    return matmul(x, y if y_zero is None else y - astype(y_zero, np.int32))
