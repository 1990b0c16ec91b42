"""A pattern of rows that are read at positions, computed with, and written back at the same positions: one pass does all of it.

NumPy reads all rows before it writes any, and of equal positions the last row counts. So a row is computed for the last of equal
positions alone, of which a table reads and writes each row once. What is written in another way to what is handed in, one number
or row for all, or at positions that are known, is brought to the same form: a call of NumPy would copy the table.
"""

import numpy as np

from ...core import registry
from ...core.symbol import Symbol
from ...dtypes import name_of
from ..graph.infer import called
from ..index.elements import are_within, is_checked, is_elementwise, is_in_memory, only_part, positions_of
from ..index.emitted import ELEMENTS
from .index import checked, from_front
from .rule import is_called


def written_where_they_are_computed(readers):
    """Tables with rows written at positions, that are computed from what is read there; and positions that are checked first, so
    that what is written need not wait in a copy of the table for a check.
    """
    updates = [update for node in readers.nodes if (update := _update_of(node)) is not None]
    found = _Places()
    makers = {update.node: update.written_by(found) for update in updates if update.is_to_be_changed}
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


def _update_of(node):
    """A node that has rows written at an array of positions along its first axis, as `_Update`; None of others."""
    if not is_called(node, "set_at") or not node.size or not is_in_memory(node):
        return None
    x, y, index = node.args
    positions = _positions(index)
    if positions is None or not positions.size or not isinstance(x, Symbol) or x.dtype != node.dtype or not x.ndim:
        return None
    rows = _rows(y, (*positions.shape, *x.shape[1:]), x.dtype)
    return None if rows is None else _Update(node, rows, positions)


def _positions(index):
    """As `positions_of`; of a list of integers too."""
    index = only_part(index)
    return positions_of(np.array(index) if isinstance(index, list) and index and all([type(i) is int for i in index]) else index)


def _rows(y, shape, dtype):
    """What is written as NumPy would broadcast and convert it to rows of a shape: an array or a node, which may have fewer axes;
    None of what does not fit, or is not converted without a question.
    """
    if not hasattr(y, "dtype"):
        if type(y) not in (bool, int) and not (type(y) is float and dtype.kind == "f"):
            return None
        number, y = y, np.empty((), dtype)
        y[()] = number
    is_converted = name_of(y.dtype) in ELEMENTS and name_of(dtype) in ELEMENTS
    sizes = zip(reversed(y.shape), reversed(shape), strict=False)
    fits = y.ndim <= len(shape) and all([n in (1, size) for n, size in sizes])
    return y if y.size and fits and (y.dtype == dtype or is_converted) else None


def _spread(rows, shape, dtype):
    """Rows in a dtype, one for each position; in as much memory as they are now."""
    if isinstance(rows, np.ndarray):
        return np.broadcast_to(rows.astype(dtype), shape)
    rows = rows if rows.dtype == dtype else called("astype", rows, dtype)
    return rows if rows.shape == shape else called("broadcast_to", rows, shape)


def _is_take(node):
    return is_called(node, "take") and all([isinstance(a, Symbol) for a in node.args[:2]]) and node.args[2] == 0


class _Update:
    """A node that has `rows` written over others at `positions`, of which it has so many rows in all."""

    def __init__(self, node, rows, positions):
        self.node, self.rows, self.positions, self.size = node, rows, positions, node.shape[0]
        self._shape = (*positions.shape, *node.shape[1:])

    @property
    def _is_of_state(self):
        """Whether rows are written over what is handed in, which may be done in its memory."""
        return self.node.args[0].op is None

    @property
    def _is_long(self):
        # Of rows of one number each the kernel has no loop; of two, one pass takes half the time of several.
        return self.node.size > self.size

    @property
    def _is_whole(self):
        """Whether there is a row in memory, or to be computed, for each position."""
        return self.rows.shape == self._shape and self.rows.dtype == self.node.dtype and self.rows is self.node.args[1]

    @property
    def is_worth_fusing(self):
        """Whether rows had better be computed where they are written, by a loop over each: they are made element by element."""
        is_computed = isinstance(self.rows, Symbol) and self.rows.op is not None and is_elementwise(self.rows)
        return self._is_of_state and self._is_long and self._is_whole and isinstance(self.positions, Symbol) and is_computed

    @property
    def is_to_be_changed(self):
        """Whether rows are written over what is handed in, in a form that would need a copy of it: at positions that may turn out
        wrong while it is written to, or in one that no kernel knows.
        """
        is_array = self.positions is only_part(self.node.args[2])
        is_known = is_checked(self.positions) or (is_array and are_within(self.positions, self.size))
        is_wrong = isinstance(self.positions, np.ndarray) and not are_within(from_front(self.positions, self.size), self.size)
        return self._is_of_state and not is_wrong and not (is_known and self._is_whole)

    def written_by(self, found):
        """What makes the same node in a form that can be written in place: checked positions, a row for each of them."""
        def make(node, made):
            x, positions = made[node.args[0]], found.checked(self, made)
            rows = _spread(made[self.rows] if isinstance(self.rows, Symbol) else self.rows, self._shape, node.dtype)
            if self._is_whole or not self._is_long:
                return called("set_at", x, rows, (positions,))
            return called("put_rows", x, rows, positions, found.last(positions))

        return make

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
        if isinstance(update.positions, np.ndarray):
            return from_front(update.positions, update.size)
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
        if isinstance(positions, np.ndarray):
            links = registry.get("next_places").kernel(positions.reshape(-1))
            return (links <= np.arange(positions.size)).reshape(positions.shape)
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
