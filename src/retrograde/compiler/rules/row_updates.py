"""A pattern of rows that are read at positions, computed with, and written back at the same positions: one pass does all of it.

NumPy reads all rows before it writes any, and of equal positions the last row counts. So a row is computed for the last of equal
positions alone, of which a table reads and writes each row once.
"""

import numpy as np

from ...core.symbol import Symbol
from ...dtypes import name_of
from ..graph.infer import called
from ..index.elements import is_checked, is_elementwise, is_in_memory
from .index import checked
from .rule import is_called

#: Rows of fewer bytes are written by themselves: which positions are equal takes as long to find.
_LEAST_BYTES = 64


def written_where_they_are_computed(readers):
    """Tables with rows written at positions, that are computed from what is read there; and positions that are checked first, so
    that what is written need not wait in a copy of the table for a check.
    """
    updates = [_Update(node) for node in readers.nodes if _is_of_rows(node)]
    found = _Places()
    makers = {update.node: update.checked_by(found) for update in updates if update.is_to_be_checked}
    fused, summed = _fused(updates, readers)
    makers |= {update.node: update.fused_by(found) for update in fused}
    positions = {(update.positions, update.size) for update in fused}
    for node in readers.nodes:
        if _is_take(node) and (node.args[1], node.args[0].shape[0]) in positions:
            makers[node] = found.taken
    makers |= dict.fromkeys(summed, found.summed)
    return makers


def _fused(updates, readers):
    """Those of some updates whose rows are computed of rows at the same positions, and needed by nobody else, so that they may be
    computed for the last of equal positions alone; and sums of rows at equal positions that are for these.
    """
    fused = [update for update in updates if update.is_worth_fusing]
    while True:
        needed = _needed(fused, readers)
        read = {positions for node, positions in needed.items() if _is_take(node) and node.args[1] is positions}
        left = [update for update in fused if needed.get(update.rows) is update.positions and update.positions in read]
        if left == fused:
            return fused, [node for node, positions in needed.items() if _is_summed(node, positions)]
        fused = left  # what others need is not for these alone either


def _in_memory(x):
    """A new shape of a new shape as that of what is below both, so that its elements are found where that is."""
    below = x
    while is_called(below, "reshape"):
        below = below.args[0]
    return x if below is x or below.dtype.kind == "c" else called("reshape", below, x.shape)


def _needed(updates, readers):
    """For each node of which nothing but rows of updates is computed, element by element, the positions of these."""
    written, needed = {update.node: update for update in updates}, {}
    for node in reversed(readers.nodes) if updates else ():
        users = {_asked(node, reader, written, needed) for reader in readers.of(node)}
        if len(users) == 1 and None not in users:
            (needed[node],) = users
    return needed


def _is_of_rows(node):
    """Whether a node has rows written at an array of positions along its first axis, one for each of them."""
    if not is_called(node, "set_at") or not node.size or not is_in_memory(node):
        return False
    x, y, index = node.args
    positions = _positions(index)
    if positions is None or not all([isinstance(a, Symbol) and a.dtype == node.dtype for a in (x, y)]):
        return False
    return x.ndim > 0 and y.size > 0 and y.shape == (*positions.shape, *x.shape[1:])


def _positions(index):
    while isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    is_array = isinstance(index, Symbol) and index.ndim and name_of(index.dtype) in ("int32", "int64")
    return index if is_array else None


def _is_take(node):
    return is_called(node, "take") and all([isinstance(a, Symbol) for a in node.args[:2]]) and node.args[2] == 0


class _Update:
    """A node that has rows written over others."""

    def __init__(self, node):
        self.node, (_, self.rows, index) = node, node.args
        self.positions, self.size = _positions(index), node.shape[0]

    @property
    def is_worth_fusing(self):
        """Whether rows had better be computed where they are written: they are long, made element by element, and written over
        those of what is handed in, which may be done in its memory.
        """
        is_long = self.node.nbytes >= _LEAST_BYTES * self.size and self.node.size > self.size
        return is_long and self.node.args[0].op is None and self.rows.op is not None and is_elementwise(self.rows)

    @property
    def is_to_be_checked(self):
        """Whether rows are written over what is handed in, which only a step that cannot fail may do in place."""
        return self.node.args[0].op is None and not is_checked(self.positions)

    def checked_by(self, found):
        """What makes the same node, at positions that are checked before."""
        return lambda node, made: called("set_at", made[node.args[0]], made[self.rows], (found.checked(self, made),))

    def fused_by(self, found):
        """What makes the node as rows that are computed where they are written."""
        def make(node, made):
            positions = found.checked(self, made)
            return called("put_rows", made[node.args[0]], made[self.rows], positions, found.last(positions))

        return make


class _Places:
    """What is known of positions, found once for all that is written there."""

    def __init__(self):
        self._checked, self._links, self._last = {}, {}, {}

    def checked(self, update, made):
        """Positions that count from the front, and stop the program where they are out of range."""
        return self._in_range(update.positions, update.size, made)

    def _in_range(self, positions, size, made):
        key = positions, size
        if key not in self._checked:
            given = made[positions]
            self._checked[key] = given if is_checked(given) and given.args[1] <= size else checked(given, size)
        return self._checked[key]

    def links(self, positions):
        """For each of the positions, in a row, the place where an equal one stands next."""
        if positions not in self._links:
            flat = positions if positions.ndim == 1 else called("reshape", positions, (positions.size,))
            self._links[positions] = called("next_places", flat)
        return self._links[positions]

    def last(self, positions):
        """Which of the positions are the last ones of equal ones: that link to one before, or to themselves."""
        if positions not in self._last:
            links = self.links(positions)
            found = called("less_equal", links, np.arange(positions.size))
            self._last[positions] = found if positions.ndim == 1 else called("reshape", found, positions.shape)
        return self._last[positions]

    def taken(self, node, made):
        """Rows taken at the positions where others are written."""
        source, positions, axis = node.args
        return called("take", made[source], self._in_range(positions, source.shape[0], made), axis)

    def summed(self, node, made):
        """Sums of rows at equal positions."""
        rows, positions = made[node.args[0].args[0]], made[node.args[1].args[0]]
        return called("sum_along_places", _in_memory(rows), self.links(positions))


def _asked(node, reader, written, needed):
    """The positions of the rows that `reader` needs of a node, of which it reads nothing else; None where it reads more."""
    if reader in written:
        return written[reader].positions if reader.args[1] is node and reader.args[0] is not node else None
    is_by_element = reader is not None and is_elementwise(reader) and reader.shape == node.shape
    return needed.get(reader) if is_by_element else None


def _is_summed(node, positions):
    """Whether a node has, for each of the positions, the sum of the rows at all that are equal to it."""
    if not _is_take(node) or not is_called(node.args[0], "scatter_add") or positions.ndim != 1 or not is_checked(positions):
        return False
    rows, shape, index = node.args[0].args
    first, is_float = _positions(index), name_of(node.dtype) in ("float32", "float64")
    is_first = first is not None and first is node.args[1] and is_called(first, "first_places") and first.args[0] is positions
    return is_first and is_float and isinstance(rows, Symbol) and rows.shape == tuple(shape) == node.shape
