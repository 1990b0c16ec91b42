"""Small graphs written by hand, and what the passes of the compiler make of them."""

import numpy as np

from retrograde.compiler import pipeline
from retrograde.compiler.graph.infer import called
from retrograde.compiler.passes.fuse import Schedule
from retrograde.compiler.run.program import Graph
from retrograde.compiler.trace.outcome import outcome_of
from retrograde.core.symbol import Outputs, Symbol

__all__ = ["called", "draft_of", "leaf", "names", "schedule_of", "steps", "traced"]


def leaf(*shape, dtype=np.float32):
    """A node that is handed in."""
    return Symbol(None, (), shape, np.dtype(dtype))


def schedule_of(*outputs):
    """The schedule of nodes that are primitive as they are."""
    return Schedule(Outputs(outputs))


def draft_of(results, updates=(), observe=None):
    """What the whole pipeline makes of results, and of updates (leaf, node)."""
    found = Outputs([*results, *[node for _, node in updates]])
    state = [leaf for leaf, _ in updates]
    inputs = [node for node in found.nodes if node.op is None and node not in state]
    return pipeline.planned(Graph(inputs, state, list(results), list(updates), []), observe)


def names(nodes):
    """The names of the ops of nodes."""
    return [node.op.name if node.op else "input" for node in nodes]


def steps(schedule):
    """For each step its kind, its domain and the names of what it stores."""
    return [(step.kernel.name, step.domain, names(step.roots)) for step in schedule.steps]


def traced(function, *leaves):
    """What a function of values makes of nodes: a node, or a list of them."""
    found = outcome_of(function, leaves)
    return list(found) if isinstance(found, tuple) else found
