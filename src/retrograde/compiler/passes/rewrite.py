"""Rewrite: nodes that read each other are replaced together, by the rules of `rules.table.PATTERNS`.

Takes  a graph of primitive nodes.
Gives  a graph of the same values in which each pattern of the table is replaced by what its row makes of it.
Keeps  everything that is in no pattern as it is, node by node; what the graph gives keeps its order of axes.

It comes after lowering, not in it: while a graph is lowered nobody knows yet who will read a node.
"""

from ...core.symbol import Outputs, Symbol, remade
from ..rules.rule import Readers
from ..rules.table import PATTERNS


def rewritten(outputs):
    """The graph of `outputs` with all patterns replaced, one row of the table after the other."""
    for pattern in PATTERNS:
        outputs = _without(pattern, outputs)
    return outputs


def _without(pattern, outputs):
    """A graph with one pattern replaced wherever it is found; the same object where it is not."""
    nodes = outputs.nodes
    # Most graphs have no op of most patterns; to ask who reads what costs more than this look.
    if not any([node.op is not None and node.op.name in pattern.ops for node in nodes]):
        return outputs
    makers = pattern.find(Readers(outputs))
    if not makers:
        return outputs
    made = {}
    for node in nodes:
        found = makers[node](node, made) if node in makers else None
        made[node] = remade(node, made) if found is None else found
    return Outputs([made[o] if isinstance(o, Symbol) else o for o in outputs])
