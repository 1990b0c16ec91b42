"""Loop kernels: a box of loops as LLVM code, vectors along one loop, reductions folded on the way.

The entry of a kernel is `void(ptr table, ptr slots, i64 chunk)`: `slots` holds the places of its buffers in the table of
pointers, then its run-time numbers.
"""

from llvmlite import ir

from ...dtypes import name_of
from ..expression import Constant, Inside, Load, Select, arguments_of
from ..kinds import IDENTITIES, REDUCTIONS
from .builder import Builder
from .loop_plan import FLAG, dtype_of_entry
from .tapes import Tapes
from .vecmath.elements import dtype_of, lanes_of, type_of

_INDEX, _POINTER = ir.IntType(64), ir.PointerType()
#: A body with more entries than this is written once, with a mask, and calls the math library out of line.
_HEAVY = 200


def write_loops(module, name, plan):
    """Add the entry of a kernel to `module`, and `name`_finish, which combines partial results, if there are any."""
    _Writer(_Entry(module, name, plan), plan).write()
    if plan.partials:
        _write_finish(_Entry(module, f"{name}_finish", plan), plan)


class _Entry:
    """The function of a kernel with what it is handed, loaded at its start."""

    def __init__(self, module, name, plan):
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _INDEX]), name)
        table, self._slots, self.chunk = self.function.args
        self.ir = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.pointers = {}
        for place, buffer in enumerate(plan.buffers):
            where = self.ir.gep(table, [self._word(place)], source_etype=_POINTER)
            self.pointers[id(buffer)] = self.ir.load(where, typ=_POINTER)
        #: The run-time numbers by name.
        self.numbers = {name: self._word(len(plan.buffers) + i) for i, name in enumerate(plan.numbers)}

    def _word(self, place):
        return self.ir.load(self.ir.gep(self._slots, [_INDEX(place)], source_etype=_INDEX), typ=_INDEX)


def _write_finish(entry, plan):
    """A function that combines partial results, always in the same order."""
    k, partials = Builder(entry.ir, lanes=1), iter(plan.partials)
    for number, store in enumerate(plan.box.stores):
        if store.combine is None:
            continue
        source = entry.pointers[id(next(partials))]
        parts = [k.load(k.offset(source, i, store.dtype), store.dtype, 1) for i in range(plan.chunks)]
        combine = getattr(k, REDUCTIONS[store.combine][0])
        while len(parts) > 1:
            parts = [combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
        start = entry.numbers.get(("store", number), 0)
        k.store(parts[0], k.offset(entry.pointers[id(store.buffer)], start, store.dtype))
    entry.ir.ret_void()


class _Writer:
    """Writes one kernel, from the outermost loop in."""

    def __init__(self, entry, plan):
        self.entry, self.plan, self.box, self.lanes = entry, plan, plan.box, plan.lanes
        self.pointers, self.ir = entry.pointers, entry.ir
        self.vector = self.box.vector_loop()
        self.loops = self.box.order(self.vector)
        self.kept = sum(not r for r in self.box.is_reduced)
        self.is_heavy = plan.size > _HEAVY
        self.k = Builder(self.ir, lanes=self.lanes, inline="noinline" if self.is_heavy else None)
        self.k.on_check = self._check
        self.lengths = [
            entry.numbers.get(("length", i), _INDEX(n)) for i, n in enumerate(self.box.lengths)
        ]
        self.counters, self.values, self.mask, self.masked_level = {}, {}, None, None
        self.sums = {}
        self.tapes = Tapes(plan, entry, self.k) if plan.runs else None

    def write(self):
        self._start_sums()
        self._enter(0)
        self.ir.ret_void()

    def _enter(self, level):
        """Compute what is known inside `level` loops, then go on to the next loop."""
        if level == self.masked_level:
            left = self.ir.sub(self.lengths[self.vector], self.counters[self.vector])
            self.mask = self.k.first_lanes(left)
        self._compute(level)
        if level == self.kept:
            self._clear_sums()
        if level == len(self.loops):
            self._fold()
            self._store_plain()
        else:
            self._run_loop(level)
        if level == self.kept:
            self._store_sums()

    def _compute(self, level):
        """The values of all entries inside `level` loops and no more."""
        for item in self.plan.items:
            if isinstance(item, int):
                if self.plan.levels[item] == level:
                    self._recall(item)
                    self.values[item] = self._value(item, self.box.entries[item])
            elif self.plan.levels[item.start] == level:
                self._repeat(item)

    def _recall(self, number):
        """Bring arguments back that were computed in an early round of a run."""
        for n in arguments_of(self.box.entries[number]) if self.tapes else ():
            if n not in self.values:
                self.values[n] = self.tapes.recalled(n)

    def _repeat(self, run):
        """The rounds of a run as a loop."""
        firsts = {a.slot: a.first for arguments in run.arguments for a in arguments if a.kind == "carried"}
        for n in (a.first for arguments in run.arguments for a in arguments if a.kind in ("carried", "outer")):
            if n not in self.values:
                self.values[n] = self.tapes.recalled(n)
        starts = {slot: self._widened(run.start + slot, self.values[first]) for slot, first in firsts.items()}
        before, head, after = self.ir.block, self.ir.append_basic_block("round"), self.ir.append_basic_block("rounds.end")
        self.ir.branch(head)
        self.ir.position_at_end(head)
        counter = self.ir.phi(_INDEX)
        counter.add_incoming(_INDEX(0), before)
        carried = {slot: self.ir.phi(start.type) for slot, start in starts.items()}
        made = self._round(run, counter, carried)
        following = self.ir.add(counter, _INDEX(1), flags=("nsw", "nuw"))
        counter.add_incoming(following, self.ir.block)
        for slot, phi in carried.items():
            phi.add_incoming(starts[slot], before)
            phi.add_incoming(self.k.broadcast(made[slot], lanes_of(phi)), self.ir.block)
        self.ir.cbranch(self.ir.icmp_signed("<", following, _INDEX(run.count)), head, after)
        self.ir.position_at_end(after)
        self.values.update({run.stop - run.period + slot: value for slot, value in made.items()})

    def _widened(self, number, value):
        """What is carried into a run, in the type that the entry of the run has."""
        entry = self.box.entries[number]
        dtype = dtype_of_entry(entry)
        is_moving = self.vector is not None and entry.steps and entry.steps[self.vector]
        return self.k.broadcast(self.k.convert(self._typed(value, dtype), dtype), self.lanes if is_moving else 1)

    def _round(self, run, counter, carried):
        """One round; the value of each of its entries."""
        made = {}
        for slot, arguments in enumerate(run.arguments):
            number = run.start + slot
            entry = self.box.entries[number]
            if isinstance(entry, Load):
                made[slot] = self._load(number, entry, self.ir.mul(counter, _INDEX(run.moves[slot])))
            else:
                operands = [self._operand(a, counter, carried, made) for a in arguments]
                made[slot] = self._apply(entry, operands)
            self.tapes.keep(run, slot, counter, made[slot])
        return made

    def _operand(self, argument, counter, carried, made):
        if argument.kind == "inner":
            return made[argument.slot]
        if argument.kind == "carried":
            return carried[argument.slot]
        return self.values[argument.first] if argument.kind == "outer" else self.tapes.read(argument, counter)

    def _run_loop(self, level):
        """The loop at `level`, or this chunk's part of it if it is the outermost."""
        length = self.lengths[self.loops[level]]
        start, stop = _INDEX(0), length
        if level == 0 and self.plan.chunks > 1:
            step = self.entry.numbers["chunk_length"]
            start = self.ir.mul(self.entry.chunk, step)
            end = self.ir.add(start, step)
            stop = self.ir.select(self.ir.icmp_signed("<", end, length), end, length)
        if self.loops[level] == self.vector and self.lanes > 1:
            self._vector_loop(level, start, stop, length)
        else:
            self._loop(level, start, stop, 1)

    def _loop(self, level, start, stop, step):
        """Run the rest of the kernel for the counter of this loop from `start` to before `stop`, at least once."""
        loop, outer = self.loops[level], dict(self.values)
        if isinstance(start, ir.Constant) and isinstance(stop, ir.Constant) and stop.constant - start.constant <= step:
            self.counters[loop] = start
            self._enter(level + 1)
        else:
            before, head = self.ir.block, self.ir.append_basic_block("loop")
            self.ir.branch(head)
            self.ir.position_at_end(head)
            counter = self.ir.phi(_INDEX)
            counter.add_incoming(start, before)
            self.counters[loop] = counter
            self._enter(level + 1)
            following = self.ir.add(counter, _INDEX(step), flags=("nsw", "nuw"))
            counter.add_incoming(following, self.ir.block)
            after = self.ir.append_basic_block("after")
            self.ir.cbranch(self.ir.icmp_signed("<", following, stop), head, after)
            self.ir.position_at_end(after)
        self.values = outer

    def _vector_loop(self, level, start, stop, length):
        """The loop in vectors, and a last masked one for what is left."""
        lanes, known = self.lanes, self.box.lengths[self.vector]
        rest = known % lanes
        if self.is_heavy and rest:
            self._masked_loop(level, start, stop)
            return
        whole = _INDEX(known - rest) if isinstance(length, ir.Constant) else self.ir.sub(length, _INDEX(rest))
        if level > 0 or self.plan.chunks == 1:
            if known >= lanes:
                self._loop(level, start, whole, lanes)
            if rest:
                self._tail(level, whole, rest)
            return
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
        self._enter(level + 1)
        self.values, self.mask = outer, None

    def _masked_loop(self, level, start, stop):
        """All of the loop with a computed mask, so that a long body is written once."""
        self.masked_level = level + 1
        self._loop(level, start, stop, self.lanes)
        self.masked_level, self.mask = None, None

    # Values

    def _value(self, number, entry):
        word = self.entry.numbers.get(("constant", number))
        if word is not None:
            value = self.ir.bitcast(word, ir.DoubleType())
            return self.k.convert(value, entry.dtype) if entry.dtype else value
        if isinstance(entry, Constant):
            return self.k.constant(entry.value, entry.dtype, 1) if entry.dtype else entry.value
        if isinstance(entry, Load):
            return self._load(number, entry)
        if isinstance(entry, Inside):
            return self._inside(entry)
        if isinstance(entry, Select):
            inside, outside = (self.k.convert(self._typed(self.values[n], entry.dtype), entry.dtype)
                               for n in (entry.inside, entry.outside))
            return self.k.where(self.values[entry.guard], inside, outside)
        return self._apply(entry, [self.values[n] for n in entry.arguments])

    def _address(self, name, part, moved=None):
        """Where an entry or store `part` is, whose start goes by `name`, and which `moved` from there."""
        place = self.entry.numbers.get(name, _INDEX(0))
        place = place if moved is None else self.ir.add(place, moved)
        steps, buffer, dtype = part.steps, part.buffer, part.dtype
        for loop, step in enumerate(steps):
            if step:
                move = self.counters[loop] if step == 1 else self.ir.mul(self.counters[loop], _INDEX(step))
                place = self.ir.add(place, move)
        return self.k.offset(self.pointers[id(buffer)], place, dtype)

    def _load(self, number, entry, moved=None):
        where = self._address(("start", number), entry, moved)
        step = entry.steps[self.vector] if self.vector is not None else 0
        mask = self.mask if entry.guard is None else self._combined(self.values[entry.guard])
        if entry.chosen:
            return self._chosen(entry, where, step, mask)
        if self.lanes == 1 or step == 0:
            return self.k.load(where if entry.guard is None else self._safe(where, self.values[entry.guard], entry), entry.dtype, 1)
        if step == 1:
            return self.k.load_masked(where, mask, entry.dtype) if mask else self.k.load(where, entry.dtype)
        return self._gathered(entry, [self._ahead(where, lane * step, entry) for lane in range(self.lanes)], mask)

    def _ahead(self, where, count, entry):
        return self.k.offset(where, _INDEX(count), entry.dtype)

    def _combined(self, guard):
        """The lanes that count and for which a guard holds."""
        guard = self.k.broadcast(guard, self.lanes)
        return guard if self.mask is None else self.k.bitwise_and(guard, self.mask)

    def _safe(self, where, guard, entry):
        """An address that may be read even where no lane of the guard holds: the buffer's first element."""
        return self.ir.select(self.k.any(guard), where, self.pointers[id(entry.buffer)])

    def _chosen(self, entry, where, step, mask):
        """Elements at positions that are computed; a position that is out of range is noted, and read as the first."""
        ((number, stride, size),) = entry.chosen
        position = self._position(self.values[number], size, mask)
        if self.lanes == 1 or lanes_of(position) == 1:
            at = self.k.offset(where, self.ir.mul(position, _INDEX(stride)), entry.dtype)
            if self.lanes == 1 or step == 0:
                return self.k.load(at if entry.guard is None else self._safe(at, self.values[entry.guard], entry), entry.dtype, 1)
            if step == 1:
                return self.k.load_masked(at, mask, entry.dtype) if mask else self.k.load(at, entry.dtype)
            return self._gathered(entry, [self._ahead(at, lane * step, entry) for lane in range(self.lanes)], mask)
        places = []
        for lane in range(self.lanes):
            place = self.ir.add(self.ir.mul(self.k.lane(position, lane), _INDEX(stride)), _INDEX(lane * step))
            places.append(self.k.offset(where, place, entry.dtype))
        return self._gathered(entry, places, mask)

    def _position(self, value, size, mask):
        """A position counted from the front, 0 in place of one that is out of range."""
        position = self.k.convert(value, "int64")
        position = self.k.where(self.k.less(position, 0), self.k.add(position, size), position)
        holds = self.k.less_unsigned(position, size)
        counts = None if mask is None else mask if lanes_of(holds) > 1 else self.k.any(mask)
        self._note(holds if counts is None else self.k.bitwise_or(holds, self.k.bitwise_not(counts)))
        return self.k.where(holds, position, 0)

    def _gathered(self, entry, places, mask):
        """Elements at addresses, one for each lane; lanes outside the mask read the buffer's first."""
        found = ir.Constant(type_of(entry.dtype, self.lanes), ir.Undefined)
        for lane, place in enumerate(places):
            number = ir.IntType(32)(lane)
            if mask is not None:
                place = self.ir.select(self.ir.extract_element(mask, number), place, self.pointers[id(entry.buffer)])
            found = self.ir.insert_element(found, self.k.load(place, entry.dtype, 1), number)
        return found

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
            bound = self.k.less_unsigned(place, size)
            holds = bound if holds is None else self.k.bitwise_and(*self.k.lift(holds, bound))
        return holds

    def _apply(self, entry, operands):
        node, op = entry.node, entry.node.op
        if op.name == "astype" or op.name in IDENTITIES:
            return self.k.convert(self._typed(operands[0], name_of(node.dtype)), name_of(node.dtype))
        wanted = _operand_dtypes(node, operands)
        operands = [self._typed(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        operands = [None if x is None else self.k.convert(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        return (op.emit or getattr(type(self.k), op.name, None) or _library(op.name))(self.k, *operands)

    def _typed(self, x, dtype):
        return x if x is None or isinstance(x, ir.Value) else self.k.constant(x, dtype, 1)

    def _check(self, holds):
        """Set the flag where a check fails in a lane that counts."""
        if self.mask is not None and lanes_of(holds) > 1:
            holds = self.k.bitwise_or(holds, self.k.bitwise_not(self.mask))
        self._note(holds)

    def _note(self, holds):
        with self.ir.if_then(self.k.any(self.k.bitwise_not(holds)), likely=False):
            self.ir.store(_INDEX(1), self.pointers[id(FLAG)])

    # Results

    def _store_plain(self):
        for number, store in enumerate(self.box.stores):
            if store.combine is None:
                self._write(number, store, self._stored(store))

    def _stored(self, store):
        if store.value not in self.values:
            self.values[store.value] = self.tapes.recalled(store.value)
        return self.values[store.value]

    def _write(self, number, store, value):
        value = self.k.convert(self._typed(value, store.dtype), store.dtype)
        step = store.steps[self.vector] if self.vector is not None else 0
        where = self._address(("store", number), store)
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

    def _scatter(self, value, where, step):
        for lane in range(self.lanes):
            spot = self.k.offset(where, _INDEX(lane * step), dtype_of(value))
            number = self.k.lane(value, lane)
            if self.mask is None:
                self.k.store(number, spot)
                continue
            with self.ir.if_then(self.ir.extract_element(self.mask, ir.IntType(32)(lane))):
                self.k.store(number, spot)

    # Reductions

    def _start_sums(self):
        for number, store in enumerate(self.box.stores):
            if store.combine is not None:
                self.sums[number] = self.ir.alloca(type_of(store.dtype, self.lanes))

    def _clear_sums(self):
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            start = float(REDUCTIONS[store.combine][1])
            self.ir.store(self.k.constant(start, store.dtype), slot)

    def _fold(self):
        """Combine the values of one round with what has been folded so far."""
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            combine, start = REDUCTIONS[store.combine]
            value = self.k.broadcast(self._typed(self._stored(store), store.dtype), self.lanes)
            if self.mask is not None and self.box.is_reduced[self.vector]:
                value = self.k.where(self.mask, value, float(start))
            folded = getattr(self.k, combine)(self.ir.load(slot, typ=type_of(store.dtype, self.lanes)), value)
            self.ir.store(folded, slot)

    def _store_sums(self):
        is_across = self.vector is not None and self.box.is_reduced[self.vector]
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            value = self.ir.load(slot, typ=type_of(store.dtype, self.lanes))
            if is_across and self.lanes > 1:
                value = self.k.reduce(getattr(self.k, REDUCTIONS[store.combine][0]), value)
            if self.plan.partials:
                partial = self.pointers[id(self.plan.partials[list(self.sums).index(number)])]
                self.k.store(value, self.k.offset(partial, self.entry.chunk, store.dtype))
            else:
                self._write(number, store, value)


def _library(name):
    return lambda k, *operands: getattr(k, name)(*operands)


def _operand_dtypes(node, operands):
    """What each operand is converted to before the op: masks stay masks, the others meet in one dtype."""
    name = node.op.name
    if name.startswith("logical_") or (name.startswith("bitwise_") and node.dtype.kind == "b"):
        return ["bool"] * len(operands)
    if name == "where":
        return ["bool", name_of(node.dtype), name_of(node.dtype)]
    common = name_of(node.dtype)
    if common == "bool":
        known = [x for x in operands if isinstance(x, ir.Value)]
        order = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")
        common = max((dtype_of(x) for x in known), key=order.index)
    return [common] * len(operands)
