"""Kind: what the compiler does with a node. `kinds.KINDS` lists all; nobody else asks of which kind a node is.

A node is either computed in loops, on the way to what needs it (see `inline`), or by a kernel of its own, which finds its operands
in memory and leaves its results there (see `kernel`). Whoever handles nodes asks their kind, by the methods below. A new kind is a
class that answers them, and an entry of the list.
"""


class Kind:
    """A kind of node.

    kernel     the kernel that computes a node of this kind where it is stored
    is_apart   whether nodes are found in memory only, once their kernel is over: no loop computes them on the way
    is_work    whether a loop computes something for each number, so that a value may be worth keeping
    is_moving  whether a loop reads the operands at other places than its own
    has_several  whether its ops have several results, each of which is a node
    """

    kernel = None
    is_apart = is_work = is_moving = has_several = False

    def matches(self, node, facts):
        """Whether a node of one of the ops that the list has for this kind is of it; for an op with several results, whether
        these are. It is asked of one node of each signature (`graph.signatures`), so that it may look at the arguments, but not at
        what these are made of.
        """
        raise NotImplementedError

    # In memory

    def is_always_stored(self, node, facts):
        """Whether a node has memory whoever needs it."""
        return self.is_apart

    def memory(self, node, facts):
        """The nodes that must be in memory, complete, before a node can be computed; None where loops compute its operands."""
        return

    def shown(self, node, facts):
        """The node whose memory a loop reads in the place of this one; None where it reads or computes the operands."""
        return

    def viewed(self, node):
        """The operand of which a node is a view; None of others."""
        return

    def index_map(self, node, facts):
        """Where the elements of a view are in its operand: for each axis of this, (offset, step for each axis of the view). None of
        what is no view.
        """
        return

    def unshaped(self, node):
        """The operand that has the same elements in the same order, in another shape; None of others."""
        return

    def rows_at(self, node):
        """The positions along the first axis at which a node has whole rows of its first operand; None of others."""
        return

    def tiles(self, node, facts):
        """The pieces of one shape that fill a node, each of which is written where it stands; None of others."""
        return

    # In loops

    def domain(self, node, facts):
        """(lengths of the loops that compute a node that is stored, the axes among them that are reduced)."""
        return node.shape, ()

    def stores(self, node, step, expression):
        """What the loops of a step store for a node."""
        raise NotImplementedError

    def at_point(self, node, facts):
        """What the loops that store a node compute at their own point: the node, or its operands."""
        return [node]

    def entry(self, node, place, guard, expression):
        """How an expression computes a node at a place, inside of the piece `guard`: what must be computed before, as (node, place,
        guard), and a function of the numbers of these entries that gives the number of the node's.
        """
        raise NotImplementedError

    def operands(self, node, place, bounds, places, facts):
        """What a loop computes for a node where it meets it: (operand, (its place, the bounds of the pieces around it))."""
        return [(a, (places.aligned(a, place), bounds)) for a in node.inputs]

    def is_worth_memory(self, places, many):
        """Whether a loop had better read a node that it meets at so many places from memory; `many` places always are too many."""
        return self.is_work

    def weight(self, node, expensive):
        """What computing a node adds to each number: 0, 1 for a cheap op, or `expensive`."""
        return 0

    def may_fail(self, node):
        """Whether a loop that computes a node may find that it has no value."""
        return False

    def flops(self, node):
        """Floating point operations that a node takes; an elementwise function counts as one."""
        return 0
