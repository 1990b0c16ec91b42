"""Node, how a record of the graph looks from outside: its name and what it was made from."""

from ..core.value import Projection


class Node:
    """A node of the graph; two are equal if they are the same one."""

    __slots__ = ("record",)

    def __init__(self, record):
        self.record = record.parents[0] if isinstance(record, Projection) else record

    def name(self):
        """The name of the op, or "leaf"."""
        return self.record.name if self.record.op is not None else "leaf"

    @property
    def next_functions(self):
        """(node, number of its output) of each input; (None, 0) of one that takes no part in the backward pass."""
        return tuple([
            (None, 0) if parent is None else (Node(parent), parent.saved[0][0] if isinstance(parent, Projection) else 0)
            for parent in self.record.parents
        ])

    def __eq__(self, other):
        return isinstance(other, Node) and self.record is other.record

    def __hash__(self):
        return hash(self.record)

    def __repr__(self):
        return f"<node {self.name()}>"
