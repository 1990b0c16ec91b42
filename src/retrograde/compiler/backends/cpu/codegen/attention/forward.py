"""Attention forward: for a block of queries, tile by tile, against one block of keys after the other.

Vectors run along queries, so that maxima and sums of rows are those of lanes, and keys and values are read where they lie,
a number at a time. The greatest product and the sum of each row are kept as blocks go by, as in Milakov and Gimelshein,
"Online normalizer calculation for softmax" (2018), and Dao et al., "FlashAttention" (2022).
"""

import math

from .. import emit, ir
from ..builder import Builder
from ..convolution.entry import Entry
from ..convolution.layout import heights
from ..emit import I64, at
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E
from .packing import Packing, clear, scatter
from .places import digits, matrix, rooms
from .softmax import power
from .tiles import Product, Tiles

_BUFFERS = ("query", "key", "value", "mask", "result", "sums", "scratch")


def write_forward(module, name, plan):
    """The entry that computes the blocks of queries of a chunk; its words are tasks, which are such blocks, and chunks."""
    entry = Entry(module, name, _BUFFERS, ("tasks", "chunks"), {None: plan.item, "mask": plan.mask_item})
    Walk(module, name, plan, entry).write()
    return entry.function


class Walk:
    """The entry under construction. Of a task: its matrices by name, its first query, and the tiles in scratch memory. Of all
    tasks: how many queries a matrix has, which is the last, and how many blocks these are.
    """

    def __init__(self, module, name, plan, entry):
        self.plan, self.entry, self.b = plan, entry, entry.builder
        key, value = plan.key, plan.value
        # Transposed products: keys are rows of the left operand and queries lanes of the right one. With a mask the sums begin
        # with what it adds, which has been laid in their place.
        self.scores = Product((key.row, key.column), plan.tile, plan.tile, plan.mask is not None)
        # Values are read along their columns, whatever their strides: the left operand is read a number at a time.
        self.means = Product((value.column, value.row), plan.tile, plan.tile, is_added=True)
        self.run, self.packing = Tiles(module, f"{name}_tile", plan).run, Packing(module, f"{name}_lay", plan)
        self.queries, self.results, self.weights, self.tops, self.totals = rooms(
            self.b, entry.pointers["scratch"], plan, entry.chunk)
        self.count, self.last, self.blocks = self._lengths()

    def _lengths(self):
        queries = self.plan.sizes.queries
        return I64(queries), I64(queries - 1), I64(self.plan.blocks)

    def write(self):
        """All tasks of the chunk."""
        b, plan = self.b, self.plan
        first, end = self.entry.share(self.entry.words["tasks"], self.entry.words["chunks"])
        with emit.loop(b, first, end) as task:
            self.number = b.sdiv(task.index, self.blocks)
            self._find_matrices()
            # Blocks of one matrix are neighbours among the tasks, so that a chunk meets the keys of one matrix again while they
            # are in cache.
            self.first = b.mul(b.srem(task.index, self.blocks), I64(plan.query_block))
            count = emit.minimum(b, plan.query_block, b.sub(self.count, self.first))
            self.tiles = b.sdiv(b.add(count, I64(plan.tile - 1)), I64(plan.tile))
            self._block(count)
        b.ret_void()

    def _find_matrices(self):
        plan, pointers = self.plan, self.entry.pointers
        self.places = digits(self.b, self.number, plan.sizes.batch)
        operands = {"query": plan.query, "key": plan.key, "value": plan.value, "mask": plan.mask}
        self.matrices = {
            label: matrix(self.b, pointers[label], plan.mask_item if label == "mask" else plan.item, self.places, operand)
            for label, operand in operands.items() if operand is not None}

    def _result(self):
        """Where the rows of the result are."""
        return matrix(self.b, self.entry.pointers["result"], self.plan.item, self.places, self.plan.result)

    def _block(self, count):
        b, plan = self.b, self.plan
        with emit.loop(b, 0, self.tiles) as tile:
            self._begin(tile.index)
        start, limit = self._seen(count)
        with emit.loop(b, start, limit, plan.key_block) as block:
            keys = emit.minimum(b, plan.key_block, b.sub(limit, block.index))
            with emit.loop(b, 0, self.tiles) as tile:
                seen = self._seen_by(tile.index, block.index, keys)
                with b.if_then(b.icmp_signed(">", seen, I64(0))):
                    self._meet(tile.index, block.index, seen)
        with emit.loop(b, 0, self.tiles) as tile:
            self._finish(tile.index)

    def _seen(self, count):
        """First and end of the keys that `count` queries see."""
        limit = I64(self.plan.sizes.keys)
        if self.plan.is_causal:
            # No query of the block sees a key behind the last of them: half of all blocks of keys are not met at all.
            limit = emit.minimum(self.b, limit, self.b.add(self.first, count))
        return 0, limit

    def _seen_by(self, tile, first_key, keys):
        """How many of some keys a tile sees, not above 0 if it is in front of them."""
        b = self.b
        if not self.plan.is_causal:
            return keys
        return emit.minimum(b, keys, b.sub(b.add(self._query(tile), I64(self.plan.tile)), first_key))

    def _query(self, tile):
        """The first query of a tile."""
        return self.b.add(self.first, self.b.mul(tile, I64(self.plan.tile)))

    def _room(self, part, tile, length):
        return at(self.b, part, self.plan.item, (tile, length * self.plan.tile))

    def _vector(self, part, j):
        return at(self.b, part, self.plan.item, j * self.plan.lanes)

    def _begin(self, tile):
        """Lay queries side by side, ready for powers of two; nothing has been seen yet."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        rows, target = (self._query(tile), self.last), self._room(self.queries, tile, sizes.depth)
        # Factors once for each query, in place of one for each weight, which are powers of two.
        self.packing.pack(b, self.matrices["query"], (plan.query.row, plan.query.column), rows, sizes.depth, target,
                          constant(plan.scale * LOG2_E, plan.vector))
        clear(b, plan, self._room(self.results, tile, sizes.width), sizes.width * plan.tile)
        clear(b, plan, self._room(self.totals, tile, 1), plan.tile)
        for j in range(plan.vectors):
            # So the first block of keys scales what is there by 2^-inf, which is 0, without a case of its own.
            emit.store(b, constant(-math.inf, plan.vector), self._vector(self._room(self.tops, tile, 1), j))

    def _meet(self, tile, first_key, keys):
        """Let a tile of queries see some keys."""
        self._score(tile, first_key, keys)
        self._weigh(tile, first_key, keys)
        self._average(tile, first_key, keys)

    def _score(self, tile, first_key, keys):
        """The products of a tile of queries with some keys."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        query, weights = self._query(tile), self.weights
        if plan.mask is not None:
            source = at(b, self.matrices["mask"], plan.mask_item, (first_key, plan.mask.column))
            # The mask lies where the products will be, since these are added to it.
            self.packing.pack_mask(b, source, (plan.mask.row, plan.mask.column), (query, self.last), keys, weights)
        source = at(b, self.matrices["key"], plan.item, (first_key, plan.key.row))
        self.run(b, self.scores, (source, self._room(self.queries, tile, sizes.depth), weights), keys, sizes.depth)
        if plan.is_causal:
            self._hide(query, first_key, keys)

    def _average(self, tile, first_key, keys):
        """Add the values of some keys by their weights."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        source = at(b, self.matrices["value"], plan.item, (first_key, plan.value.row))
        results, cuts = self._room(self.results, tile, sizes.width), heights(sizes.width, plan.rows)
        self.run(b, self.means, (source, self.weights, results), None, keys, cuts)

    def _hide(self, query, first_key, keys):
        """Take the keys after each query out of sight."""
        b = self.b
        # Keys up to the tile's first query are seen by all of its lanes, and left alone.
        start = emit.maximum(b, b.sub(b.add(query, I64(1)), first_key), 0)
        with emit.loop(b, start, keys) as key:
            # Key j is before a lane if j less the first query is at most the lane.
            self._show(key.index, "<=", b.sub(b.add(first_key, key.index), query))

    def _show(self, key, relation, number):
        """Let a key be seen by the lanes to which a number has this relation, and hide it from the others."""
        b, plan = self.b, self.plan
        number = Builder(b, plan.dtype, plan.lanes).broadcast(b.trunc(number, emit.I32))
        for j in range(plan.vectors):
            place = at(b, self.weights, plan.item, (key, plan.tile), j * plan.lanes)
            is_seen = b.icmp_signed(relation, number, lane_numbers(plan, j))
            emit.store(b, b.select(is_seen, emit.load(b, place, plan.vector), constant(-math.inf, plan.vector)), place)

    def _weigh(self, tile, first_key, keys):
        """Make weights of products, and take note of their sums; earlier results are brought to the same base."""
        b, plan = self.b, self.plan
        tops, totals = self._room(self.tops, tile, 1), self._room(self.totals, tile, 1)
        before = [emit.load(b, self._vector(tops, j), plan.vector) for j in range(plan.vectors)]
        top = self._greatest(before, keys)
        base = top
        if plan.can_hide_all:
            lowest = constant(-math.inf, plan.vector)
            # Where all keys so far are hidden, the greatest product is -inf, and -inf less itself would be NaN.
            base = [b.select(b.fcmp_ordered("==", t, lowest), emit.zeros(plan.vector), t) for t in top]
        # What earlier weights must be multiplied by, since they were taken relative to a lower maximum.
        factors = [power(b, plan, b.fsub(x, y)) for x, y in zip(before, base, strict=True)]
        sums = [b.fmul(emit.load(b, self._vector(totals, j), plan.vector), f) for j, f in enumerate(factors)]
        with emit.loop(b, 0, keys, 1, sums) as key:
            for j in range(plan.vectors):
                place = at(b, self.weights, plan.item, (key.index, plan.tile), j * plan.lanes)
                weight = power(b, plan, b.fsub(emit.load(b, place, plan.vector), base[j]))
                emit.store(b, weight, place)
                key.values[j] = b.fadd(key.values[j], weight)
        for part, vectors in ((tops, top), (totals, key.results)):
            for j, vector in enumerate(vectors):
                emit.store(b, vector, self._vector(part, j))
        # With the first keys there are no results yet, and a pass over them is saved.
        with b.if_then(b.icmp_signed(">", first_key, I64(0))):
            results = self._room(self.results, tile, plan.sizes.width)
            with emit.loop(b, 0, plan.sizes.width) as row:
                for j, factor in enumerate(factors):
                    place = at(b, results, plan.item, (row.index, plan.tile), j * plan.lanes)
                    emit.store(b, b.fmul(emit.load(b, place, plan.vector), factor), place)

    def _greatest(self, start, keys):
        """The greatest product of each query, four keys at a time."""
        b, plan = self.b, self.plan
        # Maxima of four keys are found as a tree before they meet the greatest one so far, which else would wait for each.
        whole = b.and_(keys, I64(-4))
        for first, end, step in ((I64(0), whole, 4), (whole, keys, 1)):
            with emit.loop(b, first, end, step, start) as key:
                for j in range(plan.vectors):
                    first_one = at(b, self.weights, plan.item, (key.index, plan.tile), j * plan.lanes)
                    found = [emit.load(b, at(b, first_one, plan.item, k * plan.tile), plan.vector) for k in range(step)]
                    while len(found) > 1:
                        found = [self._larger(x, y) for x, y in zip(found[::2], found[1::2], strict=True)]
                    key.values[j] = self._larger(found[0], key.values[j])
            start = key.results
        return start

    def _larger(self, x, y):
        # A NaN may get lost here, but not its weight, which is NaN again.
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def _finish(self, tile):
        """Divide by the sums and store."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        k = Builder(b, plan.dtype, plan.lanes)
        totals = [emit.load(b, self._vector(self._room(self.totals, tile, 1), j), plan.vector) for j in range(plan.vectors)]
        tops = [emit.load(b, self._vector(self._room(self.tops, tile, 1), j), plan.vector) for j in range(plan.vectors)]
        # The log of the sum of exponentials, to base e: that is what the op gives, and what the way back makes weights of.
        sums = [k.add(k.multiply(top, 1 / LOG2_E), k.log(total)) for top, total in zip(tops, totals, strict=True)]
        if plan.mask is not None:
            sees = [k.not_equal(total, 0) for total in totals]
            # A query that sees no key gives 0, not 0 / 0; with an infinite sum its weights on the way back are 2^-inf, that is
            # 0.
            totals = [k.where(one, total, 1) for one, total in zip(sees, totals, strict=True)]
            sums = [k.where(one, s, math.inf) for one, s in zip(sees, sums, strict=True)]
        # One division for each query; its numbers are multiplied.
        inverse = [k.divide(constant(1, plan.vector), total) for total in totals]
        rows, result = (self._query(tile), self.last), self._result()
        self.packing.unpack(b, self._room(self.results, tile, sizes.width), result, plan.result.row, rows, sizes.width, inverse)
        if plan.has_sums:
            to = at(b, self.entry.pointers["sums"], plan.item, (self.number, sizes.queries))
            for v in reversed(range(plan.vectors)):
                # Lanes behind the last query write to its place too, in reverse order, so that its own number is written last.
                lines = [emit.minimum(b, b.add(rows[0], I64(v * plan.lanes + lane)), rows[1]) for lane in range(plan.lanes)]
                scatter(b, sums[v], [at(b, to, plan.item, line) for line in lines])


def lane_numbers(plan, j):
    """The numbers of the lanes of vector `j` of a tile."""
    kind = emit.like(plan.vector, emit.I32)
    return ir.Constant(kind, [j * plan.lanes + lane for lane in range(plan.lanes)])
