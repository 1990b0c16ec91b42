"""Rows: kernels that look for positions in each row of a matrix, and how rows are dealt to chunks."""

from dataclasses import dataclass
from typing import ClassVar

from .... import cost
from . import emit
from .entry import Entry
from .keys import BITS
from .vectors import InVectors

#: So many vectors of a row are looked at together: most have nothing that is looked for, which is one test for all of them then.
_TOGETHER = 4


@dataclass(eq=False, repr=False)
class RowsPlan(InVectors):
    """What is done to each of `rows` rows of `count` numbers. A kind of plan has a `grain` by which rows are dealt."""

    grain: ClassVar[cost.Grain]

    dtype: str
    lanes: int
    rows: int
    count: int

    @property
    def wide(self):
        """So many numbers are looked at together."""
        return self.lanes * _TOGETHER

    @property
    def step(self):
        """How many rows one chunk takes."""
        return self.grain.share(self.rows, self.rows * self.count)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.rows // self.step)


class RowsWriter:
    """A function under construction: its slots are `buffers` buffers, then words, of which the last is how many rows a chunk takes.

    The first word is the number of rows, the second that of the numbers in each; `more` has those between.
    """

    def __init__(self, module, name, plan, buffers, words):
        self.item, self.bits, self.wide = plan.item, BITS[plan.dtype], plan.wide
        entry = Entry(module, name)
        self.ir = entry.builder
        self.buffers = [entry.pointer(i) for i in range(buffers)]
        self.rows, self.count, *self.more, step = (entry.word(buffers + i) for i in range(words))
        self.first = self.ir.mul(entry.chunk, step)
        self.last = emit.minimum(self.ir, self.ir.add(self.first, step), self.rows)
