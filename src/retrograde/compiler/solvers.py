"""Solvers: which nodes of linear algebra the compiler has kernels for, and what they read and cost."""

import numpy as np

from ..core.dispatch import operands_of
from .failures import NOT_DEFINITE, SINGULAR

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
#: Operations for each number of the result and each row of the matrix.
_COSTS = {"cholesky": 1 / 3, "cholesky_gradient": 2 / 3, "solve_triangular": 1, "lu_factor": 2 / 3, "lu_solve": 2}
#: What the kernel of a node leaves where there is no answer. Factors there always are.
FAILURES = {"cholesky": NOT_DEFINITE, "lu_factor": 0,
            **dict.fromkeys(["cholesky_gradient", "solve_triangular", "lu_solve"], SINGULAR)}


def is_solver(node):
    """Whether there is a kernel for a node."""
    if node.op.name not in _COSTS or node.shape is None or not node.size:
        return False
    return node.dtype in _FLOATS and all([x.dtype == node.dtype for x in operands_of(node.op, node.args)])


def may_fail(node):
    """Whether there may be no answer."""
    return FAILURES[node.op.name] != 0


def memory_of(node, facts):
    """The nodes whose memory the kernel of a node reads, through views."""
    return [facts.base(x) for x in node.inputs]


def flops_of(node):
    """Floating point operations of the kernel of a node."""
    return int(_COSTS[node.op.name] * node.args[0].shape[-1] * node.size)
