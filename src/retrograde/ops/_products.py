"""How a contraction of two operands is a product of matrices: which labels are its batch, its rows and its columns."""

from itertools import pairwise
from typing import NamedTuple


class MatrixPlan(NamedTuple):
    """Labels of a product of matrices, (batch, rows, shared) by (batch, shared, columns).

    An operand that has not all labels of the batch has the size 1 in their place. Labels of one operand alone that the output
    does not have are in none of these: they are summed before.
    """

    batch: str
    rows: str
    shared: str
    columns: str

    @property
    def result(self):
        """The labels of the product."""
        return self.batch + self.rows + self.columns


def matrix_plan(left, right, output):
    """The plan for two operands, whose labels differ within each, and the labels of the output."""
    shared = "".join(c for c in left if c in right and c not in output)
    batch = "".join(c for c in output if c in left and c in right)
    alone = "".join(c for c in output if c not in batch)
    # A label of one operand between those of the other would have to be moved behind the product, so it joins the batch.
    while not _is_in_blocks([c in left for c in alone]):
        batch, alone = batch + alone[0], alone[1:]
    rows, columns = ("".join(c for c in alone if (c in left) == is_left) for is_left in (True, False))
    return MatrixPlan(batch, rows, shared, columns)


def _is_in_blocks(sides):
    """Whether all of one side come before all of the other."""
    return sum([a != b for a, b in pairwise(sides)]) <= 1
