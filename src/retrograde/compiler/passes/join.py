"""Join: a sum of arrays that are each scattered into zeros becomes one array of them, written once.

Takes  a graph of primitive nodes.
Gives  a graph of the same values in which such sums are made at once: arrays that fill the whole together are put beside each
       other, many lines are stacked and added at their positions.
Keeps  everything else as it is, node by node.

The derivative of a loop over the parts of an array, its rows or its numbers, is such a sum, with a term for each part.
"""

from ...core.symbol import Outputs, Symbol, renewed, replaced
from ..graph.infer import called
from ..rules.sums import SUMS, is_scattered, scattered_in_steps


def joined(outputs):
    """The graph of `outputs` with sums of arrays in zeros made at once."""
    nodes = outputs.nodes
    if not any([is_scattered(node) for node in nodes]):
        return outputs
    made, inner = {}, _inner_sums(nodes, outputs)
    for node in nodes:
        if node not in inner:
            found = _sum_made(node, inner, made) if _is_sum(node) else None
            made[node] = renewed(node, replaced(node.args, made.__getitem__)) if found is None else found
    return Outputs([made[o] if isinstance(o, Symbol) else o for o in outputs])


def _is_sum(node):
    """Whether a node adds two nodes of its own shape and dtype."""
    return node.op is not None and node.op.name == "add" and all([
        isinstance(a, Symbol) and (a.shape, a.dtype) == (node.shape, node.dtype) for a in node.args])


def _inner_sums(nodes, outputs):
    """The sums that are nothing but a part of another one which has an array in zeros among its terms."""
    # What is given out counts as read twice: it must be there by itself, so it is no mere part of a larger sum.
    uses, scattered, inner = dict.fromkeys([o for o in outputs if isinstance(o, Symbol)], 2), set(), set()
    for node in nodes:
        for read in node.inputs:
            uses[read] = uses.get(read, 0) + 1
        if _is_sum(node) and any([is_scattered(a) or scattered_in_steps(a)[1] or a in scattered for a in node.args]):
            scattered.add(node)
    for node in reversed(nodes):
        if node in scattered:
            inner.update([a for a in node.args if a in scattered and uses[a] == 1])
    return inner


def _sum_made(node, inner, made):
    """A sum made anew; None if it had better stay as it is."""
    terms, stack = [], [node]
    while stack:
        term = stack.pop()
        if term is node or term in inner:
            # Terms from left to right, since rounding depends on the order in which they are added.
            stack.extend(term.args[::-1])
        else:
            terms.append(made[term])
    found = terms
    for rule in SUMS:
        found = rule.replace(found, node.shape)
    # Nothing was joined: the node itself stays, so that whoever knows it finds it again.
    if found == node.inputs:
        return None
    total, *rest = found
    for term in rest:
        total = called("add", total, term)
    return total
