"""Library calls: steps that run the kernel of an op, since it has no lowering."""

import numpy as np

from ...core.explain import explained
from ...core.symbol import replaced
from ..graph.infer import check_kind
from ..graph.recorder import PICK


class LibraryCall:
    """A step that has no lowering: the op's own kernel, on arrays."""

    step, chunks = None, 1

    def __init__(self, node):
        self.node = node

    @property
    def ops(self):
        """The names of the ops for which Python is needed."""
        return [(self.node.args[0] if self.node.op is PICK else self.node).op.name]

    def run(self, arrays):
        """Compute the node into its place in `arrays`."""
        node = self.node
        result = computed(node, replaced(node.args, lambda a: array_of(a, arrays)))
        if node.shape is None:
            arrays[node] = result
        else:
            check_kind(node, result)
            np.copyto(arrays[node], result, casting="unsafe")


class InPlaceCall(LibraryCall):
    """A step that runs the kernel of an op with several results, which writes those that are wanted into their places."""

    def __init__(self, step):
        super().__init__(step.roots[0])
        self._wanted = step.roots[1:]

    def run(self, arrays):
        """Compute the wanted results into their places in `arrays`."""
        node = self.node
        places = {pick.args[1]: arrays[pick] for pick in self._wanted}
        node.op.into(places, *replaced(node.args, lambda a: array_of(a, arrays)))


def array_of(node, arrays):
    """The array of a node: in memory, or a view of what is."""
    return arrays[node] if node in arrays else node.op.kernel(array_of(node.args[0], arrays), *node.args[1:])


def computed(node, args):
    """What the op of `node` makes of `args`, its arguments with arrays for symbols; errors name the op and its operands."""
    if node.op is PICK:
        results, number, *order = args
        return np.transpose(results[number], *order) if order else results[number]
    try:
        return node.op.kernel(*args)
    except Exception as error:  # noqa: BLE001 - whatever the kernel raises, the op and its inputs are named
        raise explained(node.op, error, args) from None
