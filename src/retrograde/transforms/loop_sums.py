"""Sums over the iterations of a loop, taken out of it: many small matrix products become one of stacked matrices."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.symbol import Symbol
from ..ops._arrays import arrays
from ..ops.axes.reductions import sum as total
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.movements import moveaxis, reshape, transpose

#: Ops of one array that commute with sums, by name.
_LINEAR = frozenset(["reshape", "transpose", "matrix_transpose", "permute_dims", "expand_dims", "squeeze", "negative"])


@dataclass
class Sum:
    """How a sum over all iterations is computed after the loop: the nodes that are needed of each, and what is made of them.

    `build(loop)` is called with the finished recurrence.
    """

    build: Any
    needed: list = field(default_factory=list)


def sum_over_iterations(node, changing):
    """The `Sum` of a node over all iterations, or None where it is better added up iteration by iteration.

    changing  the nodes that are not the same in each iteration
    """
    if not isinstance(node, Symbol) or node not in changing:
        value: Any = arrays.made(node) if isinstance(node, Symbol) else node
        return Sum(lambda loop: value * loop.length)
    name = node.op.name if node.op is not None else ""
    if name in _LINEAR:
        inner = sum_over_iterations(node.args[0], changing)
        return inner and Sum(lambda loop: node.op.call(inner.build(loop), *node.args[1:]), inner.needed)
    if name in ("add", "subtract") and all(getattr(a, "shape", None) == node.shape for a in node.args):
        x, y = (sum_over_iterations(a, changing) for a in node.args)
        return x and y and Sum(lambda loop: node.op.call(x.build(loop), y.build(loop)), [*x.needed, *y.needed])
    if name == "sum":
        return _total(node, changing)
    if name == "matmul" or (name == "multiply" and _is_outer(*node.args)):
        x, y = node.args
        return _product(x, y, changing)
    return None


def _total(node, changing):
    named = node.named
    x, axis = node.args[0], named.get("axis")
    if x not in changing or named.get("where") is not None or x.dtype != node.dtype:
        return None
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = (0, *[a % x.ndim + 1 for a in axes])
    return Sum(lambda loop: reshape(total(loop.view(loop.loop.stacked(x)), axes), node.shape), [x])


def _is_outer(x, y):
    is_matrix = [getattr(a, "ndim", 0) == 2 for a in (x, y)]
    return all(is_matrix) and x.shape[1] == y.shape[0] == 1


def _product(x, y, changing):
    """The sum of the products of matrices: one product of all beside each other with all below each other."""
    if not all(isinstance(a, Symbol) and a in changing and a.ndim == 2 for a in (x, y)):
        return None
    left = _transposed(x)
    left = left if left in changing else None
    return Sum(lambda loop: matmul(_beside(loop, x) if left is None else transpose(_below(loop, left)), _below(loop, y)),
               [x if left is None else left, y])


def _transposed(x):
    """What `x` is the transpose of, or None."""
    if x.op is None or x.op.name not in _LINEAR or not isinstance(x.args[0], Symbol) or x.args[0].shape != x.shape[::-1]:
        return None
    probe = np.arange(x.size).reshape(x.args[0].shape)
    return x.args[0] if np.array_equal(x.op.kernel(probe, *x.args[1:]), probe.T) else None


def _below(loop, node):
    """The matrices of all iterations below each other."""
    stack, first = loop.loop.stacked(node)
    rows, columns = node.shape
    flat = reshape(arrays.made(stack) if isinstance(stack, Symbol) else stack, (-1, columns))
    return flat if stack.shape[0] == loop.length else flat[first * rows : (first + loop.length) * rows]


def _beside(loop, node):
    """The matrices of all iterations beside each other."""
    whole = loop.view(loop.loop.stacked(node))
    return reshape(moveaxis(whole, 0, 1), (node.shape[0], -1))
