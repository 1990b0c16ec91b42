"""What kernels of linear algebra are generated from: the vectors of the machine, and how many rows are in registers at once."""

from dataclasses import dataclass

from .....target import CACHE_LINE, ITEM_BYTES
from ..vectors import InVectors

#: Vectors in a strip of columns.
VECTORS = 2


@dataclass(eq=False, repr=False)
class Spec(InVectors):
    """Numbers of `dtype` in vectors of so many `lanes`, in tiles of at most `height` rows."""

    dtype: str
    lanes: int
    height: int
    is_fused: bool

    @property
    def key(self):
        """What the code depends on."""
        return self.dtype, self.lanes, self.height, self.is_fused

    @property
    def width(self):
        """Columns of a strip."""
        return VECTORS * self.lanes

    @property
    def item_bytes(self):
        """Bytes of one number."""
        return ITEM_BYTES[self.dtype]

    def pitch(self, columns):
        """Numbers from row to row of a matrix of its own: whole strips, an odd number of cache lines, so that a column of them
        does not crowd one corner of the cache.
        """
        line = CACHE_LINE // self.item_bytes
        strips = -(-columns // self.width) * self.width
        # One line more where there would be an even number of them.
        return strips + line if strips % (2 * line) == 0 else strips


def spec_for(target, dtype):
    """The spec for a machine."""
    # Sums of two vectors for each row, with two for the row that leaves and one for a factor, are what 16 registers hold.
    return Spec(dtype, target.lanes(dtype), 6 if target.registers <= 16 else 8, target.has_fma)
