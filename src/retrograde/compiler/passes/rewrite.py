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
    names, readers = _names(outputs), None
    for pattern in PATTERNS:
        # Most graphs have no op of most patterns; to ask who reads what costs more than this look.
        if names.isdisjoint(pattern.ops):
            continue
        readers = readers or Readers(outputs)
        makers = pattern.find(readers)
        if makers:
            outputs = _replaced(makers, outputs)
            names, readers = _names(outputs), None
    return outputs


def _names(outputs):
    """The names of the ops of a graph."""
    return {node.op.name for node in outputs.nodes if node.op is not None}


def _replaced(makers, outputs):
    """A graph in which nodes are what `makers` make of them."""
    made = {}
    for node in outputs.nodes:
        found = makers[node](node, made) if node in makers else None
        made[node] = remade(node, made) if found is None else found
    return Outputs([made[o] if isinstance(o, Symbol) else o for o in outputs])
