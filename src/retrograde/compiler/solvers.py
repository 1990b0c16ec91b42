"""Solvers: which nodes of linear algebra the compiler has kernels for, and what they read and cost."""

import numpy as np

from ..core.dispatch import operands_of

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])


def is_solver(node):
    """Whether there is a kernel for a node."""
    if node.op.name not in _COSTS or node.shape is None or not node.size:
        return False
    return node.dtype in _FLOATS and all([x.dtype == node.dtype for x in operands_of(node.op, node.args)])


def memory_of(node, facts):
    """The nodes whose memory the kernel of a node reads, through views."""
    return [facts.base(x) for x in node.inputs]


def flops_of(node):
    """Floating point operations of the kernel of a node."""
    n = node.args[0].shape[-1]
    return int(_COSTS[node.op.name] * n * node.size)


#: Operations for each number of the result and each row of the matrix.
_COSTS = {"cholesky": 1 / 3, "solve_triangular": 1}
