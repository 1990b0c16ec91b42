"""Pool: max pooling before relu, so that relu and its slope meet one number of each window.

Takes  a graph of primitive nodes.
Gives  a graph of the same values in which pooling comes first, where nothing else needs what relu gives.
Keeps  results and gradients, bit for bit: relu does not fall, so that the relu of the greatest number is the greatest relu. Where
       that is above zero both come from the same place; elsewhere nothing is handed back.
"""

from ...core.symbol import Outputs, Symbol, renewed, replaced
from ..graph.infer import called
from ..graph.recorder import PICK
from ..kernels.loops import reduced_axes


def pooled_first(outputs):
    """The graph of `outputs` with relu after max pooling, where nothing else needs what relu gives."""
    nodes = outputs.nodes
    pools = [node for node in nodes if _is(node, "max_pool2d_with_taps") and _is(node.args[0], "relu")]
    if not pools:
        return outputs
    users = _users(nodes, outputs)
    slopes = {pool: _slopes(pool, users) for pool in pools}
    rewriting = _Rewriting({pool: found for pool, found in slopes.items() if found is not None})
    return rewriting.outputs(nodes, outputs)


def _is(node, name):
    return isinstance(node, Symbol) and node.op is not None and node.op.name == name


def _users(nodes, outputs):
    """What reads each node; an output is read by what is no node."""
    users = {output: [None] for output in outputs if isinstance(output, Symbol)}
    for node in nodes:
        for read in node.inputs:
            users.setdefault(read, []).append(node)
    return users


def _slopes(pool, users):
    """Where what a pool hands back goes through the slope of relu; None if anything else reads relu, or asks for places."""
    found = []
    for reader in users[pool.args[0]]:
        if reader is pool:
            continue
        # The slope of relu reads relu too, as `z <= 0`; whatever else reads it needs all of it, and then nothing is saved.
        if not _is(reader, "less_equal") or not _is_zero(reader.args[1]):
            return None
        found += users[reader]
    handed = [node for pick in users[pool] if pick.args[1] == 1 for node in users[pick]]
    # Places in windows (`max_pool2d(return_indices=True)`) would be others where a whole window is below zero.
    is_plain = all([_is(node, "max_pool2d_input") for node in handed])
    is_through = is_plain and {user for node in handed for user in users[node]} <= set(found)
    return found if is_through and all([_is_slope(node, handed) for node in found]) else None


def _is_slope(node, handed):
    """Whether a node keeps what is handed back where relu is above zero."""
    return _is(node, "where") and _is(node.args[0], "less_equal") and _is_zero(node.args[1]) and node.args[2] in handed


def _is_zero(argument):
    return argument.__class__ in (int, float) and argument == 0


class _Rewriting:
    """The nodes made anew: `slopes` of each pool, and the relu of what it finds."""

    def __init__(self, slopes):
        self._slopes, self._made, self._values = slopes, {}, {}
        self._pools = {slope: pool for pool, found in slopes.items() for slope in found}
        self._handed = {}

    def outputs(self, nodes, outputs):
        """The graph of `outputs` made anew."""
        for node in nodes:
            self._made[node] = self._renewed(node)
        return Outputs([self._made[o] if isinstance(o, Symbol) else o for o in outputs])

    def _renewed(self, node):
        if node in self._slopes:
            return Symbol(node.op, (self._made[node.args[0].args[0]], *node.args[1:]), node.shape, node.dtype)
        if node.op is PICK and node.args[0] in self._slopes and node.args[1] == 0:
            return self._value(node.args[0], node)
        if node in self._pools:
            return self._handed_back(node)
        if _is(node, "sum") and node.args[0] in self._handed and self._keeps_all(node):
            # Each number stands somewhere in its window, so that the sum of windows is the sum of what was handed to them.
            return Symbol(node.op, (self._handed[node.args[0]], *node.args[1:]), node.shape, node.dtype)
        return renewed(node, replaced(node.args, self._made.__getitem__))

    def _value(self, pool, like):
        """The relu of what a pool finds."""
        if pool not in self._values:
            dtype = pool.args[0].dtype
            self._values[pool] = called("relu", Symbol(PICK, (self._made[pool], 0), like.shape, dtype))
        return self._values[pool]

    def _handed_back(self, slope):
        """What a pool hands back, through the slope of relu."""
        _, zero, found = slope.args
        g, taps, *rest = replaced(found.args, self._made.__getitem__)
        value = self._value(self._pools[slope], found.args[1])
        self._handed[slope] = called("where", called("less_equal", value, 0), zero, g)
        return Symbol(found.op, (self._handed[slope], taps, *rest), found.shape, found.dtype)

    @staticmethod
    def _keeps_all(total):
        """Whether a sum is over whole images, to which windows hand back all."""
        last = total.args[0].ndim - 2
        return {last, last + 1} <= set(reduced_axes(total))
