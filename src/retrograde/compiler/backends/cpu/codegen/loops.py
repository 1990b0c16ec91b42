"""Loop kernels: a box of loops as LLVM code, vectors along one loop, reductions folded on the way.

The entry of a kernel is `void(ptr table, ptr slots, i64 chunk)`: `slots` holds the places of its buffers in the table of
pointers, then its run-time numbers.
"""

from ....index.expression import Load
from . import emit, ir
from .builder import Builder
from .counting import counted
from .entry import Entry
from .loop_crossings import Crossings
from .loop_folds import Folds, write_finish
from .loop_lanes import has_payloads, is_packed
from .loop_rounds import Rounds
from .loop_values import Values
from .prefetch import Prefetches
from .tapes import Tapes
from .vecmath.elements import dtype_of

_INDEX, _POINTER = ir.IntType(64), ir.PointerType()
#: A body with more entries than this is written once, with a mask, and calls the math library out of line.
_HEAVY = 200


def write_loops(module, name, plan):
    """Add the entry of a kernel to `module`, and `name`_finish, which combines partial results, if there are any."""
    _Writer(_Entry(module, name, plan), plan).write()
    if plan.partials:
        write_finish(_Entry(module, f"{name}_finish", plan), plan)


class _Entry(Entry):
    """The function of a kernel with what it is handed, loaded at its start."""

    def __init__(self, module, name, plan):
        super().__init__(module, name)
        self.ir = self.builder
        self.pointers = {id(buffer): self.pointer(place) for place, buffer in enumerate(plan.buffers)}
        #: The run-time numbers by name.
        self.numbers = {name: self.word(len(plan.buffers) + i) for i, name in enumerate(plan.numbers)}
        for i, buffer in enumerate(plan.framed):
            self._turn_to_block(i, id(buffer))

    def _turn_to_block(self, i, buffer):
        """Let a pointer to frames be such that the block of this chunk begins at its place in its frame. Other pointers stay, as
        those numbers are 0: what lies in frames makes no difference to the code.
        """
        frame = self.ir.mul(self.frame, self.numbers["frame", i])
        before = self.ir.sub(self.numbers["place", i], self.ir.mul(self.chunk, self.numbers["block", i]))
        self.pointers[buffer] = self.ir.gep(self.pointers[buffer], [self.ir.add(frame, before)], source_etype=ir.IntType(8))


class _Writer(Values, Rounds, Crossings, Prefetches, Folds):
    """Writes one kernel, from the outermost loop in."""

    def __init__(self, entry, plan):
        self.entry, self.plan, self.box, self.lanes = entry, plan, plan.box, plan.lanes
        self.pointers, self.ir = entry.pointers, entry.ir
        self.vector = plan.vector
        self.addressed, self.places = plan.addresses
        self.loops, self.crossing, self.crossed = self.box.order(self.vector), plan.crossing, {}
        # Reduced loops are innermost: inside so many loops a place of the result is known, and its fold begins and ends there.
        self.kept = sum(not r for r in self.box.is_reduced)
        # A masked lane computes what nobody stores, which is cheaper than a second copy of so long a body in the instruction
        # cache, and to compile.
        self.is_heavy = plan.size > _HEAVY
        self.k = Builder(self.ir, lanes=self.lanes, inline="noinline" if self.is_heavy or plan.runs else None)
        self.k.on_check, self.k.has_payloads = self._check, has_payloads(self.box)
        self.is_packed = is_packed(self.box, self.vector, bool(plan.runs))
        self.lengths = [
            entry.numbers.get(("length", i), _INDEX(n)) for i, n in enumerate(self.box.lengths)
        ]
        self.counters, self.values, self.mask, self.masked_level = {}, {}, None, None
        self.sums, self.rows, self.products = {}, {}, {}
        self.tapes = Tapes(plan, entry, self.k) if plan.runs else None
        #: Positions that are known outside of the vector loop, by their entry and how many there are.
        self.early, self.late, self.found_positions = {}, [], {}
        #: The entry that says whether a row is written at all, and inside of how many loops that is known.
        self.counts = self.box.stores[0].counts if self.box.has_rows else None
        self.counted = -1 if self.counts is None else plan.levels[self.counts]
        self._find_early()
        self._find_distant()

    def write(self):
        self._start_sums()
        self._enter(0)
        self.ir.ret_void()

    def _enter(self, level):
        """Compute what is known inside `level` loops, then go on to the next loop."""
        if level == self.masked_level:
            # The mask is known as soon as the counter of the vector loop is: all that is inside that loop shares it.
            left = self.ir.sub(self.lengths[self.vector], self.counters[self.vector])
            self.mask = self.k.first_lanes(left)
        # A mask is of lanes in their order.
        self.k.is_packed = self.is_packed and self.mask is None
        self._prefetch(level)
        self._compute(level)
        self._find_positions(level)
        if level == self.counted:
            with self.ir.if_then(self.k.any(self.values[self.counts])):
                self._go_on(level)
        else:
            self._go_on(level)

    def _go_on(self, level):
        """Do what is inside of more loops than `level`, and after them what ends there."""
        if level == self.kept:
            self._clear_sums()
        if level == len(self.loops):
            self._fold()
            self._store_plain(self.late)
        else:
            self._run_loop(level)
        if level == self.kept:
            self._store_sums()

    def _compute(self, level):
        """The values of all entries inside `level` loops and no more."""
        for item in self.plan.items:
            if isinstance(item, int):
                # One whose partner or other part came first is there already; a mere place is read by the selection that
                # chooses it.
                if self.plan.levels[item] == level and item not in self.values and item not in self.places:
                    self._recall(item)
                    self.values[item] = self._value(item, self.box.entries[item])
                if level == len(self.loops):
                    self._store_plain(self.early.get(item, ()))
            elif self.plan.levels[item.start] == level:
                self._repeat(item)

    def _run_loop(self, level):
        """The loop at `level`, or this chunk's part of it if it is the outermost."""
        if 0 < level < self.plan.row_loops:
            self._go_within_row(level)
            return
        length = self.lengths[self.loops[level]]
        for loop in self.loops[1 : self.plan.row_loops] if level == 0 else ():
            length = self.ir.mul(length, self.lengths[loop])
        start, stop = _INDEX(0), length
        if level == 0 and self.plan.is_cut:
            step = self.entry.numbers["chunk_length"]
            start = self.ir.mul(self.entry.chunk, step)
            end = self.ir.add(start, step)
            stop = self.ir.select(self.ir.icmp_signed("<", end, length), end, length)
        if level == 0 and self.plan.row_loops > 1:
            self._run_rows(start, stop)
        elif self.loops[level] == self.crossing:
            self._run_crossing(level)
        elif self.loops[level] == self.vector and self.crossing is not None:
            self._cross(lambda: self._vector_loop(level, start, stop, length))
        elif self.loops[level] == self.vector and self.lanes > 1:
            self._vector_loop(level, start, stop, length)
        else:
            self._loop(level, start, stop, 1)

    def _run_rows(self, start, stop):
        """The rows from `start` to before `stop`, by the counters of two loops."""
        (first, second), outer = self.loops[:2], dict(self.values)
        with counted(self.ir, start, stop, 1) as row:
            self.counters[first] = self.ir.sdiv(row, self.lengths[second])
            self.counters[second] = self.ir.srem(row, self.lengths[second])
            self._enter(1)
        self.values = outer

    def _go_within_row(self, level):
        """What is inside of a loop whose counter is known, as that of the one around it is."""
        outer = dict(self.values)
        self._enter(level + 1)
        self.values = outer

    def _loop(self, level, start, stop, step):
        """Run the rest of the kernel for the counter of this loop from `start` to before `stop`, at least once."""
        # What the body computes is known inside of the loop only: outside, its values would not dominate their uses.
        loop, outer = self.loops[level], dict(self.values)
        self.stops[loop] = stop
        # A loop of one iteration is none: LLVM would find that out too, after it has unrolled and cleaned up.
        if isinstance(start, ir.Constant) and isinstance(stop, ir.Constant) and stop.constant - start.constant <= step:
            self.counters[loop] = start
            self._enter(level + 1)
        else:
            with counted(self.ir, start, stop, step) as self.counters[loop]:
                self._enter(level + 1)
        self.values = outer

    def _vector_loop(self, level, start, stop, length):
        """The loop in vectors, and a last masked one for what is left."""
        lanes, known = self.lanes, self.box.lengths[self.vector]
        # A length that is handed over at run time differs from the known one by whole vectors, which the key of the code says; so
        # `rest` is known here.
        rest = known % lanes
        if rest and (self.is_heavy or level == 0 and known < 2 * lanes):
            self._masked_loop(level, start, stop)
            return
        whole = _INDEX(known - rest) if isinstance(length, ir.Constant) else self.ir.sub(length, _INDEX(rest))
        if level > 0 or not self.plan.is_cut:
            # Not the outermost loop, so it is not cut into chunks: its length alone decides.
            if known >= lanes:
                self._loop(level, start, whole, lanes)
            if rest:
                self._tail(level, whole, rest)
            return
        # Chunks but the last have whole vectors, see `_chunks`: what is left over is the last chunk's.
        is_last = self.ir.icmp_signed("==", stop, length)
        end = self.ir.select(is_last, whole, stop)
        with self.ir.if_then(self.ir.icmp_signed("<", start, end)):
            self._loop(level, start, end, lanes)
        if rest:
            with self.ir.if_then(is_last):
                self._tail(level, whole, rest)

    def _tail(self, level, whole, rest):
        """The last vector, of which `rest` lanes count."""
        self.mask = ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), [int(i < rest) for i in range(self.lanes)])
        outer = dict(self.values)
        self.counters[self.vector] = whole
        inline, self.k.inline = self.k.inline, "noinline"  # it runs once: its code had better be short
        self._enter(level + 1)
        self.values, self.mask, self.k.inline = outer, None, inline

    def _masked_loop(self, level, start, stop):
        """All of the loop with a computed mask, so that a long body, or one that hardly repeats, is written once."""
        self.masked_level = level + 1
        self._loop(level, start, stop, self.lanes)
        self.masked_level, self.mask = None, None

    # Results

    def _find_early(self):
        """The plain stores by the number of the entry after which they are made, once all that their memory holds is read; those
        at the end are `late`.
        """
        if not self.plan.stores_early:
            self.late = [number for number, store in enumerate(self.box.stores) if store.combine is None]
            return
        items = self.plan.items
        single = {item for item in items if isinstance(item, int) and self.plan.levels[item] == len(self.loops)}
        # An update lies in the memory that it updates: stored before the last load of that, it would be read in place of the old
        # numbers.
        last = {id(entry.buffer): number for number, entry in enumerate(self.box.entries) if isinstance(entry, Load)}
        for number, store in enumerate(self.box.stores):
            if store.combine is None:
                is_early = store.part is None and store.value in single and last.get(id(store.buffer), -1) < store.value
                (self.early.setdefault(store.value, []) if is_early else self.late).append(number)

    def _store_plain(self, numbers):
        for number in numbers:
            store = self.box.stores[number]
            # Both parts are written in one store, with the second one; the first writes nothing.
            if store.part is not None and self.lanes > 1 and store.steps[self.vector] == 2:
                if store.part:
                    self._write_both(number - 1, store)
                continue
            self._write(number, store, self._stored(store))

    def _stored(self, store):
        if store.value not in self.values:
            self.values[store.value] = self.tapes.recalled(store.value)
        return self.values[store.value]

    def _write(self, number, store, value):
        value = self.k.as_stored(self._held(value, store.dtype), store.dtype)
        step = store.steps[self.vector] if self.vector is not None else 0
        where = self._address(("store", number), store, self._row_of(store))
        if self.lanes == 1 or step == 0:
            self.k.store(value, where)
            return
        value = self.k.broadcast(value, self.lanes)
        if step != 1:
            self._scatter(value, where, step)
        elif self.mask is not None:
            self.k.store_masked(value, where, self.mask)
        else:
            self.k.store(value, where)

    def _row_of(self, store):
        """Where the row that is written begins, where its position is data."""
        if not store.chosen:
            return None
        ((number, stride, size, _),) = store.chosen
        return self.ir.mul(self._found_position(number, size, None), _INDEX(stride))

    def _write_both(self, number, store):
        """Store both parts of complex numbers that lie in order, of which the first one is store `number`."""
        parts = [self._typed(self._stored(s), s.dtype) for s in self.box.stores[number : number + 2]]
        real, imag = (self.k.broadcast(self.k.convert(part, store.dtype), self.lanes) for part in parts)
        picks = [lane // 2 + lane % 2 * self.lanes for lane in range(2 * self.lanes)]
        where, both = self._first_part(("store", number), store), emit.shuffle(self.ir, real, imag, picks)
        if self.mask is None:
            self.k.store(both, where)
            return
        mask = emit.shuffle(self.ir, self.mask, self.mask, [lane // 2 for lane in range(2 * self.lanes)])
        self.k.store_masked(both, where, mask)

    def _scatter(self, value, where, step):
        for lane in range(self.lanes):
            spot = self.k.offset(where, _INDEX(lane * step), dtype_of(value))
            number = self.k.lane(value, lane)
            if self.mask is None:
                self.k.store(number, spot)
                continue
            # Lanes behind the end may lie behind the buffer, too.
            with self.ir.if_then(self.ir.extract_element(self.mask, ir.IntType(32)(lane))):
                self.k.store(number, spot)

    # Reductions
