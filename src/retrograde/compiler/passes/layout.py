"""Layout: in which order of axes results are written to memory.

Takes  a graph of primitive nodes.
Gives  a graph of the same values in which results of attention are written in the order in which they are read.
Keeps  what the graph gives has its own order of axes.
"""

import numpy as np

from ...core import registry
from ...core.symbol import Outputs, Symbol, renewed, replaced
from ..graph.recorder import PICK
from ..kernels.attention import ATTENTION

#: Ops that change the order of axes.
_PERMUTING = frozenset(["permute_dims", "transpose", "moveaxis"])


def written_as_read(outputs):
    """The graph of `outputs` with the results of attention written in the order in which they are read: heads beside each other,
    say, where these are joined next. Whoever else reads them sees them through a view.
    """
    nodes = outputs.nodes
    joined = {node.args[0] for node in nodes if node.op is not None and node.op.name == "reshape"}
    # What is given out keeps the order of axes that its caller sees.
    kept = {output for output in outputs if isinstance(output, Symbol)}
    moving = [node for node in nodes if node in joined and (order := _order_of(node)) and _can_move(node.args[0], order, kept)]
    if not moving:
        return outputs
    orders = {node.args[0]: _order_of(node) for node in moving}
    made, moved = {}, {}
    for node in nodes:
        made[node] = renewed(node, replaced(node.args, made.__getitem__))
        if node in orders:
            order = orders[node]
            moved[node] = Symbol(PICK, (*made[node].args, order), tuple([node.shape[axis] for axis in order]), node.dtype)
            made[node] = Symbol(registry.get("permute_dims"), (moved[node], _inverse(order)), node.shape, node.dtype)
        elif _order_of(node) and _order_of(node) == orders.get(node.args[0]):
            made[node] = moved[node.args[0]]
    return Outputs([made[o] if isinstance(o, Symbol) else o for o in outputs])


def _order_of(node):
    """The order of axes of a node that only changes this; None of others."""
    if node.op is None or node.op.name not in _PERMUTING:
        return None
    told = np.broadcast_to(0, tuple(range(node.ndim)))  # an array whose lengths say which axis is which
    return node.op.kernel(told, *node.args[1:]).shape


def _can_move(pick, order, kept):
    is_first = isinstance(pick, Symbol) and pick.op is PICK and pick.args[1] == 0
    if not is_first or pick in kept or not ATTENTION.matches(pick, None):
        return False
    return pick.args[0].op.name == "attention_with_sums" and pick.shape[-2] > 1 and order[-1] == pick.ndim - 1


def _inverse(order):
    """Where each axis is in an order of axes."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
