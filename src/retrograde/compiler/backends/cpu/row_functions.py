"""Functions of rows: what a function of values does with each row of its arrays, whatever the number of rows and their length.

Numbers of an array belong to one row if a reduction takes them together. A function is traced twice, on arrays of two sizes: what
is the same in both graphs does not depend on sizes, and what differs must be the length of a row, or the number of rows, less a
number. Code for it serves arrays of any size, so that nothing is planned for a shape.
"""

from typing import NamedTuple

import numpy as np

from ....core.symbol import Symbol
from ....dtypes import name_of
from ...index.elements import AFTER, CHECKS, IDENTITIES, REDUCTIONS, has_elements, is_elementwise
from ...index.rows import FULL, PLACE, ROW, Call, Fold, Leaf, RowGraph, Size
from ...passes.lower import lower
from ...trace.outcome import outcome_of

#: Rows and their length in the two traces: primes, so that nothing is one of them by chance.
_SIZES = FIRST_SIZES, _ = (1009, 2003), (1013, 2011)
#: Ops that show the same numbers in another shape.
_SHAPES = frozenset(["reshape", "broadcast_to"])
#: More nodes than this are not one pass over rows.
_MOST = 120


class UnknownRowsError(Exception):
    """A function does something else than to compute with each row."""


class Shapes(NamedTuple):
    """The shapes of a trace: of arrays with all numbers, of what has one number for each row with and without the reduced axis, and
    of what has one for each place.
    """

    full: tuple
    kept: tuple
    dropped: tuple
    place: tuple

    def space(self, shape):
        """Where something of a shape has one number."""
        if shape == self.full:
            return FULL
        if shape in (self.kept, self.dropped, ()):
            return ROW
        if shape in (self.place, (1, *self.place)):
            return PLACE
        raise UnknownRowsError


def shapes_of(is_flat, sizes):
    """The `Shapes` for sizes; of flat functions, all of whose numbers are one row, in one axis."""
    rows, length = sizes
    if is_flat:
        return Shapes((length,), (1,), (), (length,))
    return Shapes((rows, length), (rows, 1), (rows,), (length,))


def row_graph(function, arguments, is_flat):
    """The `RowGraph` of a function of values; `arguments(shapes)` gives its arguments for `Shapes`, with symbols for arrays."""
    traced = [_traced(function, arguments(shapes_of(is_flat, sizes))) for sizes in _SIZES]
    builder = _Builder(*[shapes_of(is_flat, sizes) for sizes in _SIZES], *[leaves for leaves, _ in traced])
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

    def __init__(self, first_shapes, second_shapes, first_leaves, second_leaves):
        self.graph, self._shapes = RowGraph(), (first_shapes, second_shapes)
        self._numbers = {}
        for number, (leaf, other) in enumerate(zip(first_leaves, second_leaves, strict=True)):
            self._numbers[leaf] = self._added(Leaf(number, self._space(leaf, other)))

    def add_result(self, node, other):
        """Let a pair of nodes be a result."""
        if not isinstance(node, Symbol) or not isinstance(other, Symbol):
            raise UnknownRowsError
        number = self._number(node, other)
        value = self.graph.values[number]
        space = PLACE if isinstance(value, Fold) and value.space == PLACE else self._space(node, other)
        if space == PLACE and not isinstance(value, Fold):
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
        number, before, after = self._number(source, twin), self._space(source, twin), self._space(node, other)
        if before != after and not (node.op.name == "broadcast_to" and after == FULL):
            raise UnknownRowsError
        # Without the axis that was reduced, what has one number for each row would stand beside places.
        if after == FULL and before == ROW and tuple(source.shape) not in (self._shapes[0].kept, ()):
            raise UnknownRowsError
        return number

    def _folded(self, node, other):
        named, twin = node.named, other.named
        x, y, axis, ndim = named["x"], twin["x"], named["axis"], len(node.args[0].shape)
        if twin["axis"] != axis or named.get("where") is not None or named.get("dtype") is not None:
            raise UnknownRowsError
        axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple([a % ndim for a in axes])
        if not isinstance(x, Symbol) or tuple(x.shape) != self._shapes[0].full:
            raise UnknownRowsError
        number = self._number(x, y)
        if axes == (ndim - 1,):
            return self._added(Fold(node.op.name, ROW, number, name_of(node.dtype)))
        if axes == (0,) and ndim == 2:
            return self._added(Fold(node.op.name, PLACE, number, name_of(node.dtype)))
        raise UnknownRowsError

    def _argument(self, a, b):
        """An argument: ("value", number), ("size", Size) or ("number", what is the same in both traces)."""
        if isinstance(a, Symbol):
            if not isinstance(b, Symbol):
                raise UnknownRowsError
            number = self._number(a, b)
            if isinstance(self.graph.values[number], Fold) and self.graph.values[number].space == PLACE:
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
            one, two = (sizes[is_length] for sizes in _SIZES)
            if a - one == b - two and float(a).is_integer() and abs(a - one) < 4:
                return Size(is_length, int(a - one), False)
            for more in (0, -1):
                if a == 1 / (one + more) and b == 1 / (two + more):
                    return Size(is_length, more, True)
        raise UnknownRowsError


def _plain(argument):
    """An argument as a Python number."""
    if isinstance(argument, np.ndarray) and argument.size == 1 and argument.ndim == 0 or isinstance(argument, np.generic):
        argument = argument.item()
    if argument is None or argument.__class__ in (int, float, bool):
        return argument
    raise UnknownRowsError
