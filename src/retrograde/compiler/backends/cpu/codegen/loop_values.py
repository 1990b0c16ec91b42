"""The values of a loop kernel's entries: numbers from memory, bounds, and operations on them."""

from functools import reduce

import numpy as np

from .....core.symbol import Symbol
from .....dtypes import name_of
from ....index.elements import CONVERSIONS, IDENTITIES, PARTNERS
from ....index.expression import Constant, Inside, Load, Select
from ....run.failures import FLAG
from . import emit, ir
from .vecmath.elements import NARROW, dtype_of, in_registers, lanes_of, type_of, undefined

_INDEX = ir.IntType(64)


class Values:
    """The part of a kernel's writer that computes entries."""

    def _value(self, number, entry):
        word = self.entry.numbers.get(("constant", number))
        if word is not None:
            # Handed over at run time as the bits of a double: steps that differ in a factor alone share their code.
            value = self.ir.bitcast(word, ir.DoubleType())
            return self.k.convert(value, entry.dtype) if entry.dtype else value
        if isinstance(entry, Constant):
            return self.k.constant(entry.value, entry.dtype, 1) if entry.dtype else entry.value
        if isinstance(entry, Load):
            return self._load(number, entry)
        if isinstance(entry, Inside):
            return self._inside(entry)
        if number in self.addressed:
            # One address is chosen and one vector read, in place of two loads and a blend.
            is_one = self.lanes == 1 or self.addressed[number] == 0
            where = self._place_of(number)
            return self.k.load(where, entry.dtype, 1) if is_one else self._side_by_side(where, self.mask, entry.dtype)
        if isinstance(entry, Select):
            inside, outside = (self._held(self.values[n], entry.dtype)
                               for n in (entry.inside, entry.outside))
            return self.k.where(self.values[entry.guard], inside, outside)
        operands = [self.values[n] for n in entry.arguments]
        if number in self.plan.partners:
            value, self.values[self.plan.partners[number]] = self._paired(entry, *operands)
            return value
        return self._apply(number, entry, operands)

    def _paired(self, entry, operand):
        """The value of an entry whose partner is wanted too, and that of the partner: both are found together."""
        dtype, (both, place, _) = name_of(entry.node.dtype), PARTNERS[entry.node.op.name]
        pair = getattr(self.k, both)(self.k.convert(self._typed(operand, dtype), dtype))
        return pair[place], pair[1 - place]

    def _address(self, name, part, moved=None):
        """Where an entry or store `part` is, whose start goes by `name`, and which `moved` from there."""
        where = self._first_part(name, part, moved)
        return self.k.offset(where, part.part, part.dtype) if part.part else where

    def _first_part(self, name, part, moved=None):
        """As `_address`; of complex numbers where the real part is."""
        return self.k.offset(self.pointers[id(part.buffer)], self._element(name, part, moved), part.dtype)

    def _element(self, name, part, moved=None):
        """Which element of its buffer an entry or store `part` is, counted in parts of complex numbers."""
        moves = [move for move in (self.entry.numbers.get(name), moved) if move is not None]
        for loop, step in enumerate(part.steps):
            if step:
                moves.append(self.counters[loop] if step == 1 else self.ir.mul(self.counters[loop], _INDEX(step)))
        return reduce(self.ir.add, moves) if moves else 0

    def _load(self, number, entry, moved=None):
        # Transposed beforehand: the vectors of some iterations of another loop were read together.
        if number in self.crossed:
            return self._recrossed(number, entry)
        step = entry.steps[self.vector] if self.vector is not None else 0
        # Real and imaginary parts alternate: two vectors are read at once, and each part is every second lane.
        if entry.part is not None and step == 2 and self.lanes > 1 and not entry.chosen:
            return self._one_part(number, entry, self._first_part(("start", number), entry, moved))
        where = self._address(("start", number), entry, moved)
        mask = self.mask if entry.guard is None else self._combined(self.values[entry.guard])
        if entry.chosen:
            return self._chosen(entry, where, step, mask)
        if self.lanes == 1 or step == 0:
            # A guard that fails may mean an address outside of the buffer, which must not be read, even if nobody uses what is
            # there.
            return self.k.load(where if entry.guard is None else self._safe(where, self.values[entry.guard], entry), entry.dtype, 1)
        if step == 1:
            return self._side_by_side(where, mask, entry.dtype)
        return self._gathered(entry, [self._ahead(where, _INDEX(lane * step), entry) for lane in range(self.lanes)], mask)

    def _one_part(self, number, entry, where):
        """One part of complex numbers that lie in order; the other one is there too, if it is wanted."""
        mask = self.mask if entry.guard is None else self._combined(self.values[entry.guard])
        mask = mask and emit.shuffle(self.ir, mask, mask, [lane // 2 for lane in range(2 * self.lanes)])
        both = self.k.load_masked(where, mask, entry.dtype) if mask else self.k.load(where, entry.dtype, 2 * self.lanes)
        parts = [emit.shuffle(self.ir, both, both, range(part, 2 * self.lanes, 2)) for part in (0, 1)]
        other = self.plan.other_parts.get(number)
        if other is not None:
            self.values[other] = parts[1 - entry.part]
        return parts[entry.part]

    def _side_by_side(self, where, mask, dtype):
        return self.k.load_masked(where, mask, dtype) if mask else self.k.load(where, dtype)

    def _place_of(self, number):
        """Where the number is that a selection by address reads."""
        entry = self.box.entries[number]
        if isinstance(entry, Load):
            return self._address(("start", number), entry)
        return self.ir.select(self.values[entry.guard], self._place_of(entry.inside), self._place_of(entry.outside))

    def _ahead(self, where, count, entry):
        return self.k.offset(where, count, entry.dtype)

    def _combined(self, guard):
        """The lanes that count and for which a guard holds."""
        guard = self.k.broadcast(guard, self.lanes)
        return guard if self.mask is None else self.k.bitwise_and(guard, self.mask)

    def _safe(self, where, guard, entry):
        """An address that may be read even where no lane of the guard holds: the buffer's first element."""
        return self.ir.select(self.k.any(guard), where, self.pointers[id(entry.buffer)])

    def _chosen(self, entry, where, step, mask):
        """Elements at positions that are computed; a position that is out of range is noted, and read as the first."""
        ((number, stride, size, is_known),) = entry.chosen
        if entry.follows:
            return self._followed(entry, where, step, mask)
        if is_known and self._is_table(number):
            return self._chosen_by_table(entry, where, step)
        position = self.k.convert(self.values[number], "int64") if is_known else self._found_position(number, size, mask)
        if self.lanes == 1 or lanes_of(position) == 1:
            at = self.k.offset(where, self.ir.mul(position, _INDEX(stride)), entry.dtype)
            if self.lanes == 1 or step == 0:
                return self.k.load(at if entry.guard is None else self._safe(at, self.values[entry.guard], entry), entry.dtype, 1)
            if step == 1:
                return self._side_by_side(at, mask, entry.dtype)
            return self._gathered(entry, [self._ahead(at, _INDEX(lane * step), entry) for lane in range(self.lanes)], mask)
        places = []
        for lane in range(self.lanes):
            place = self.ir.add(self.ir.mul(self.k.lane(position, lane), _INDEX(stride)), _INDEX(lane * step))
            places.append(self.k.offset(where, place, entry.dtype))
        return self._gathered(entry, places, mask)

    def _followed(self, entry, where, step, mask):
        """The sum of the elements of a ring, from the one that its link leads to up to its own."""
        b, ((number, stride, *_),) = self.ir, entry.chosen
        links, is_one = self.box.entries[number], self.lanes == 1 or step == 0
        own = self._element(("start", number), links) or _INDEX(0)

        def read(place):
            at = self.k.offset(where, b.mul(place, _INDEX(stride)), entry.dtype)
            return self.k.load(at, entry.dtype, 1) if is_one else self._side_by_side(at, mask, entry.dtype)

        first = self.k.convert(self.values[number], "int64")
        start, before = read(first), b.block
        look, follow, end = (b.append_basic_block(name) for name in ("look", "follow", "end"))
        b.branch(look)
        b.position_at_end(look)
        place, total = b.phi(_INDEX), b.phi(type_of(entry.dtype, 1 if is_one else self.lanes))
        b.cbranch(b.icmp_signed("==", place, own), end, follow)
        b.position_at_end(follow)
        at = self.k.offset(self.pointers[id(links.buffer)], place, links.dtype)
        later = self.k.convert(self.k.load(at, links.dtype, 1), "int64")
        longer = self.k.add(total, read(later))
        b.branch(look)
        for phi, once, again in ((place, first, later), (total, start, longer)):
            phi.add_incoming(once, before)
            phi.add_incoming(again, b.block)
        b.position_at_end(end)
        return total

    def _is_table(self, number):
        """Whether an entry is read from memory side by side along the vector loop."""
        entry = self.box.entries[number]
        return self.lanes > 1 and isinstance(entry, Load) and not entry.chosen and entry.steps[self.vector] == 1

    def _chosen_by_table(self, entry, where, step):
        """Elements at positions that are constants. Each is read as a number: to take lanes out of vectors takes longer."""
        ((number, stride, *_),) = entry.chosen
        table, mask, places = self.box.entries[number], self.mask, []
        start = self._address(("start", number), table)
        if entry.guard is not None and lanes_of(self.values[entry.guard]) == 1:
            where, start = (self._safe(at, self.values[entry.guard], part) for at, part in ((where, entry), (start, table)))
        elif entry.guard is not None:
            mask = self._combined(self.values[entry.guard])
        for lane in range(self.lanes):
            spot = self._ahead(start, lane, table)
            if mask is not None:
                spot = self.ir.select(self._lane_of(mask, lane), spot, self.pointers[id(table.buffer)])
            position = self.k.convert(self.k.load(spot, table.dtype, 1), "int64")
            place = self.ir.add(self.ir.mul(position, _INDEX(stride)), _INDEX(lane * step))
            places.append(self.k.offset(where, place, entry.dtype))
        return self._gathered(entry, places, mask)

    def _lane_of(self, mask, lane):
        return self.ir.extract_element(mask, ir.IntType(32)(lane))

    def _find_positions(self, level):
        """The positions that are known inside of `level` loops, outside of the one in vectors: each is looked at once there."""
        if self.vector is None or self.plan.runs or level > self.loops.index(self.vector):
            return
        parts = [*[e for e in self.box.entries if isinstance(e, Load) and e.guard is None], *self.box.stores]
        for number, _, size, is_known in dict.fromkeys([chosen for part in parts for chosen in part.chosen]):
            if not is_known and self.plan.levels[number] == level:
                self.found_positions[number, size] = self._position(self.values[number], size, None)

    def _found_position(self, number, size, mask):
        """The position that an entry says, as `_position`; found before where it could be."""
        # Where a piece is not, no position need be one.
        is_known = mask is self.mask and (number, size) in self.found_positions
        return self.found_positions[number, size] if is_known else self._position(self.values[number], size, mask)

    def _position(self, value, size, mask):
        """A position counted from the front, 0 in place of one that is out of range."""
        position = self.k.convert(value, "int64")
        position = self.k.where(self.k.less(position, 0), self.k.add(position, size), position)
        # Without signs, a negative number is a large one: one comparison sees both ends.
        holds = self.k.less_unsigned(position, size)
        # A lane behind the end of the loop has no position, and what stands there must not be an error.
        counts = None if mask is None else mask if lanes_of(holds) > 1 else self.k.any(mask)
        self._note(holds if counts is None else self.k.bitwise_or(holds, self.k.bitwise_not(counts)))
        return self.k.where(holds, position, 0)

    def _gathered(self, entry, places, mask):
        """Elements at addresses, one for each lane; lanes outside the mask read the buffer's first."""
        # Of half precision the bits are gathered, and brought into the dtype of registers all at once.
        is_narrow = entry.dtype in NARROW
        dtype = "int16" if is_narrow else entry.dtype
        found = undefined(type_of(dtype, self.lanes))
        for lane, place in enumerate(places):
            number = ir.IntType(32)(lane)
            if mask is not None:
                place = self.ir.select(self._lane_of(mask, lane), place, self.pointers[id(entry.buffer)])
            found = self.ir.insert_element(found, self.k.load(place, dtype, 1), number)
        return self.k.from_stored(found, entry.dtype) if is_narrow else found

    def _inside(self, entry):
        """Whether the point is inside all bounds: for each lane, where they move with the vector loop."""
        holds = None if entry.outer is None else self.values[entry.outer]
        for start, along, size in entry.bounds:
            place = _INDEX(start)
            for loop, step in enumerate(along):
                if step:
                    place = self.ir.add(place, self.ir.mul(self.counters[loop], _INDEX(step)))
            step = along[self.vector] if self.vector is not None else 0
            if step and self.lanes > 1:
                lanes = ir.Constant(ir.VectorType(_INDEX, self.lanes), [lane * step for lane in range(self.lanes)])
                place = self.ir.add(self.k.broadcast(place, self.lanes), lanes)
            # As in `_position`: one comparison for both bounds.
            bound = self.k.less_unsigned(place, size)
            holds = bound if holds is None else self.k.bitwise_and(*self.k.lift(holds, bound))
        return holds

    def _apply(self, number, entry, operands):
        node, op = entry.node, entry.node.op
        if op.name in CONVERSIONS or op.name in IDENTITIES:
            return self._converted(node, operands[0])
        wanted = operand_dtypes(node, operands)
        operands = [self._typed(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        operands = [None if x is None else self.k.convert(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        name = self.plan.signs.function(number)
        # An op's own block first, then a method of the builder, then the library of functions on vectors.
        write = op.emit or getattr(type(self.k), name, None) or library_function(name)
        value = self._fused(op, operands) or write(self.k, *operands)
        if number in self.plan.fused:
            # The product is written as well, and LLVM drops it where the sum is all that reads it. It is kept here, so that its
            # identity stays its own.
            self.products[id(value)] = value, operands[0], operands[-1]
        return value

    def _fused(self, op, operands):
        """A sum or difference one of whose operands is a product that nothing else needs, rounded once.

        It is decided here and not by LLVM, which would fuse in one place what it leaves alone in another: results must not
        depend on where in an array an element stands.
        """
        if op.name not in ("add", "subtract") or dtype_of(operands[0]) not in ("float32", "float64"):
            return None
        x, y = operands
        is_difference = op.name == "subtract"
        if id(y) in self.products:
            _, first, second = self.products[id(y)]
            return self.k.multiply_add(self.k.negative(first) if is_difference else first, second, x)
        if id(x) in self.products:
            _, first, second = self.products[id(x)]
            return self.k.multiply_add(first, second, self.k.negative(y) if is_difference else y)
        return None

    def _converted(self, node, x):
        """What a conversion makes of a number; what has its dtype already is not rounded again."""
        dtype, source = name_of(node.dtype), node.args[0]
        is_there = isinstance(source, Symbol) and source.dtype == node.dtype
        return self._held(x, dtype) if is_there else self.k.convert(self._typed(x, dtype), dtype)

    def _held(self, x, dtype):
        """A number in the dtype in which registers have those of `dtype`."""
        return self.k.convert(self._typed(x, dtype), in_registers(dtype))

    def _typed(self, x, dtype):
        if x is None or isinstance(x, ir.Value):
            return x
        return self.k.constant(bool(x) if dtype == "bool" else x, dtype, 1)

    def _check(self, holds):
        """Set the flag where a check fails in a lane that counts."""
        if self.mask is not None and lanes_of(holds) > 1:
            holds = self.k.bitwise_or(holds, self.k.bitwise_not(self.mask))
        self._note(holds)

    def _note(self, holds):
        # A flag in memory and no exception: native code runs on, and writes nothing that lasts from the next step on.
        with self.ir.if_then(self.k.any(self.k.bitwise_not(holds)), likely=False):
            self.ir.store(_INDEX(1), self.pointers[id(FLAG)])


def library_function(name):
    """The function on vectors of that name, called with the builder first."""
    return lambda k, *operands: getattr(k, name)(*operands)


def operand_dtypes(node, operands):
    """What each operand is converted to before the op: masks stay masks, the others meet in one dtype."""
    name = node.op.name
    if name.startswith("logical_") or (name.startswith("bitwise_") and node.dtype.kind == "b"):
        return ["bool"] * len(operands)
    if name == "where":
        return ["bool", name_of(node.dtype), name_of(node.dtype)]
    common = name_of(node.dtype)
    if common == "bool":
        common = _dtype_of_truth(operands)
    return [common] * len(operands)


def _dtype_of_truth(operands):
    """The dtype in which operands become truth values: that of truth values if all of them are, whose sum is one as well; else that
    in which NumPy compares them, in which True is 1.
    """
    known = [np.dtype(dtype_of(x)) for x in operands if isinstance(x, ir.Value)]
    numbers = [x for x in operands if x is not None and not isinstance(x, ir.Value)]
    if all([dtype.kind == "b" for dtype in known]) and all([number in (0, 1) for number in numbers]):
        return "bool"
    common = np.result_type(*known, np.int8, *numbers)
    # A number that the dtype cannot hold is equal to none of its values; cut to its bits it might be.
    is_whole = common.kind == "i" and any(not np.iinfo(common).min <= n <= np.iinfo(common).max for n in numbers)
    return "int64" if is_whole else common.name
