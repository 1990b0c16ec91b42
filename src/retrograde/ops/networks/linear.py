"""The affine map of a layer, as one op."""

from math import prod

import numpy as np

from ...errors import ShapeError
from .._families import contraction
from .._samples import call
from ..axes.reductions import sum
from ..linalg._multiplying import product
from ..linalg.contractions import matmul
from ..manipulation.movements import transpose


def _linear_in_ops(x, weight, bias=None):
    product = matmul(x, transpose(weight))
    return product if bias is None else product + bias


def _result_shape(x, weight, bias=None):
    if weight.ndim != 2 or x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ShapeError(f"linear needs x (..., inputs) and weight (outputs, inputs), got {x.shape} and {weight.shape}")
    return np.broadcast_shapes((*x.shape[:-1], weight.shape[0]), () if bias is None else bias.shape)


@contraction(optional=("bias",), expansion=_linear_in_ops, result_shape=_result_shape, samples=(
    call((2, 3), (4, 3)), call((2, 3), (4, 3), (4,)), call((3,), (4, 3), (4,)), call((2, 2, 3), (4, 3), (4,)),
    call((0, 3), (4, 3), (4,)), call((2, 0), (4, 0), (4,))))
def linear(x, weight, /, bias=None):
    r"""The rows of `x`, shape (..., inputs), times those of `weight`, (outputs, inputs), plus `bias`: shape (..., outputs).

    $Z = X W^\top + b \;\Rightarrow\; \bar X = \bar Z W,\; \bar W = \bar Z^\top X,\; \bar b_j = \sum_i \bar Z_{i j}$,
    with the leading axes of $X$ and $\bar Z$ taken as one.

    >>> rg.ops.linear.linear(rg.tensor([1.0, 2.0]), rg.tensor([[3.0, 4.0]]), rg.tensor([0.5]))
    tensor([11.5])
    """
    shape = _result_shape(x, weight)
    z = product(_rows(x), weight.T)
    if bias is not None:
        z = np.add(z, bias, out=z if z.dtype == np.result_type(z, bias) else None)
    return z.reshape(shape)


def _rows(x):
    """`x` as a matrix: all axes but the last as one."""
    return x if x.ndim == 2 else x.reshape(prod(x.shape[:-1]), x.shape[-1])


linear.defvjp(
    lambda g, x_shape, weight: matmul(_rows(g), weight).reshape(x_shape),
    lambda g, x: matmul(_rows(g).T, _rows(x)),
    lambda g: sum(_rows(g), 0),
)
