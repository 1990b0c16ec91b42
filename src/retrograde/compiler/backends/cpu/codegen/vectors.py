"""Vectors: the LLVM types of what is computed on vectors of so many numbers of one dtype."""

from . import ir
from .vecmath.elements import vector_type

SCALAR_TYPES = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


class InVectors:
    """What is computed on vectors of so many `lanes`, of numbers of one dtype."""

    dtype: str
    lanes: int

    @property
    def item(self):
        """The LLVM type of one number."""
        return SCALAR_TYPES[self.dtype]

    @property
    def vector(self):
        """The LLVM type of one vector."""
        return vector_type(self.item, self.lanes)
