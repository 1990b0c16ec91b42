"""Rows: what a function computes with each row of its arrays, as plain records; see `row_functions`."""

from dataclasses import dataclass, field
from typing import NamedTuple

from ...core.symbol import Symbol
from ...dtypes import name_of
from .elements import operation_key

#: Where something has one number: for each element, for each row, for each place in a row, or for each channel, that is for pieces
#: of rows that stand at one place of their groups.
FULL, ROW, PLACE, CHANNEL = "full", "row", "place", "channel"


class Size(NamedTuple):
    """A number that depends on sizes: the length of a row, or the number of rows, plus `more`; or one over that."""

    is_length: bool
    more: int
    is_inverse: bool


class Leaf(NamedTuple):
    """An array that is read, by its number."""

    number: int
    space: str


class Call(NamedTuple):
    """An op by element on values, by their numbers, and on plain numbers."""

    node: Symbol
    space: str
    arguments: tuple


class Fold(NamedTuple):
    """A reduction: of each row to one number, or of all rows to one number for each place in a row, or for each channel."""

    combine: str
    space: str
    argument: int
    dtype: str


@dataclass
class RowGraph:
    """What is computed: `values` in order, each `Leaf`, `Call` or `Fold`; the numbers of the `results` among them, and in what
    shape of the trace each is.
    """

    values: list = field(default_factory=list)
    results: list = field(default_factory=list)
    shapes: list = field(default_factory=list)

    def key(self):
        """What code depends on."""
        return tuple([_key_of(value) for value in self.values]), tuple(self.results)


def _key_of(value):
    if isinstance(value, Call):
        return operation_key(value.node.op), name_of(value.node.dtype), value.space, repr(value.arguments)
    return type(value).__name__, *value
