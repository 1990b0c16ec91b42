"""Functions of rows: what a function of values does with each row of its arrays, whatever the number of rows and their length.

Numbers of an array belong to one row if a reduction takes them together. A function is traced twice, on arrays of two sizes: what
is the same in both graphs does not depend on sizes, and what differs must be the length of a row, or the number of rows, less a
number. Code for it serves arrays of any size, so that nothing is planned for a shape.
"""

from typing import NamedTuple

import numpy as np

from ....core.symbol import Symbol
from ....dtypes import name_of
from ....shapes import axis_tuple
from ...index.elements import AFTER, CHECKS, IDENTITIES, REDUCTIONS, has_elements, is_elementwise
from ...index.rows import CHANNEL, FULL, PLACE, ROW, Call, Fold, Leaf, RowGraph, Size
from ...passes.lower import lower
from ...trace.outcome import outcome_of

#: Groups of rows, rows in each, pieces of a row and their length in both traces: primes, so that nothing is one of them by chance.
_SIZES = FIRST_SIZES, _ = (1, 1009, 1, 2003), (1, 1013, 1, 2011)
_GROUPED_SIZES = FIRST_GROUPED_SIZES, _ = (1009, 1019, 1031, 2003), (1013, 1021, 1033, 2011)
#: Ops that show the same numbers in another shape.
_SHAPES = frozenset(["reshape", "broadcast_to"])
#: More nodes than this are not one pass over rows.
_MOST = 120


class UnknownRowsError(Exception):
    """A function does something else than to compute with each row."""


class Shapes(NamedTuple):
    """The shapes of a trace: of arrays with all numbers, of what has one number for each row with and without the reduced axis, and
    of what has one for each place, or for each channel; None for what is not there.
    """

    full: tuple
    kept: tuple
    dropped: tuple
    place: tuple | None
    channel: tuple | None

    def space(self, shape):
        """Where something of a shape has one number."""
        if shape == self.full:
            return FULL
        if shape in (self.kept, self.dropped, ()):
            return ROW
        for space, found in ((PLACE, self.place), (CHANNEL, self.channel)):
            if found is not None and shape in (found, (1, *found)):
                return space
        raise UnknownRowsError


#: How the arrays of a function lie in a trace: all is one row, or there are rows, or rows in groups whose pieces are channels.
FLAT, ROWS, GROUPS = "flat", "rows", "groups"


def first_shapes(form):
    """The `Shapes` of the first trace of a function of a form."""
    return _shapes_of(form, _sizes_of(form)[0])


def axis_of(form):
    """Over which axes a function of a form reduces."""
    return (2, 3) if form == GROUPS else -1


def _sizes_of(form):
    return _GROUPED_SIZES if form == GROUPS else _SIZES


def _shapes_of(form, sizes):
    batch, rows, pieces, length = sizes
    if form == FLAT:
        return Shapes((length,), (1,), (), (length,), None)
    if form == ROWS:
        return Shapes((rows, length), (rows, 1), (rows,), (length,), None)
    return Shapes(sizes, (batch, rows, 1, 1), (batch, rows), None, (rows, pieces, 1))


def row_graph(function, arguments, form):
    """The `RowGraph` of a function of values; `arguments(shapes)` gives its arguments for `Shapes`, with symbols for arrays."""
    sizes = _sizes_of(form)
    shapes = [_shapes_of(form, numbers) for numbers in sizes]
    traced = [_traced(function, arguments(found)) for found in shapes]
    builder = _Builder(sizes, *shapes, *[leaves for leaves, _ in traced])
    outputs = [found for _, found in traced]
    if len(outputs[0]) != len(outputs[1]):
        raise UnknownRowsError
    for pair in zip(*outputs, strict=True):
        builder.add_result(*pair)
    return builder.graph


def _traced(function, arguments):
    found = outcome_of(function, arguments)
    found = found if isinstance(found, tuple) else (found,)
    wanted = [part for part in found if part is not None]
    if not wanted or not all([isinstance(part, Symbol) for part in wanted]):
        raise UnknownRowsError
    return [a for a in arguments if isinstance(a, Symbol)], list(lower(wanted))


class _Builder:
    """Makes one graph of those of two traces, node by node."""

    def __init__(self, sizes, first_shapes, second_shapes, first_leaves, second_leaves):
        self.graph, self._shapes = RowGraph(), (first_shapes, second_shapes)
        #: How many rows there are, and how long they are, in both traces.
        self._counts = [(batch * rows, pieces * length) for batch, rows, pieces, length in sizes]
        self._numbers = {}
        for number, (leaf, other) in enumerate(zip(first_leaves, second_leaves, strict=True)):
            self._numbers[leaf] = self._added(Leaf(number, self._space(leaf, other)))

    def add_result(self, node, other):
        """Let a pair of nodes be a result."""
        if not isinstance(node, Symbol) or not isinstance(other, Symbol):
            raise UnknownRowsError
        number = self._number(node, other)
        value = self.graph.values[number]
        space = value.space if _ends_late(value) else self._space(node, other)
        if space in (PLACE, CHANNEL) and not _ends_late(value):
            raise UnknownRowsError
        if space == ROW and value.space != ROW:
            raise UnknownRowsError
        self.graph.results.append((number, space, name_of(node.dtype)))
        self.graph.shapes.append(tuple(node.shape))

    def _space(self, node, other):
        space = self._shapes[0].space(tuple(node.shape))
        if space != self._shapes[1].space(tuple(other.shape)):
            raise UnknownRowsError
        return space

    def _added(self, value):
        self.graph.values.append(value)
        if len(self.graph.values) > _MOST:
            raise UnknownRowsError
        return len(self.graph.values) - 1

    def _number(self, node, other):
        """The number of the value that a pair of nodes gives."""
        if node not in self._numbers:
            if node.op is None or other.op is not node.op or node.dtype != other.dtype:
                raise UnknownRowsError
            self._numbers[node] = self._made(node, other)
        return self._numbers[node]

    def _made(self, node, other):
        name = node.op.name
        if not has_elements(node) or name in CHECKS or name == AFTER:
            raise UnknownRowsError
        if name in _SHAPES:
            return self._reshaped(node, other)
        if name in REDUCTIONS:
            return self._folded(node, other)
        if not is_elementwise(node):
            raise UnknownRowsError
        space = self._space(node, other)
        count = 1 if name == "astype" or name in IDENTITIES else len(node.args)
        pairs = zip(node.args[:count], other.args[:count], strict=True)
        arguments = tuple([self._argument(*pair) for pair in pairs])
        for kind, number in arguments:
            if kind == "value" and space == ROW and self.graph.values[number].space != ROW:
                raise UnknownRowsError
        return self._added(Call(node, space, arguments))

    def _reshaped(self, node, other):
        """The same numbers: what has one for each row stands for its row, and so on."""
        source, twin = node.args[0], other.args[0]
        if not isinstance(source, Symbol) or not isinstance(twin, Symbol):
            raise UnknownRowsError
        number = self._number(source, twin)
        if _ends_late(self.graph.values[number]):
            return number  # a result and nothing else, whatever its shape
        before, after = self._space(source, twin), self._space(node, other)
        if before != after and not (node.op.name == "broadcast_to" and after == FULL):
            raise UnknownRowsError
        # Without the axis that was reduced, what has one number for each row would stand beside places.
        if after == FULL and before == ROW and tuple(source.shape) not in (self._shapes[0].kept, ()):
            raise UnknownRowsError
        return number

    def _folded(self, node, other):
        (x, axes), (y, others) = _reduced(node), _reduced(other)
        if axes != others or not isinstance(x, Symbol) or tuple(x.shape) != self._shapes[0].full:
            raise UnknownRowsError
        number = self._number(x, y)
        space = _FOLDED.get((x.ndim, axes))
        if space is None:
            raise UnknownRowsError
        return self._added(Fold(node.op.name, space, number, name_of(node.dtype)))

    def _argument(self, a, b):
        """An argument: ("value", number), ("size", Size) or ("number", what is the same in both traces)."""
        if isinstance(a, Symbol):
            if not isinstance(b, Symbol):
                raise UnknownRowsError
            number = self._number(a, b)
            if _ends_late(self.graph.values[number]):
                raise UnknownRowsError  # it is there when all rows are over
            return "value", number
        a, b = _plain(a), _plain(b)
        if a is None and b is None:
            return "number", None
        if a == b and type(a) is type(b) or a != a and b != b:
            return "number", a
        return "size", self._size(a, b)

    def _size(self, a, b):
        for is_length in (True, False):
            one, two = (counts[is_length] for counts in self._counts)
            if a - one == b - two and float(a).is_integer() and abs(a - one) < 4:
                return Size(is_length, int(a - one), False)
            for more in (0, -1):
                if a == 1 / (one + more) and b == 1 / (two + more):
                    return Size(is_length, more, True)
        raise UnknownRowsError


#: What reductions of all numbers over axes have one number for.
_FOLDED = {(1, (0,)): ROW, (2, (1,)): ROW, (2, (0,)): PLACE, (4, (2, 3)): ROW, (4, (0, 3)): CHANNEL}


def _reduced(node):
    """(what a reduction reduces, its axes). A sum of sums, as lowering makes of one whose runs lie apart, is one over all axes."""
    named, x = node.named, node.args[0]
    if named.get("where") is not None or named.get("dtype") is not None or not isinstance(x, Symbol):
        raise UnknownRowsError
    axes = axis_tuple(named["axis"], x.ndim)
    if node.op.name == "sum" and x.op is node.op and x.ndim == x.args[0].ndim:
        x, more = _reduced(x)
        axes = tuple(sorted((*axes, *more)))
    return x, axes


def _ends_late(value):
    """Whether a value is there only when all rows are over."""
    return isinstance(value, Fold) and value.space in (PLACE, CHANNEL)


def _plain(argument):
    """An argument as a Python number."""
    if isinstance(argument, np.ndarray) and argument.size == 1 and argument.ndim == 0 or isinstance(argument, np.generic):
        argument = argument.item()
    if argument is None or argument.__class__ in (int, float, bool):
        return argument
    raise UnknownRowsError
