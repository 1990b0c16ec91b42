"""Effects: calls of ops that talk to the world outside, as nodes that are neither merged, nor dropped, nor moved past one another.

Such a node reads a token and gives another one, which the next one reads: so each is needed, none equals another one, and their
order is that of their data. A trace holds the latest token as it holds what is written to a tensor from outside, so that loops
carry it along, branches choose it, and the last one is a result of the program.
"""

import numpy as np

from ..core.explain import explained

#: What stands for the order of effects: nothing but the fact that it is there.
TOKEN = np.zeros((), np.int8)
#: The number of the token among the results of a node.
LAST = -1


class Effectful:
    """The op of one call of an op with an effect: (token, arguments of the op) to (results of the op, token)."""

    family, expansion, result_shape, broadcasts, is_variadic = "effect", None, None, False, False
    is_multiple = has_effect = is_foreign = True

    def __init__(self, op):
        self.op, self.name, self.told, self.algebra = op, op.name, op.told, op.algebra
        self.arguments, self.operands = ("token", *op.arguments), tuple([i + 1 for i in op.operands])

    def kernel(self, token, *args):
        """The results of the op, then the token."""
        try:
            found = self.op.kernel(*args)
        except Exception as error:  # noqa: BLE001 - whatever the kernel raises, the op and its inputs are named
            raise explained(self.op, error, args) from None
        return *(found if self.op.is_multiple else (found,)), token


def has_effect(node):
    """Whether a node is a call with an effect."""
    return node.op is not None and node.op.__class__ is Effectful
