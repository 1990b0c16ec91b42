"""Attention forward for one query, as when a text grows by one token: keys and values are read once, from end to end.

Vectors run along the numbers of a key and of a value. All products of the query lie in scratch memory.
"""

import math

from ..... import cost
from .. import emit
from ..builder import Builder
from ..convolution.entry import Entry
from ..emit import I64, at
from ..micro_kernel import lane_sums
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E
from .places import digits, matrix, rooms
from .softmax import masked, power

_BUFFERS = ("query", "key", "value", "mask", "result", "sums", "scratch")


def write_single(module, name, plan):
    """The entry that computes the queries of a chunk; its words are tasks, which are queries, and chunks."""
    entry = Entry(module, name, _BUFFERS, ("tasks", "chunks"), {None: plan.item, "mask": plan.mask_item})
    _Single(plan, entry).write()
    return entry.function


class _Single:
    """The entry under construction. Of a task: where its query, keys, values and mask are, and its weights in scratch memory."""

    def __init__(self, plan, entry):
        self.plan, self.entry, self.b = plan, entry, entry.builder
        self.k = Builder(self.b, plan.dtype, plan.lanes)
        self.query, self.weights = rooms(self.b, entry.pointers["scratch"], plan, entry.chunk)

    def write(self):
        """All tasks of the chunk."""
        b, plan = self.b, self.plan
        first, end = self.entry.share(self.entry.words["tasks"], self.entry.words["chunks"])
        with emit.loop(b, first, end) as task:
            places = digits(b, task.index, plan.sizes.batch)
            pointers = self.entry.pointers
            query = matrix(b, pointers["query"], plan.item, places, plan.query)
            self.key, self.value = (matrix(b, pointers[x], plan.item, places, getattr(plan, x)) for x in ("key", "value"))
            if plan.mask is not None:
                self._lay_mask(matrix(b, pointers["mask"], plan.mask_item, places, plan.mask))
            self._lay_query(query)
            with emit.loop(b, 0, plan.rounded, plan.lanes) as key:
                self._score(key.index)
            base, total = self._weigh()
            self._average(task.index, total)
            if plan.has_sums:
                self._store_sum(task.index, base, total)
        b.ret_void()

    def _lay_query(self, source):
        """The query times its factors, with zeros up to whole vectors."""
        b, plan = self.b, self.plan
        # The last vector first, so that what the query leaves of it is zero.
        emit.store(b, emit.zeros(plan.vector), at(b, self.query, plan.item, plan.line - plan.lanes))
        with emit.loop(b, 0, plan.sizes.depth) as place:
            number = emit.load(b, at(b, source, plan.item, (place.index, plan.query.column)), plan.item)
            number = b.fmul(number, constant(plan.scale * LOG2_E, plan.item))
            emit.store(b, number, at(b, self.query, plan.item, place.index))

    def _lay_mask(self, source):
        """What the mask adds, where the weights will be."""
        b, plan = self.b, self.plan
        with emit.loop(b, 0, plan.sizes.keys) as key:
            number = emit.load(b, at(b, source, plan.mask_item, (key.index, plan.mask.column)), plan.mask_item)
            number = masked(b, plan, emit.splat(b, number, plan.lanes))
            emit.store(b, b.extract_element(number, emit.I32(0)), at(b, self.weights, plan.item, key.index))

    def _score(self, first):
        """The products with a vector of keys; the last key stands for those after it."""
        b, plan = self.b, self.plan
        # Reads must stay inside of the array; weights of keys that are not there are made 0 below.
        keys = [emit.minimum(b, b.add(first, I64(lane)), plan.sizes.keys - 1) for lane in range(plan.lanes)]
        lines = [at(b, self.key, plan.item, (key, plan.key.row)) for key in keys]
        whole = plan.sizes.depth - plan.sizes.depth % plan.lanes
        with emit.loop(b, 0, whole, plan.lanes, [emit.zeros(plan.vector)] * plan.lanes) as place:
            place.values = self._multiplied(lines, place.index, place.values, None)
        sums = place.results
        if whole < plan.sizes.depth:
            mask = emit.lane_mask(b, I64(plan.sizes.depth - whole), plan.lanes)
            sums = self._multiplied(lines, I64(whole), sums, mask)
        # Sums of lanes for as many keys as one short vector of 16 bytes holds: fewer shuffles than one key at a time.
        group = 16 // emit.item_bytes(plan.item)
        for start in range(0, plan.lanes, group):
            found, place = lane_sums(b, sums[start : start + group], group), at(b, self.weights, plan.item, first, start)
            if plan.mask is not None:
                found = b.fadd(found, emit.load(b, place, found.type))
            emit.store(b, found, place)

    def _multiplied(self, lines, place, sums, mask):
        b, plan = self.b, self.plan
        query = emit.load(b, at(b, self.query, plan.item, place), plan.vector)
        keys = [emit.load(b, at(b, line, plan.item, place), plan.vector, mask) for line in lines]
        return [emit.multiply_add(b, query, key, s, plan.is_fused) for key, s in zip(keys, sums, strict=True)]

    def _weigh(self):
        """Make weights of the products; the answer is the greatest product, and the sum of the weights."""
        b, k, plan = self.b, self.k, self.plan
        lowest = constant(-math.inf, plan.vector)
        # 2^-inf is 0: keys that only fill the last vector weigh nothing.
        for key in range(plan.sizes.keys, plan.rounded):
            emit.store(b, constant(-math.inf, plan.item), at(b, self.weights, plan.item, key))
        with emit.loop(b, 0, plan.rounded, plan.lanes, [lowest]) as key:
            score = emit.load(b, at(b, self.weights, plan.item, key.index), plan.vector)
            key.values = [k.where(k.greater(score, key.values[0]), score, key.values[0])]
        top = k.reduce(lambda x, y: k.where(k.greater(x, y), x, y), key.results[0])
        if plan.mask is not None:
            top = k.where(k.equal(top, constant(-math.inf, plan.item)), constant(0, plan.item), top)
        base = emit.splat(b, top, plan.lanes)
        with emit.loop(b, 0, plan.rounded, plan.lanes, [emit.zeros(plan.vector)]) as key:
            place = at(b, self.weights, plan.item, key.index)
            weight = power(b, plan, b.fsub(emit.load(b, place, plan.vector), base))
            emit.store(b, weight, place)
            key.values = [b.fadd(key.values[0], weight)]
        return base, emit.splat(b, k.reduce(b.fadd, key.results[0]), plan.lanes)

    def _average(self, number, total):
        """The mean of the values by their weights, a few vectors of them at a time."""
        b, k, plan, width = self.b, self.k, self.plan, self.plan.sizes.width
        if plan.mask is not None:
            total = k.where(k.equal(total, 0), 1, total)
        result = at(b, self.entry.pointers["result"], plan.item, (number, width))
        for start in range(0, width, cost.CHAINS * plan.lanes):
            columns = range(start, min(start + cost.CHAINS * plan.lanes, width), plan.lanes)
            masks = [emit.lane_mask(b, I64(width - c), plan.lanes) if c + plan.lanes > width else None for c in columns]
            for column, value, mask in zip(columns, self._sums(columns, masks), masks, strict=True):
                emit.store(b, b.fdiv(value, total), at(b, result, plan.item, column), mask)

    def _sums(self, columns, masks):
        """The sums of some columns of the values, each times its weight: several keys at a time where columns are few."""
        b, plan = self.b, self.plan
        # A sum waits for the one before it; with few columns there are too few sums to fill the time, so that each is kept
        # several times.
        count = 2 ** (cost.CHAINS // len(columns)).bit_length() // 2
        whole = plan.sizes.keys - plan.sizes.keys % count
        sums = [emit.zeros(plan.vector)] * (count * len(columns))
        for first, end, step in ((0, whole, count), (whole, plan.sizes.keys, 1)):
            with emit.loop(b, first, end, step, sums) as key:
                for i in range(step):
                    weight = emit.load(b, at(b, self.weights, plan.item, key.index, i), plan.item)
                    weight = emit.splat(b, weight, plan.lanes)
                    line = at(b, self.value, plan.item, (key.index, plan.value.row), i * plan.value.row)
                    for j, (column, mask) in enumerate(zip(columns, masks, strict=True)):
                        value, place = emit.load(b, at(b, line, plan.item, column), plan.vector, mask), i * len(columns) + j
                        key.values[place] = emit.multiply_add(b, weight, value, key.values[place], plan.is_fused)
            sums = key.results
        while len(sums) > len(columns):
            half = len(sums) // 2
            sums = [b.fadd(x, y) for x, y in zip(sums[:half], sums[half:], strict=True)]
        return sums

    def _store_sum(self, number, base, total):
        b, k = self.b, self.k
        found = k.add(k.multiply(base, 1 / LOG2_E), k.log(total))
        if self.plan.mask is not None:
            found = k.where(k.equal(total, 0), math.inf, found)
        emit.store(b, k.lane(found, 0), at(b, self.entry.pointers["sums"], self.plan.item, number))

