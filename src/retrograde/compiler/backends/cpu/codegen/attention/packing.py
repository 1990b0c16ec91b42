"""Rows of arrays laid side by side in tiles, and tiles back to rows.

A tile has for each of its lines one number of each of its rows. Rows past the last one repeat it: what comes of them is
left out, or overwritten by what the last row gives. What is done for one vector of rows is a function of its own, which all
arrays of a kernel share: such code takes long to compile.
"""

from .. import emit, ir
from ..emit import I32, I64, POINTER, at
from .softmax import masked


class Packing:
    """The functions of a module that lay out tiles, written on first use."""

    def __init__(self, module, name, plan):
        self._module, self._name, self._plan, self._functions = module, name, plan, {}

    def pack(self, b, source, steps, rows, depth, target, factor):
        """Lay a tile of rows of `source`, times a vector, side by side: `rows` are the first one's number and the last there is.

        `depth` numbers of each are taken.
        """
        self._each_vector(b, "numbers", _Packed, source, steps, rows, depth, target, [factor] * self._plan.vectors)

    def pack_mask(self, b, source, steps, rows, depth, target):
        """Lay what a mask adds to the products of a tile of its rows side by side."""
        factors = [emit.zeros(self._plan.vector)] * self._plan.vectors
        self._each_vector(b, "mask", _Mask, source, steps, rows, depth, target, factors)

    def unpack(self, b, tile, target, step, rows, depth, factors):
        """Store the rows of a tile, times a vector for each of its vectors, `step` apart.

        The last ones come first, so that the last row of all is written last.
        """
        self._each_vector(b, "rows", _Unpacked, target, (step, 1), rows, depth, tile, factors)

    def _each_vector(self, b, label, kind, array, steps, rows, depth, tile, factors):
        # Only whether numbers follow each other and whether all rows are one is compiled in; strides are arguments, so that
        # arrays with others share the function.
        plan, key = self._plan, (label, steps[1] == 1, steps[0] == 0)
        if key not in self._functions:
            self._functions[key] = kind(self._module, f"{self._name}_{label}{len(self._functions)}", plan, key[1:]).function
        for v in reversed(range(plan.vectors)):
            here = at(b, tile, plan.item, v * plan.lanes)
            first = b.add(rows[0], I64(v * plan.lanes))
            numbers = [emit.number(number) for number in (*steps, first, rows[1], depth)]
            b.call(self._functions[key], [array, *numbers, here, factors[v]])


class _Lines:
    """A function under construction: (array, steps of rows and columns, first row, last row, depth, tile, factor)."""

    def __init__(self, module, name, plan, kinds):
        self.plan, (self.is_contiguous, self.is_one_row), self.item = plan, kinds, self.item_of(plan)
        kind = ir.FunctionType(ir.VoidType(), [POINTER, *[I64] * 5, POINTER, plan.vector])
        self.function = ir.Function(module, kind, name)
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.b = b = ir.IRBuilder(self.function.append_basic_block("entry"))
        array, step, self.step, first, last, depth, self.tile, self.factor = self.function.args
        # Of a row that all share, as of a mask for all queries, one address is enough.
        rows = [emit.minimum(b, b.add(first, I64(lane)), last) for lane in range(1 if self.is_one_row else plan.lanes)]
        self.lines = [at(b, array, self.item, (row, step)) for row in rows]
        whole = I64(0)
        # Squares of as many rows as columns are transposed in registers: whole vectors are loaded and stored.
        if self.is_contiguous and not self.is_one_row:
            whole = b.and_(depth, I64(-plan.lanes))
            with emit.loop(b, 0, whole, plan.lanes) as place:
                self.move_square(place.index)
        with emit.loop(b, whole, depth) as place:
            self.move_line(place.index)
        b.ret_void()

    @staticmethod
    def item_of(plan):
        """The type of the array's numbers."""
        return plan.item

    def in_tile(self, line, further=0):
        """The address of a line of the tile."""
        return at(self.b, self.tile, self.plan.item, (line, self.plan.tile), further * self.plan.tile)


class _Packed(_Lines):
    def move_square(self, place):
        b, plan = self.b, self.plan
        kind = emit.like(plan.vector, self.item)
        found = [self.changed(emit.load(b, at(b, line, self.item, place), kind)) for line in self.lines]
        for k, vector in enumerate(emit.transpose(b, found, emit.item_bytes(plan.item))):
            emit.store(b, vector, self.in_tile(place, k))

    def move_line(self, place):
        b, step = self.b, 1 if self.is_contiguous else self.step
        numbers = [emit.load(b, at(b, line, self.item, (place, step)), self.item) for line in self.lines]
        value = emit.splat(b, numbers[0], self.plan.lanes)
        for lane, number in enumerate(numbers[1:], 1):
            value = b.insert_element(value, number, I32(lane))
        emit.store(b, self.changed(value), self.in_tile(place))

    def changed(self, vector):
        """What is stored of a vector of the array."""
        return self.b.fmul(vector, self.factor)


class _Mask(_Packed):
    @staticmethod
    def item_of(plan):
        return plan.mask_item

    def changed(self, vector):
        return masked(self.b, self.plan, vector)


class _Unpacked(_Lines):
    def move_square(self, place):
        b, plan = self.b, self.plan
        found = [b.fmul(emit.load(b, self.in_tile(place, k), plan.vector), self.factor) for k in range(plan.lanes)]
        found = emit.transpose(b, found, emit.item_bytes(plan.item))
        # The last lines first: behind the last row they are that row again, which must be written last by itself.
        for line, vector in zip(reversed(self.lines), reversed(found), strict=True):
            emit.store(b, vector, at(b, line, plan.item, place))

    def move_line(self, place):
        b, plan = self.b, self.plan
        vector = b.fmul(emit.load(b, self.in_tile(place), plan.vector), self.factor)
        scatter(b, vector, [at(b, line, plan.item, place) for line in self.lines])


def scatter(b, vector, places):
    """Store each lane in a place of its own, the last one first."""
    for lane in reversed(range(len(places))):
        emit.store(b, b.extract_element(vector, I32(lane)), places[lane])


def clear(b, plan, target, count):
    """Fill `count` numbers, in whole vectors, with zeros."""
    with emit.loop(b, 0, count, plan.lanes) as place:
        emit.store(b, emit.zeros(plan.vector), at(b, target, plan.item, place.index))
