"""Attention of few positions to a cache: for each the mean of the values before it, in the cache and among the new ones.

The heads of a query that share keys are computed together, key by key; vectors run along the numbers of a head. What a position
gets depends on its own text alone, to the last bit: every sum is taken key by key, in order.
"""

import math
from dataclasses import dataclass

from ..... import cost
from .. import emit
from ..builder import Builder
from ..emit import I64
from ..entry import Entry
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E
from ..vectors import InVectors
from .softmax import power

#: So many sums of values are kept in registers at once.
_SUMS = 12


@dataclass(eq=False, repr=False)
class CachedPlan(InVectors):
    """Attention of `new` positions of each of `batch` texts; `group` heads share each of the `shared` ones, of `size` numbers."""

    lanes: int
    is_fused: bool
    group: int
    size: int
    scale: float
    window: int | None
    batch: int
    new: int
    longest: int
    shared: int

    dtype = "float32"

    @property
    def key(self):
        """What the code depends on."""
        return "cached attention", self.lanes, self.is_fused, self.group, self.size, self.scale, self.window

    @property
    def tasks(self):
        """Positions of texts, by shared heads."""
        return self.batch * self.new * self.shared

    @property
    def step(self):
        """How many tasks a chunk has."""
        return cost.CACHED_ATTENTION.share(self.tasks, self.tasks * self.group * self.size * self.longest)

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.tasks // self.step)

    @property
    def line(self):
        """The room for the weights of one head, in whole vectors."""
        return -(-(self.longest + self.new) // self.lanes) * self.lanes + self.lanes

    @property
    def room(self):
        """The numbers of scratch memory of a chunk."""
        return self.group * self.line

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.new, self.longest, self.shared, self.tasks, self.step, self.line


def write_cached(module, name, plan):
    """Add the function of a plan to `module`; its slots are the operands, the result, scratch memory, and the words."""
    _Writer(Entry(module, name), plan).write()


class _Writer:
    def __init__(self, entry, plan):
        self.plan, self.b, self.chunk = plan, entry.builder, entry.chunk
        self.query, self.key, self.value, self.keys, self.values = (entry.pointer(i) for i in range(5))
        self.lengths, self.result, scratch = (entry.pointer(i) for i in range(5, 8))
        self.new, self.longest, self.shared, self.tasks, self.step, self.line = (entry.word(8 + i) for i in range(6))
        self.k = Builder(self.b, plan.dtype, plan.lanes)
        room = self.b.mul(self.line, I64(plan.group))
        self.weights = emit.address(self.b, scratch, self.b.mul(self.chunk, room), plan.item)

    def write(self):
        """All tasks of the chunk."""
        b = self.b
        first = b.mul(self.chunk, self.step)
        with emit.loop(b, first, emit.minimum(b, b.add(first, self.step), self.tasks)) as task:
            self._task(task.index)
        b.ret_void()

    def _task(self, task):
        """One shared head at one new position of one text."""
        b, plan = self.b, self.plan
        head, place = b.srem(task, self.shared), b.sdiv(task, self.shared)
        text, new = b.sdiv(place, self.new), b.srem(place, self.new)
        length = b.load(emit.address(b, self.lengths, text, I64), typ=I64)
        # Never beyond the cache, whatever the lengths say.
        length = emit.minimum(b, emit.maximum(b, length, 0), self.longest)
        first = emit.maximum(b, b.sub(b.add(length, new), I64(plan.window - 1)), 0) if plan.window is not None else I64(0)
        in_cache, in_new = emit.maximum(b, b.sub(length, first), 0), emit.maximum(b, b.sub(first, length), 0)
        count = b.sub(b.add(b.add(length, new), I64(1)), first)
        queries = self._row(self.query, place, head, plan.group)
        # (where keys and values begin, how many there are, where their weights are)
        cached = b.add(b.mul(text, self.longest), first), in_cache, I64(0)
        fresh = b.add(b.mul(text, self.new), in_new), b.sub(b.add(new, I64(1)), in_new), in_cache
        for source, part in ((self.keys, cached), (self.key, fresh)):
            self._score(queries, source, part, head)
        totals = [self._weigh(head_number, count) for head_number in range(plan.group)]
        result = self._row(self.result, place, head, plan.group)
        self._average(result, (cached, fresh), head, totals)

    def _row(self, array, place, head, heads=1):
        """Where the numbers of a shared head, or of its group, begin at a place of an array."""
        b = self.b
        row = b.add(b.mul(place, self.shared), head)
        return emit.address(b, array, b.mul(row, I64(heads * self.plan.size)), self.plan.item)

    def _vector(self, pointer, place):
        return emit.load(self.b, emit.address(self.b, pointer, place, self.plan.item), self.plan.vector)

    def _weight_at(self, number, place):
        """Where the weight of a head in the group is."""
        where = place if not number else self.b.add(self.b.mul(self.line, I64(number)), place)
        return emit.address(self.b, self.weights, where, self.plan.item)

    def _score(self, queries, source, part, head):
        """The products of the group's queries with some keys, to base 2."""
        b, plan, (start, count, before) = self.b, self.plan, part
        with emit.loop(b, 0, count) as key:
            line = self._row(source, b.add(start, key.index), head)
            vectors = [self._vector(line, place) for place in range(0, plan.size, plan.lanes)]
            for number in range(plan.group):
                total = emit.zeros(plan.vector)
                for i, vector in enumerate(vectors):
                    query = self._vector(queries, number * plan.size + i * plan.lanes)
                    total = emit.multiply_add(b, vector, query, total, plan.is_fused)
                score = b.fmul(self.k.reduce(b.fadd, total), constant(plan.scale * LOG2_E, plan.item))
                emit.store(b, score, self._weight_at(number, b.add(before, key.index)))

    def _weigh(self, number, count):
        """Make weights of the products of a head; the answer is their sum."""
        b, k, plan = self.b, self.k, self.plan
        lowest = constant(-math.inf, plan.vector)
        # 2^-inf is 0: what only fills the last vector weighs nothing.
        emit.store(b, lowest, self._weight_at(number, count))
        with emit.loop(b, 0, count, plan.lanes, [lowest]) as place:
            score = emit.load(b, self._weight_at(number, place.index), plan.vector)
            place.values = [k.where(k.greater(score, place.values[0]), score, place.values[0])]
        top = emit.splat(b, k.reduce(lambda x, y: k.where(k.greater(x, y), x, y), place.results[0]), plan.lanes)
        with emit.loop(b, 0, count, plan.lanes, [emit.zeros(plan.vector)]) as place:
            where = self._weight_at(number, place.index)
            weight = power(b, plan, b.fsub(emit.load(b, where, plan.vector), top))
            emit.store(b, weight, where)
            place.values = [b.fadd(place.values[0], weight)]
        return k.reduce(b.fadd, place.results[0])

    def _average(self, result, parts, head, totals):
        """The means of the values by the weights of each head, some columns at a time."""
        b, plan = self.b, self.plan
        wide = max(_SUMS // plan.group, 1) * plan.lanes
        for start in range(0, plan.size, wide):
            columns = range(start, min(start + wide, plan.size), plan.lanes)
            sums = [emit.zeros(plan.vector)] * (plan.group * len(columns))
            for source, part in zip((self.values, self.value), parts, strict=True):
                sums = self._summed(source, part, head, columns, sums)
            for number, total in enumerate(totals):
                share = emit.splat(b, b.fdiv(constant(1.0, plan.item), total), plan.lanes)
                for i, column in enumerate(columns):
                    found = b.fmul(sums[number * len(columns) + i], share)
                    emit.store(b, found, emit.address(b, result, number * plan.size + column, plan.item))

    def _summed(self, source, part, head, columns, sums):
        b, plan, (start, count, before) = self.b, self.plan, part
        with emit.loop(b, 0, count, 1, sums) as key:
            line = self._row(source, b.add(start, key.index), head)
            vectors = [self._vector(line, column) for column in columns]
            for number in range(plan.group):
                weight = emit.load(b, self._weight_at(number, b.add(before, key.index)), plan.item)
                weight = emit.splat(b, weight, plan.lanes)
                for i, vector in enumerate(vectors):
                    at = number * len(columns) + i
                    key.values[at] = emit.multiply_add(b, weight, vector, key.values[at], plan.is_fused)
        return key.results
