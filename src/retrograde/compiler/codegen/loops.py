"""Loop kernels: a box of loops as LLVM code, vectors along one loop, reductions folded on the way."""

from dataclasses import dataclass

from llvmlite import ir

from ..expression import Apply, Constant, Load
from ..kinds import IDENTITIES, REDUCTIONS
from .builder import Builder
from .vecmath.elements import BYTES, dtype_of, is_float, lanes_of, type_of

_INDEX, _POINTER = ir.IntType(64), ir.PointerType()
#: A body with fewer entries than this is cheap, and runs on several vectors at once to keep the processor busy.
_LIGHT, _WIDTH = 24, 4
#: A body with more entries than this is written once, with a mask, and calls the math library out of line.
_HEAVY = 200
#: The buffer, one int64, that a kernel sets to 1 where a check fails.
FLAG = "flag"
#: A chunk does at least this many entries, so that handing it out costs little; there are never more than these chunks.
_CHUNK_WORK, _MOST_CHUNKS = 65536, 64


@dataclass(frozen=True)
class Kernel:
    """A function that runs a part of a box: it takes the pointers of `buffers` and the number of a chunk.

    A box without a kept loop leaves one partial result of each reduction per chunk in `partials`, which `finish`, a
    function of the same buffers, combines in order.
    """

    function: ir.Function
    buffers: tuple
    chunks: int
    finish: ir.Function | None = None
    partials: tuple = ()


class Partials:
    """Memory for the partial results of one reduction."""

    def __init__(self, count, dtype):
        self.nbytes, self.dtype = count * BYTES[dtype], dtype


def write_kernel(module, name, box, target):
    """The kernel of a box, added to `module`. Chunks depend on the box alone, so results never depend on threads."""
    box = box.merged()
    lanes = _lanes(box, target)
    length, chunks = _chunks(box, lanes)
    is_split = chunks > 1 and all(box.is_reduced)
    folds = [store for store in box.stores if store.combine is not None]
    partials = tuple([Partials(chunks, store.dtype) for store in folds]) if is_split else ()
    buffers = (*_buffers(box), *partials, *([FLAG] if box.has_checks else []))
    function = _function(module, name, len(buffers), 1)
    _Writer(function, box, buffers, lanes, length, partials).write()
    finish = _finish(module, f"{name}_finish", box, buffers, partials, chunks) if partials else None
    return Kernel(function, buffers, chunks, finish, partials)


def _function(module, name, pointers, numbers):
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER] * pointers + [_INDEX] * numbers), name)
    function.linkage = "internal"
    for argument in function.args[:pointers]:
        argument.add_attribute("noalias")
    return function


def _chunks(box, lanes):
    """How much of the outermost loop one chunk takes, and how many chunks there are."""
    if not box.lengths:
        return 1, 1
    outermost = box.order(box.vector_loop())[0]
    length = box.lengths[outermost]
    wanted = min(_MOST_CHUNKS, box.size * max(len(box.entries), 1) // _CHUNK_WORK, length)
    if wanted < 2:
        return length, 1
    step = -(-length // wanted)
    if outermost == box.vector_loop():
        step = -(-step // lanes) * lanes
    return step, -(-length // step)


def _lanes(box, target):
    """How many elements one value of the body holds."""
    vector = box.vector_loop()
    if vector is None:
        return 1
    sizes = [BYTES[_dtype(e)] for e in box.entries if _dtype(e) and is_float(_dtype(e))]
    lanes, length = target.vector_bytes // max(sizes, default=8), box.lengths[vector]
    if len(box.entries) < _LIGHT and length >= 4 * _WIDTH * lanes:
        return lanes * _WIDTH
    while lanes > 1 and lanes >= 2 * length:
        lanes //= 2
    return lanes


def _finish(module, name, box, buffers, partials, chunks):
    """A function that combines partial results, always in the same order."""
    function = _function(module, name, len(buffers), 0)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    k = Builder(builder, lanes=1)
    pointers = {id(buffer): argument for buffer, argument in zip(buffers, function.args, strict=True)}
    for store, partial in zip([s for s in box.stores if s.combine is not None], partials, strict=True):
        parts = [k.load(k.offset(pointers[id(partial)], i, store.dtype), store.dtype, 1) for i in range(chunks)]
        combine = getattr(k, REDUCTIONS[store.combine][0])
        while len(parts) > 1:
            parts = [combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
        k.store(parts[0], k.offset(pointers[id(store.buffer)], store.start, store.dtype))
    builder.ret_void()
    return function


def _buffers(box):
    found = {}
    for part in (*[e for e in box.entries if isinstance(e, Load)], *box.stores):
        found.setdefault(id(part.buffer), part.buffer)
    return list(found.values())


class _Writer:
    """Writes one kernel, from the outermost loop in."""

    def __init__(self, function, box, buffers, lanes, chunk, partials):
        self.box, self.lanes = box, lanes
        self.pointers = {id(buffer): argument for buffer, argument in zip(buffers, function.args, strict=False)}
        self.vector = box.vector_loop()
        self.loops = box.order(self.vector)
        self.kept = sum(not r for r in box.is_reduced)
        self.is_heavy = len(box.entries) > _HEAVY
        self.chunk, self.chunk_length, self.partials = function.args[-1], chunk, partials
        self.ir = ir.IRBuilder(function.append_basic_block("entry"))
        self.k = Builder(self.ir, lanes=self.lanes, inline="noinline" if self.is_heavy else None)
        self.levels = [self._level(e.steps) for e in box.entries]
        self.counters, self.values, self.mask, self.masked_level = {}, {}, None, None
        self.sums = {}
        self.k.on_check = self._check

    def _level(self, steps):
        return max([place + 1 for place, loop in enumerate(self.loops) if steps and steps[loop]], default=0)

    def write(self):
        self._start_sums()
        self._enter(0)
        self.ir.ret_void()

    def _enter(self, level):
        """Compute what is known inside `level` loops, then go on to the next loop."""
        if level == self.masked_level:
            left = self.ir.sub(_INDEX(self.box.lengths[self.vector]), self.counters[self.vector])
            self.mask = self.k.first_lanes(left)
        for number, at in enumerate(self.levels):
            if at == level:
                self.values[number] = self._value(self.box.entries[number])
        if level == self.kept:
            self._clear_sums()
        if level == len(self.loops):
            self._fold()
            self._store_plain()
        else:
            self._run_loop(level)
        if level == self.kept:
            self._store_sums()

    def _run_loop(self, level):
        """The loop at `level`, or this chunk's part of it if it is the outermost."""
        length = self.box.lengths[self.loops[level]]
        start, stop = _INDEX(0), _INDEX(length)
        if level == 0 and self.chunk_length < length:
            start = self.ir.mul(self.chunk, _INDEX(self.chunk_length))
            end = self.ir.add(start, _INDEX(self.chunk_length))
            stop = self.ir.select(self.ir.icmp_signed("<", end, _INDEX(length)), end, _INDEX(length))
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
        lanes = self.lanes
        whole = length - length % lanes
        if self.is_heavy and whole != length:
            self._masked_loop(level, start, stop)
            return
        if stop.constant == length if isinstance(stop, ir.Constant) else False:
            if whole:
                self._loop(level, start, _INDEX(whole), lanes)
            if whole != length:
                self._tail(level, whole, length)
            return
        is_last = self.ir.icmp_signed("==", stop, _INDEX(length))
        end = self.ir.select(is_last, _INDEX(whole), stop)
        with self.ir.if_then(self.ir.icmp_signed("<", start, end)):
            self._loop(level, start, end, lanes)
        if whole != length:
            with self.ir.if_then(is_last):
                self._tail(level, whole, length)

    def _tail(self, level, whole, length):
        ones = [int(i < length - whole) for i in range(self.lanes)]
        self.mask = ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), ones)
        self._loop(level, _INDEX(whole), _INDEX(length), self.lanes)
        self.mask = None

    def _masked_loop(self, level, start, stop):
        """All of the loop with a computed mask, so that a long body is written once."""
        self.masked_level = level + 1
        self._loop(level, start, stop, self.lanes)
        self.masked_level, self.mask = None, None

    # Values

    def _value(self, entry):
        if isinstance(entry, Constant):
            return self.k.constant(entry.value, entry.dtype, 1) if entry.dtype else entry.value
        if isinstance(entry, Load):
            return self._load(entry)
        return self._apply(entry)

    def _address(self, buffer, start, steps, dtype):
        place = _INDEX(start)
        for loop, step in enumerate(steps):
            if step:
                move = self.counters[loop] if step == 1 else self.ir.mul(self.counters[loop], _INDEX(step))
                place = self.ir.add(place, move)
        return self.k.offset(self.pointers[id(buffer)], place, dtype)

    def _load(self, entry):
        where = self._address(entry.buffer, entry.start, entry.steps, entry.dtype)
        step = entry.steps[self.vector] if self.vector is not None else 0
        if self.lanes == 1 or step == 0:
            return self.k.load(where, entry.dtype, 1)
        if step == 1:
            return self.k.load_masked(where, self.mask, entry.dtype) if self.mask else self.k.load(where, entry.dtype)
        return self._gathered(where, step, entry.dtype)

    def _gathered(self, where, step, dtype):
        """Elements `step` apart; lanes outside the mask read the first element again."""
        found = ir.Constant(type_of(dtype, self.lanes), ir.Undefined)
        for lane in range(self.lanes):
            place = _INDEX(lane * step)
            if self.mask is not None:
                place = self.ir.select(self.ir.extract_element(self.mask, ir.IntType(32)(lane)), place, _INDEX(0))
            found = self.ir.insert_element(found, self.k.load(self.k.offset(where, place, dtype), dtype, 1), ir.IntType(32)(lane))
        return found

    def _apply(self, entry):
        node, op = entry.node, entry.node.op
        operands = [self.values[n] for n in entry.arguments]
        if op.name == "astype" or op.name in IDENTITIES:
            return self.k.convert(self._typed(operands[0], node.dtype.name), node.dtype.name)
        wanted = _operand_dtypes(node, operands)
        operands = [self._typed(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        operands = [None if x is None else self.k.convert(x, dtype) for x, dtype in zip(operands, wanted, strict=True)]
        if op.name == "where" and lanes_of(operands[0]) > 1:
            operands = [self.k.broadcast(x, lanes_of(operands[0])) for x in operands]
        return (op.emit or getattr(type(self.k), op.name, None) or _library(op.name))(self.k, *operands)

    def _typed(self, x, dtype):
        return x if x is None or isinstance(x, ir.Value) else self.k.constant(x, dtype, 1)

    def _check(self, holds):
        """Set the flag where a check fails in a lane that counts."""
        fails = self.k.bitwise_not(holds)
        if self.mask is not None and lanes_of(holds) > 1:
            fails = self.k.bitwise_and(fails, self.mask)
        with self.ir.if_then(self.k.any(fails), likely=False):
            self.ir.store(_INDEX(1), self.pointers[id(FLAG)])

    # Results

    def _store_plain(self):
        for store in self.box.stores:
            if store.combine is None:
                self._write(store, self.values[store.value])

    def _write(self, store, value):
        value = self.k.convert(self._typed(value, store.dtype), store.dtype)
        step = store.steps[self.vector] if self.vector is not None else 0
        where = self._address(store.buffer, store.start, store.steps, store.dtype)
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
            value = self.k.broadcast(self._typed(self.values[store.value], store.dtype), self.lanes)
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
            if self.partials:
                partial = self.pointers[id(self.partials[list(self.sums).index(number)])]
                self.k.store(value, self.k.offset(partial, self.chunk, store.dtype))
            else:
                self._write(store, value)


def _dtype(entry):
    return entry.node.dtype.name if isinstance(entry, Apply) else entry.dtype


def _library(name):
    return lambda k, *operands: getattr(k, name)(*operands)


def _operand_dtypes(node, operands):
    """What each operand is converted to before the op: masks stay masks, the others meet in one dtype."""
    name = node.op.name
    if name.startswith("logical_") or (name.startswith("bitwise_") and node.dtype.kind == "b"):
        return ["bool"] * len(operands)
    if name == "where":
        return ["bool", node.dtype.name, node.dtype.name]
    common = node.dtype.name
    if common == "bool":
        known = [x for x in operands if isinstance(x, ir.Value)]
        order = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")
        common = max((dtype_of(x) for x in known), key=order.index)
    return [common] * len(operands)
