"""Arrays and numbers of NumPy's in a file: their types, shapes and bytes are checked, then NumPy fills them. Nothing is run."""

import re
from math import prod

import numpy as np

from ...errors import CheckpointError

#: Numbers alone: an array of objects would be a pickle within the pickle.
_CODE = re.compile(r"[?biufc][0-9]{0,2}")


class ArrayType:
    """The type of an array while the file is being read: one of its own, since the dtypes of NumPy's are everybody's."""

    name = "a type of NumPy's"

    def __init__(self, code, align=False, copy=True):
        _needs(type(code) is str and _CODE.fullmatch(code), f"the type of an array of NumPy's is {code!r:.100}, not one of numbers")
        _needs(align in (0, 1) and copy in (0, 1), "a type of NumPy's has other arguments than numbers have")
        try:
            self.dtype = np.dtype(code)
        except TypeError:
            raise CheckpointError(f"data.pkl has an array of the type {code!r}, which NumPy has not here") from None

    def fill(self, state):
        """Take the order of bytes from a state, which has nothing else for numbers."""
        _needs(len(state) == 8 and state[0] == 3 and state[2:] == (None, None, None, -1, -1, 0), "a type of NumPy's has fields")
        _needs(state[1] in ("<", ">", "|", "="), "a type of NumPy's has no order of bytes")
        self.dtype = self.dtype.newbyteorder(state[1])


def empty(kind, shape, code):
    """An array of NumPy's that is filled later, as `_reconstruct` makes it."""
    is_plain = getattr(kind, "name", None) == "numpy.ndarray" and shape == (0,) and code in (b"b", "b")
    _needs(is_plain, "an array of NumPy's is of another class")
    return np.empty(0, np.int8)


def scalar(kind, data):
    """A number of NumPy's."""
    is_whole = type(kind) is ArrayType and type(data) is bytes and len(data) == kind.dtype.itemsize
    _needs(is_whole, "a number of NumPy's has other bytes")
    return np.frombuffer(data, kind.dtype)[0]


def filled(found, state):
    """An array, or its type, with the state that a pickle has for it."""
    _needs(type(state) is tuple, "the state of an array of NumPy's is no tuple")
    if isinstance(found, ArrayType):
        found.fill(state)
        return found
    _needs(len(state) == 5 and state[0] == 1, "the state of an array of NumPy's is of another version")
    _, shape, kind, is_transposed, data = state
    _needs(type(kind) is ArrayType and type(is_transposed) is bool, "an array of NumPy's has no type")
    is_shape = type(shape) is tuple and all([type(n) is int and n >= 0 for n in shape]) and len(shape) <= 32
    _needs(is_shape, "an array of NumPy's has no shape")
    is_whole = type(data) is bytes and prod(shape) * kind.dtype.itemsize == len(data)
    _needs(is_whole, "an array of NumPy's has other bytes than its shape needs")
    found.__setstate__((1, shape, kind.dtype, is_transposed, data))
    return found


def _needs(holds, what):
    if not holds:
        raise CheckpointError(f"data.pkl cannot be read: {what}")
