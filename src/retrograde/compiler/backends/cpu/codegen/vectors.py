"""Vectors: the LLVM types of what is computed on vectors of so many numbers of one dtype."""

from math import ceil

from ....target import CACHE_LINE, ITEM_BYTES
from . import ir
from .vecmath.elements import vector_type

SCALAR_TYPES = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


class InVectors:
    """What is computed on vectors of so many `lanes`, of numbers of one dtype.

    Those of a dataclass are equal if their fields are. That stands here once, as `dataclass` would compile such functions for each
    class, in each process that generates code.
    """

    dtype: str
    lanes: int

    def __eq__(self, other):
        return other.__class__ is self.__class__ and other._values == self._values

    def __hash__(self):
        return hash(self._values)

    def __repr__(self):
        fields = ", ".join([f"{name}={value!r}" for name, value in zip(self.__dataclass_fields__, self._values, strict=True)])
        return f"{self.__class__.__name__}({fields})"

    @property
    def _values(self):
        return tuple([getattr(self, name) for name in self.__dataclass_fields__])

    @property
    def item(self):
        """The LLVM type of one number."""
        return SCALAR_TYPES[self.dtype]

    @property
    def vector(self):
        """The LLVM type of one vector."""
        return vector_type(self.item, self.lanes)


def odd_lines(count, dtype):
    """`count` numbers, and more until they fill an odd number of cache lines."""
    line = CACHE_LINE // ITEM_BYTES[dtype]
    return (ceil(count / line) | 1) * line
