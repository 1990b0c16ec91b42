"""Sliding windows: which nodes are convolutions and pooling that the compiler has kernels for, and what they read and cost."""

import numpy as np

from ..core.symbol import Symbol
from ..ops._convolving import Geometry
from .trace import PICK

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])


def is_sliding(node):
    """Whether there is a kernel for a node."""
    op = node.op
    if op is PICK:
        return node.args[0].op.name in _POOLS and _has_kernel(node.args[0])
    return op.name in _GEOMETRIES and node.size > 0 and node.dtype in _FLOATS and _has_kernel(node)


def is_shared(node):
    """Whether a node stands for several results of one kernel."""
    return node.op is not PICK and node.shape is None and node.op.name in _POOLS and _has_kernel(node)


def _has_kernel(node):
    operands = operands_of(node)
    is_float = all([a.dtype in _FLOATS and a.size > 0 for a in operands])
    return is_float and len({a.dtype for a in operands}) == 1 and isinstance(node.args[0], Symbol)


_POOLS = frozenset()


def operands_of(node):
    """The arrays that the kernel of a node reads."""
    source = source_of(node)
    return [a for a in source.args[:3] if hasattr(a, "dtype")]


def source_of(node):
    """The node that a kernel is for: of one of several results, what they are results of."""
    return node.args[0] if node.op is PICK else node


def geometry_of(node):
    """The sizes of a convolution."""
    return _GEOMETRIES[node.op.name](*node.args)


def flops_of(node):
    """Floating point operations of the kernel of a node."""
    node = source_of(node)
    if node.op.name not in _GEOMETRIES:
        return 0
    geometry = geometry_of(node)
    return 2 * geometry.batch * geometry.outputs * geometry.depth * geometry.result[0] * geometry.result[1]


def _of_output(x, weight, bias, stride, padding, dilation, groups):
    return Geometry.of(x.shape, weight.shape, stride, padding, dilation, groups)


def _of_input(x, weight, shape, stride, padding, dilation, groups):
    return Geometry.of(shape, weight.shape, stride, padding, dilation, groups)


def _of_weight(x, y, shape, stride, padding, dilation, groups):
    return Geometry.of(x.shape, shape, stride, padding, dilation, groups)


_GEOMETRIES = {"conv2d": _of_output, "conv2d_input": _of_input, "conv2d_weight": _of_weight}
