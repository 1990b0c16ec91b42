"""Effects: calls of ops that talk to the world outside, as nodes that are neither merged, nor dropped, nor moved past one another.

Such a node reads a token and gives another one, which the next one reads: so each is needed, none equals another one, and their
order is that of their data. A trace holds the latest token as it holds what is written to a tensor from outside, so that loops
carry it along, branches choose it, and the last one is a result of the program.
"""

from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.explain import explained
from ...errors import TraceError
from ...ops._arrays import arrays

#: What stands for the order of effects: nothing but the fact that it is there.
TOKEN = np.zeros((), np.int8)
#: The number of the token among the results of a node.
LAST = -1


class Effectful:
    """The op of one call of an op with an effect: (token, arguments of the op) to (results of the op, token)."""

    family, expansion, result_shape, broadcasts, is_variadic = "effect", None, None, False, False
    is_multiple = has_effect = is_foreign = True

    def __init__(self, op):
        self.op, self.name, self.told, self.algebra, self.begins = op, op.name, op.told, op.algebra, op.begins
        self.arguments, self.operands = ("token", *op.arguments), tuple([i + 1 for i in op.operands])

    def kernel(self, token, *args):
        """The results of the op, then the token."""
        try:
            found = self.op.kernel(*args)
        except Exception as error:  # noqa: BLE001 - whatever the kernel raises, the op and its inputs are named
            raise explained(self.op, error, args) from None
        return *(found if self.op.is_multiple else (found,)), token

    def into(self, places, token, *args):
        """Write the results of an op that can do so, and the token, into arrays by their numbers."""
        if LAST in places:
            places[LAST][...] = token
        try:
            self.op.into(places, *args)
        except Exception as error:  # noqa: BLE001 - as above
            raise explained(self.op, error, args) from None


class World:
    """What stands for the world outside in a trace: a `value` that holds the token of the latest effect, once there is one."""

    def __init__(self):
        self.value: Any = None
        self._refuses = False

    @property
    def is_touched(self):
        """Whether a call with an effect is recorded."""
        return self.value is not None

    def touched_by(self, op):
        """The value, for a call of an op with an effect."""
        if self._refuses:
            raise TraceError(f"the derivative of the body of a loop calls {op.name}, which has an effect; such a derivative is not "
                             "compiled: unroll the loop in Python, or call the function outside of jit")
        self.value = arrays.made(TOKEN.copy()) if self.value is None else self.value
        return self.value

    @contextmanager
    def refusing(self):
        """Within it, a call with an effect is an error: what is recorded may be put into a loop that carries no token."""
        before, self._refuses = self._refuses, True
        try:
            yield
        finally:
            self._refuses = before


def has_effect(node):
    """Whether a node is a call with an effect."""
    return node.op is not None and node.op.__class__ is Effectful
