"""Signatures: what a node is by itself, as a number. Nodes that compute the same of operands of equal shapes and dtypes share one,
as those of layers that repeat and of the updates of many parameters do, so that what depends on nothing else is found once for all.
"""

import numpy as np

from ...core.symbol import Symbol

#: Arrays of up to so many bytes may be compared by their numbers.
SMALL_CONSTANT = 4096
_NESTED = frozenset([tuple, list])
#: Of these one is equal to another of its class where it is the same; zeros of different sign are equal as well.
_EXACT = frozenset([bool, int, str, bytes, type(None), type(Ellipsis)])
_PRINTED = frozenset([float, complex, slice])


class Signatures(dict):
    """By node (its signature, the constants among its arguments), found when it is first asked for.

    key_of  what tells a constant from others
    """

    def __init__(self, key_of=None):
        super().__init__()
        self._key_of = key_of or identity_of
        #: The number of each signature, and of other `facts`.
        self._numbers = {}

    def __missing__(self, node):
        constants = []
        found = self[node] = self.number((node.op, node.shape, node.dtype, self._keys_of(node.args, constants))), constants
        return found

    def number(self, facts):
        """The number of some hashable facts, the same for equal ones."""
        return self._numbers.setdefault(facts, len(self._numbers))

    def _keys_of(self, args, constants):
        """What arguments are, of nodes their shapes and dtypes; all else is added to `constants`, in order."""
        found = []
        for a in args:
            if isinstance(a, Symbol):
                found.append((a.shape, a.dtype))
            elif a.__class__ in _NESTED:
                found.append((a.__class__, self._keys_of(a, constants)))
            else:
                constants.append(a)
                found.append(self._key_of(a))
        return tuple(found)


def contents_of(constant):
    """As `identity_of`, but that small arrays of equal numbers are told apart by nothing."""
    if isinstance(constant, np.ndarray) and constant.nbytes <= SMALL_CONSTANT and not constant.dtype.hasobject:
        return constant.dtype, constant.shape, constant.tobytes()
    return identity_of(constant)


def identity_of(constant):
    """What tells a constant from others: its type and number; of what is in memory, and of objects, which one it is."""
    kind = constant.__class__
    if kind in _EXACT:
        return kind, constant
    if kind in _PRINTED:
        return kind, repr(constant)
    if isinstance(constant, np.generic):
        return kind, constant.tobytes()
    if isinstance(constant, np.ndarray) and constant.size and (constant.size == 1 or not any(constant.strides)):
        return constant.dtype, constant.shape, constant.flat[0].tobytes()
    return kind, id(constant)
