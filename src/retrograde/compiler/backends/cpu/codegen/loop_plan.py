"""Planning a loop kernel: its vectors, its chunks, and which numbers it is handed at run time.

Kernels that differ in nothing but run-time numbers share their code: the lengths of long loops, where buffers start,
and constants that only scale.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from .....dtypes import name_of
from .... import cost
from ....index.box import Box, found_together
from ....index.elements import operation_key
from ....index.expression import Apply, Constant, Inside, Load, Select, arguments_of, depends_of, dtype_of_entry
from ....index.rounded import PRODUCTS
from ....run.failures import FLAG
from ....target import CACHE_LINE, ITEM_BYTES
from .loop_lanes import chosen_lanes
from .rolling import find_runs, taped
from .signs import Signs
from .vecmath.elements import BYTES, in_registers

#: The most numbers in a line of memory.
_LARGEST_LINE = CACHE_LINE // min(ITEM_BYTES.values())
#: A body with at least this many entries is searched for repetitions.
_LONG = 64
#: Room for one number of any dtype on a tape.
_TAPE_BYTES = 8
#: Loops up to this length are compiled for their length.
_SHORT = 16
#: Factors that the processor or the writer treats in a way of their own.
_PLAIN_FACTORS = frozenset([0, 0.5, 1, 2, -1, -2, -0.5])


class Partials:
    """Memory for the partial results of one reduction."""

    def __init__(self, count, dtype):
        self.nbytes, self.dtype = count * BYTES[dtype], dtype


class Tape:
    """Memory for the values of all rounds of runs, for one chunk."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


@dataclass(kw_only=True, eq=False)
class LoopPlan:
    """A box with all decisions made; what follows from these is found when it is asked for.

    vector        the loop that runs in vectors
    lanes         elements that one value of the body holds
    chunk_length  how much of the outermost loop one chunk takes; `chunks` depend on the box alone, so that results never
                  depend on threads
    stores_early  whether results are stored as soon as they are there, since registers cannot keep all of them to the end
    levels        of how many loops each entry is inside
    runs          repetitions among the entries
    written       the numbers of the entries that code is written for: of a run those of its first round
    rows          where the kernel is one pass of a nest, what is to be known of that
    row_loops     how many loops number its rows: one, or the two first
    numbers       what is known at run time only: int64 words, by name
    """

    box: Box
    vector: int | None
    lanes: int
    chunk_length: int
    chunks: int
    stores_early: bool
    levels: list
    runs: list
    written: list
    rows: object = None
    row_loops: int = 1
    numbers: dict = field(default_factory=dict)

    @property
    def work(self):
        """A rough measure of all that is to be done: see `Box.work`."""
        return self.box.work

    @property
    def folds(self):
        """What is stored of reductions."""
        return [store for store in self.box.stores if store.combine is not None]

    @cached_property
    def keeps_rows(self):
        """Whether the results of reductions are folded in memory, row after row."""
        return self.box.keeps_rows(self.vector)

    @cached_property
    def partials(self):
        """Where several chunks fold parts of the same results, those of each reduction, which `finish` combines in order."""
        if self.chunks < 2 or not self.box.is_folded_in_parts(self.vector):
            return ()
        return tuple([Partials(self.chunks * self.box.width, store.dtype) for store in self.folds])

    @cached_property
    def tapes(self):
        """The slots of each run that are kept for every round."""
        return taped(self.box.entries, self.runs, self.box.stores)

    @cached_property
    def tape(self):
        """Memory for the tapes, the same amount for each chunk; None if nothing is kept."""
        slots = sum(run.count * len(kept) for run, kept in zip(self.runs, self.tapes, strict=True))
        # Whole lines, so that chunks on two threads never write to one.
        return Tape(-(-slots * self.lanes * _TAPE_BYTES // CACHE_LINE) * CACHE_LINE) if slots else None

    @cached_property
    def buffers(self):
        """What the kernel reads and writes, in the order of its slots."""
        checks = [FLAG] if self.box.has_checks else []
        return (*_buffers(self.box), *self.partials, *checks, *([self.tape] if self.tape else []))

    def with_slots(self, buffers, numbers):
        """The same plan for a kernel that is handed just these buffers, in this order, and these numbers."""
        # An eager function has its operands in the order of its parameters, also those that nobody reads.
        plan = replace(self, numbers=numbers)
        plan.buffers = buffers
        return plan

    @property
    def crossing(self):
        """The loop inside the vector loop along which loads are transposed, if any."""
        return self.box.crossing(self.vector) if self.lanes > 1 else None

    @cached_property
    def partners(self):
        """For each entry whose partner on the same number is an entry too (see `PAIRS`), that one's number."""
        pairs = list(found_together([(i, self.box.entries[i]) for i in self.written], self._operands))
        return {**dict(pairs), **{second: first for first, second in pairs}}

    def _operands(self, number, entry):
        """What an entry is applied to, which within a run is told by where it comes from."""
        run = next((run for run in self.runs if run.start <= number < run.stop), None)
        return entry.arguments if run is None else (run, run.arguments[number - run.start])

    @cached_property
    def other_parts(self):
        """For each load of a part of complex numbers whose other part is loaded too, the number of that one."""
        found, known = {}, {}
        for i in self.items:
            e = self.box.entries[i] if isinstance(i, int) else None
            if isinstance(e, Load) and e.part is not None:
                # The same place in the same buffer, but for the part: one load of both is two vectors that lie in a row.
                key = id(e.buffer), e.start, e.steps, e.guard, e.chosen
                known[*key, e.part] = i
                other = known.get((*key, 1 - e.part))
                if other is not None:
                    found.update({i: other, other: i})
        return found

    @cached_property
    def signs(self):
        """What is known of the signs of entries."""
        return Signs(self.box.entries, self.runs)

    @cached_property
    def read_once(self):
        """The numbers of entries that nothing but one other entry reads."""
        readers = Counter(chain.from_iterable(map(arguments_of, self.box.entries)))
        stored = list(chain.from_iterable([store.reads for store in self.box.stores]))
        return frozenset(n for n, count in readers.items() if count == 1).difference(stored)

    @cached_property
    def fused(self):
        """The numbers of products that are computed with the sum that alone reads them, if it is a sum, and rounded once."""
        return frozenset([n for n in self.read_once if _is_product(self.box.entries[n]) and not self.box.entries[n].is_rounded])

    @cached_property
    def addresses(self):
        """Selections between numbers in memory that are the same along the vector loop: one address is chosen and one number read.
        By the number of the selection, how its place moves along that loop; and the entries that are nothing but such places.
        """
        entries, moves, places = self.box.entries, {}, set()
        # In runs an entry stands for those of all rounds, whose places differ.
        for number, e in enumerate(entries if not self.runs else ()):
            if isinstance(e, Select) and not (self.vector is not None and depends_of(entries[e.guard])[self.vector]):
                found = {self._move_of_place(n, e.dtype, moves) for n in (e.inside, e.outside)}
                if len(found) == 1 and None not in found:
                    moves[number] = found.pop()
                    places.update((e.inside, e.outside))
        return {number: move for number, move in moves.items() if number not in places}, places

    def _move_of_place(self, number, dtype, known):
        """How an entry that is nothing but a place in memory moves along the vector loop, 0 or 1; None for others."""
        entry = self.box.entries[number]
        if number not in self.read_once or dtype_of_entry(entry) != dtype:
            return None
        if number in known or not isinstance(entry, Load) or entry.chosen:
            return known.get(number)
        move = 0 if self.vector is None else entry.steps[self.vector]
        # With larger steps lanes lie apart, and each would need an address of its own anyway.
        return move if move in (0, 1) else None

    @property
    def items(self):
        """What the body consists of, in order: numbers of entries, and runs."""
        return _items(self.box, self.runs)

    @property
    def size(self):
        """How many entries are written."""
        return len(self.written)

    @property
    def words(self):
        """The run-time numbers in order."""
        return list(self.numbers.values())

    def key(self):
        """What the code depends on, and nothing else."""
        place = {id(buffer): i for i, buffer in enumerate(self.buffers)}
        box, vector = self.box, self.vector
        rest = None if vector is None else (box.lengths[vector] % self.lanes, box.lengths[vector] >= self.lanes)
        rest = rest if self.crossing is None else (*rest, box.lengths[self.crossing] % _LARGEST_LINE)
        # Long loops and buffers that begin anywhere share code; which starts are 0 is in the key, since those words are left out.
        lengths = tuple("n" if ("length", i) in self.numbers else n for i, n in enumerate(box.lengths))
        # Code that finishes partial sums is unrolled over chunks; all other code does not know how many there are.
        split = self.chunks if self.partials else self.is_cut
        entries = tuple(
            self._entry_key(item, place) if isinstance(item, int) else self._run_key(item, place) for item in self.items
        )
        stores = tuple([(place[id(s.buffer)], s.start != 0, s.steps, s.dtype, s.combine, s.part, s.reads, s.chosen)
                        for s in box.stores])
        width = box.width if self.keeps_rows else None
        loops = lengths, box.is_reduced, vector, rest, split, width, *(["paired"] if self.row_loops > 1 else [])
        # Positions in frames are of one block; those of later ones are not there yet.
        frames = None if self.rows is None else tuple([id(b) in self.rows.local for b in self.framed if b.dtype.kind == "i"])
        return ("loop", frames, self.lanes, loops, entries, stores, self.tapes)

    @property
    def is_cut(self):
        """Whether the outermost loop goes over one chunk's part of it. That may be all of it, so that kernels share their code
        whether they have one chunk or many.
        """
        outermost = self.box.order(self.vector)[0] if self.box.lengths else None
        return self.chunks > 1 or (("length", outermost) in self.numbers and not self.box.is_reduced[outermost])

    @property
    def framed(self):
        """The buffers of a pass of a nest: of each there may be one block in each frame."""
        return [] if self.rows is None else _buffers(self.box)

    def _run_key(self, run, place):
        inside = tuple(self._entry_key(run.start + k, place) for k in range(run.period))
        return run, inside

    def _entry_key(self, number, place):
        entry = self.box.entries[number]
        if isinstance(entry, Load):
            return place[id(entry.buffer)], entry.start != 0, entry.steps, entry.dtype, *entry[4:6], entry.part, entry.follows
        if isinstance(entry, (Inside, Select)):
            return entry
        if isinstance(entry, Constant):
            return (entry.value < 0 if ("constant", number) in self.numbers else repr(entry.value)), entry.dtype
        key = operation_key(entry.node.op), name_of(entry.node.dtype), entry.arguments, entry.steps
        return (*key, "rounded") if entry.is_rounded and number in self.read_once else key


class Rows(NamedTuple):
    """What a pass of a nest is told: it goes over `count` rows, of which a chunk is one `block`.

    `local` has, by the identity of a buffer of which there is only one block in each frame of `frame` bytes, the bytes of a block
    and its place there.
    """

    count: int
    block: int
    frame: int
    local: dict


def plan_loops(box, target, rows=None):
    """The plan of a box; `rows` if it is one pass of a nest."""
    # A pass of a nest keeps its rows as the first loop, whatever could be merged with it, since blocks are cut from that.
    box, row_loops = (box.merged(), 1) if rows is None else box.in_block_rows(rows.count)
    vector = box.vector_loop()
    box, levels, runs = _rolled(box, vector)
    written = [number for item in _items(box, runs) for number in _numbers_of(item)]
    lanes = chosen_lanes([box.entries[number] for number in written], box, vector, target, bool(runs))
    if rows is None:
        length, chunks = _chunks(box, vector, lanes)
    else:
        length, chunks = rows.block, -(-rows.count // rows.block)
        # A block may have fewer rows than a vector has lanes.
        lanes = min(lanes, length) if vector == 0 else lanes
    # What is stored at the end stays in registers until then: of many results there are not enough of them.
    kept = sum([lanes * BYTES[in_registers(store.dtype)] for store in box.stores if store.combine is None])
    plan = LoopPlan(
        box=box, vector=vector, lanes=lanes, chunk_length=length, chunks=chunks, levels=levels, runs=runs, written=written,
        rows=rows, row_loops=row_loops, stores_early=kept > target.registers * target.vector_bytes)
    plan.numbers.update(_numbers(plan))
    if plan.is_cut:
        plan.numbers["chunk_length"] = length
    return plan


def _rolled(box, vector):
    """The box with its entries in the order of the loops that they are inside, these levels, and the repetitions among them, where
    there are so many entries that the code of each would be too much; else as it is.
    """
    levels = _levels(box, vector)
    # The search for repetitions costs more than a short body's code.
    if len(box.entries) < _LONG:
        return box, levels, []
    box, levels = box.arranged(levels), sorted(levels)
    return box, levels, find_runs(box.entries, levels)


def _items(box, runs):
    at = 0
    for run in runs:
        yield from range(at, run.start)
        yield run
        at = run.stop
    yield from range(at, len(box.entries))


def _numbers_of(item):
    return (item,) if isinstance(item, int) else range(item.start, item.start + item.period)


def _levels(box, vector):
    """For each entry how many loops, from the outside in, it depends on."""
    loops, flags = box.order(vector), [depends_of(e) for e in box.entries]
    known = {f: max([at + 1 for at, loop in enumerate(loops) if f and f[loop]], default=0) for f in set(flags)}
    return [known[f] for f in flags]


def _numbers(plan):
    box = plan.box
    yield from ((("length", i), n) for i, n in enumerate(box.lengths) if n > _SHORT)
    if plan.tape is not None:
        yield "tape_bytes", plan.tape.nbytes
    for i, buffer in enumerate(plan.framed):
        moves = (plan.rows.frame, *plan.rows.local[id(buffer)]) if id(buffer) in plan.rows.local else (0, 0, 0)
        yield from zip((("frame", i), ("block", i), ("place", i)), moves, strict=True)
    starts = [("start", i, box.entries[i].start) for i in plan.written if isinstance(box.entries[i], Load)]
    starts += [("store", i, s.start) for i, s in enumerate(box.stores)]
    yield from (((kind, i), start) for kind, i, start in starts if start)
    yield from ((("constant", i), _bits(box.entries[i].value)) for i in _scales(box, plan.written))


def _is_product(entry):
    return isinstance(entry, Apply) and entry.node.op.name in PRODUCTS


def _scales(box, written):
    """The numbers of constants that are nothing but factors and divisors in the entries that are written."""
    scaling, others, entries = set(), {n for store in box.stores for n in store.reads}, [box.entries[i] for i in written]
    constants = {
        i for i, e in zip(written, entries, strict=True)
        if isinstance(e, Constant) and isinstance(e.value, (int, float)) and not isinstance(e.value, bool)
        and e.value not in _PLAIN_FACTORS
    }
    for entry in entries:
        # Only a factor or a divisor may be known as late as at run time: elsewhere a constant decides which code is best (a
        # power, a bound).
        if isinstance(entry, Apply) and not constants.isdisjoint(entry.arguments):
            is_scaling = entry.node.op.name in ("multiply", "divide") and entry.node.dtype.kind == "f"
            (scaling if is_scaling else others).update(entry.arguments)
    return sorted((constants & scaling) - others)


def _bits(number):
    return struct.unpack("<q", struct.pack("<d", float(number)))[0]


def _chunks(box, vector, lanes):
    """How much of the outermost loop one chunk takes, and how many chunks there are."""
    if not box.lengths:
        return 1, 1
    outermost = box.order(vector)[0]
    length = box.lengths[outermost]
    # By the work alone and never by the number of threads: sums in parts round by how they are cut.
    wanted = min(cost.LOOPS.chunks(box.work), length)
    # What is folded in order cannot be had in parts at all.
    if wanted < 2 or (box.has_order and box.is_folded_in_parts(vector)):
        return length, 1
    step = -(-length // wanted)
    if outermost == vector:
        # Whole vectors, so that only the last chunk has a rest, and no two threads write to one vector.
        step = -(-step // lanes) * lanes
    return step, -(-length // step)


def _buffers(box):
    found = {}
    for part in (*[e for e in box.entries if isinstance(e, Load)], *box.stores):
        found.setdefault(id(part.buffer), part.buffer)
    return list(found.values())
