"""Attention backward: for a block of keys and values, tile by tile, against one block of queries after the other.

Weights are computed again from the sums of exponentials that the forward pass kept. Vectors run along keys: the slopes of
keys and values grow in tiles in scratch memory, those of queries in memory of the whole share of keys. See Dao,
"FlashAttention-2" (2023).
"""

import math

from ..builder import Builder
from ..convolution.entry import Entry, at
from ..convolution.layout import heights
from ..matmul import emit
from ..matmul.emit import I64
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E
from .forward import lane_numbers
from .packing import clear, pack, unpack
from .places import digits, matrix, rooms
from .softmax import masked, power
from .tiles import Product, each_height, from_target, from_zero, null, write_tiles

_READ = ("cotangent", "query", "key", "value", "mask", "sums", "means")
_WRITTEN = ("to_query", "to_key", "to_value", "scratch")


def write_backward(module, name, plan):
    """The entry that computes the shares of keys of a chunk; its words are tasks, which are such shares, and chunks."""
    entry = Entry(module, name, (*_READ, *_WRITTEN), ("tasks", "chunks"), {None: plan.item, "mask": plan.mask_item})
    _Backward(module, name, plan, entry).write()
    return entry.function


def _to_slopes(tile, i, j, value):
    """Weights times what is in the sums less the mean of their row: `more` holds weights, `rest` means."""
    b, plan = tile.builder, tile.plan
    mean = emit.load(b, at(b, tile.rest, plan.item, i * plan.means.row), plan.item)
    slope = b.fmul(tile.load(tile.more, i, j, plan.tile), b.fsub(value, emit.splat(b, mean, plan.lanes)))
    emit.store(b, slope, tile.place(tile.target, i, j))


class _Backward:
    """The entry under construction. Of a task: its matrices by name, and the tiles in scratch memory."""

    def __init__(self, module, name, plan, entry):
        self.plan, self.entry, self.b = plan, entry, entry.builder
        self._write_tiles(module, name)
        self.keys, self.values, self.rows, self.to_keys, self.to_values, self.weights, self.slopes = rooms(
            self.b, entry.pointers["scratch"], plan, entry.chunk)

    def _write_tiles(self, module, name):
        plan, sizes, pitch = self.plan, self.plan.sizes, self.plan.key_block
        query, cotangent = (plan.query.row, plan.query.column), (plan.cotangent.row, plan.cotangent.column)
        begin = from_zero if plan.mask is None else from_target
        self.scores = write_tiles(
            module, f"{name}_scores", plan, Product(query, plan.tile, plan.tile, sizes.depth), plan.heights, begin=begin)
        self.steep = write_tiles(
            module, f"{name}_steep", plan, Product(cotangent, plan.tile, pitch, sizes.width), plan.heights, end=_to_slopes)
        self.deals = {n: heights(n, plan.rows) for n in (sizes.depth, sizes.width)}
        self.add_values = write_tiles(
            module, f"{name}_values", plan, Product(cotangent[::-1], plan.tile, plan.tile),
            [h for h, _ in self.deals[sizes.width]], begin=from_target)
        self.add_keys = write_tiles(
            module, f"{name}_keys", plan, Product(query[::-1], pitch, plan.tile), [h for h, _ in self.deals[sizes.depth]],
            begin=from_target)
        vectors = plan.line // plan.lanes
        self.wide, self.narrow = vectors // plan.vectors, vectors % plan.vectors
        widths = [plan.vectors] * (self.wide > 0) + [self.narrow] * (self.narrow > 0)
        self.add_queries = write_tiles(
            module, f"{name}_queries", plan, Product((pitch, 1), plan.line, plan.line), plan.heights, widths, from_target)

    def write(self):
        """All tasks of the chunk."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        first, end = self.entry.share(self.entry.words["tasks"], self.entry.words["chunks"])
        with emit.loop(b, first, end) as task:
            self.number, share = b.sdiv(task.index, I64(plan.shares)), b.srem(task.index, I64(plan.shares))
            self.bases = {
                label: matrix(b, self.entry.pointers[label], self._item(label), digits(b, self.number, plan.batch), getattr(plan, label))
                for label in _READ if getattr(plan, label) is not None}
            size = plan.group * sizes.queries * plan.line
            count = math.prod(plan.batch)
            self.to_query = at(b, self.entry.pointers["to_query"], plan.item, (share, count * size), (self.number, size))
            clear(b, plan, self.to_query, size)
            with emit.loop(b, share, plan.blocks, plan.shares) as block:
                self._block(b.mul(block.index, I64(plan.key_block)))
        b.ret_void()

    def _item(self, label):
        return self.plan.mask_item if label == "mask" else self.plan.item

    def _block(self, key):
        """A block of keys from `key` on, against all queries."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        self.first_key = key
        count = emit.minimum(b, plan.key_block, b.sub(I64(sizes.keys), key))
        self.tiles = b.sdiv(b.add(count, I64(plan.tile - 1)), I64(plan.tile))
        with emit.loop(b, 0, self.tiles) as tile:
            self._begin(tile.index)
        start = key if plan.is_causal else I64(0)
        with emit.loop(b, 0, plan.group) as head:
            self._see_head(head.index)
            with emit.loop(b, start, sizes.queries, plan.query_block) as block:
                self._meet(block.index, emit.minimum(b, plan.query_block, b.sub(I64(sizes.queries), block.index)))
        with emit.loop(b, 0, self.tiles) as tile:
            self._finish(tile.index)

    def _see_head(self, head):
        """Let the matrices be those of one of the query heads that share keys."""
        b, plan = self.b, self.plan
        self.matrices = dict(self.bases)
        if plan.group > 1:
            for label in ("cotangent", "query", "mask", "sums", "means"):
                if label in self.bases:
                    step = getattr(plan, label).batch[-1]
                    self.matrices[label] = at(b, self.bases[label], self._item(label), (head, step))
        self.here = at(b, self.to_query, plan.item, (head, plan.sizes.queries * plan.line))

    def _room(self, part, tile, length):
        return at(self.b, part, self.plan.item, (tile, length * self.plan.tile))

    def _begin(self, tile):
        """Lay keys and values side by side, and keys in rows; their slopes are zero."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        first, last = b.add(self.first_key, b.mul(tile, I64(plan.tile))), I64(sizes.keys - 1)
        factor = constant(plan.scale * LOG2_E, plan.vector)
        for part, label, length, change in (
                (self.keys, "key", sizes.depth, lambda vector: b.fmul(vector, factor)), (self.values, "value", sizes.width, lambda v: v)):
            operand = getattr(plan, label)
            pack(b, plan, self.bases[label], (operand.row, operand.column), (first, last), length, self._room(part, tile, length), change)
        for part, length in ((self.to_keys, sizes.depth), (self.to_values, sizes.width)):
            clear(b, plan, self._room(part, tile, length), length * plan.tile)
        with emit.loop(b, 0, plan.tile) as row:
            number = emit.minimum(b, b.add(first, row.index), last)
            source = at(b, self.bases["key"], plan.item, (number, plan.key.row))
            self._lay_row(source, at(b, self._room(self.rows, tile, plan.line), plan.item, (row.index, plan.line)))

    def _lay_row(self, source, target):
        """A key times the scale, with zeros up to whole vectors."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        whole = sizes.depth - sizes.depth % plan.lanes if plan.key.column == 1 else 0
        for start in range(whole, plan.line, plan.lanes):
            emit.store(b, emit.zeros(plan.vector), at(b, target, plan.item, start))
        for end, start, width in ((whole, 0, plan.lanes), (sizes.depth, whole, 1)):
            kind = plan.vector if width > 1 else plan.item
            with emit.loop(b, start, end, width) as place:
                value = emit.load(b, at(b, source, plan.item, (place.index, plan.key.column)), kind)
                emit.store(b, b.fmul(value, constant(plan.scale, kind)), at(b, target, plan.item, place.index))

    def _meet(self, query, count):
        """A block of queries against the tiles of keys that it sees."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        tiles = self.tiles
        if plan.is_causal:
            last = b.sub(b.add(query, count), b.add(self.first_key, I64(1)))
            tiles = emit.minimum(b, tiles, b.add(b.sdiv(last, I64(plan.tile)), I64(1)))
        with emit.loop(b, 0, tiles) as tile:
            self._meet_tile(tile.index, query, count)
        depth = b.mul(tiles, I64(plan.tile))
        for height, row in each_height(b, count, plan.heights):
            left = at(b, self.slopes, plan.item, (row, plan.key_block))
            to = at(b, self.here, plan.item, (b.add(query, row), plan.line))
            with emit.loop(b, 0, self.wide) as part:
                place = b.mul(part.index, I64(plan.tile))
                arguments = [left, at(b, self.rows, plan.item, place), at(b, to, plan.item, place), null(), null(), depth]
                if self.wide:
                    b.call(self.add_queries[height, plan.vectors], arguments)
            if self.narrow:
                place = self.wide * plan.tile
                arguments = [left, at(b, self.rows, plan.item, place), at(b, to, plan.item, place), null(), null(), depth]
                b.call(self.add_queries[height, self.narrow], arguments)

    def _meet_tile(self, tile, query, count):
        """Weights and slopes of some queries and a tile of keys, and what these add to the slopes of keys and values."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        key, skipped = b.add(self.first_key, b.mul(tile, I64(plan.tile))), I64(0)
        slopes = at(b, self.slopes, plan.item, (tile, plan.tile))
        if plan.is_causal:
            skipped = b.sub(key, query)
            skipped = b.select(b.icmp_signed(">", skipped, I64(0)), skipped, I64(0))
            with emit.loop(b, 0, skipped) as row:
                clear(b, plan, at(b, slopes, plan.item, (row.index, plan.key_block)), plan.tile)
        first, rows = b.add(query, skipped), b.sub(count, skipped)
        slopes = at(b, slopes, plan.item, (skipped, plan.key_block))
        if plan.mask is not None:
            self._lay_mask(key, first, rows)
        for height, row in each_height(b, rows, plan.heights):
            left, to = self._row("query", b.add(first, row)), at(b, self.weights, plan.item, (row, plan.tile))
            b.call(self.scores[height, plan.vectors], [left, self._room(self.keys, tile, sizes.depth), to, null(), null(), I64(0)])
        self._weigh(key, first, rows)
        for height, row in each_height(b, rows, plan.heights):
            left, to = self._row("cotangent", b.add(first, row)), at(b, slopes, plan.item, (row, plan.key_block))
            weights, means = at(b, self.weights, plan.item, (row, plan.tile)), self._row("means", b.add(first, row))
            values = self._room(self.values, tile, sizes.width)
            b.call(self.steep[height, plan.vectors], [left, values, to, weights, means, I64(0)])
        for label, tiles, right, part, length in (
                ("cotangent", self.add_values, self.weights, self.to_values, sizes.width),
                ("query", self.add_keys, slopes, self.to_keys, sizes.depth)):
            self._add(self._row(label, first), getattr(plan, label).column, tiles, right, self._room(part, tile, length), length, rows)

    def _row(self, label, row):
        return at(self.b, self.matrices[label], self.plan.item, (row, getattr(self.plan, label).row))

    def _add(self, left, step, tiles, right, target, length, rows):
        b, plan, start = self.b, self.plan, 0
        for height, count in self.deals[length]:
            with emit.loop(b, 0, count) as part:
                place = b.add(b.mul(part.index, I64(height)), I64(start))
                to = at(b, target, plan.item, (place, plan.tile))
                b.call(tiles[height, plan.vectors], [at(b, left, plan.item, (place, step)), right, to, null(), null(), rows])
            start += height * count

    def _lay_mask(self, key, first, rows):
        """What the mask adds to the products of some queries with a tile of keys."""
        b, plan, item = self.b, self.plan, self.plan.mask_item
        change, last, step = masked(plan), I64(plan.sizes.keys - 1), plan.mask.column
        kind = emit.like(plan.vector, item)
        is_whole = b.icmp_signed("<=", b.add(key, I64(plan.tile - 1)), last)
        with emit.loop(b, 0, rows) as row:
            line = at(b, self.matrices["mask"], item, (b.add(first, row.index), plan.mask.row))
            to = at(b, self.weights, plan.item, (row.index, plan.tile))
            with b.if_else(b.and_(is_whole, emit.I1(step == 1))) as (then, otherwise):
                with then:
                    for j in range(plan.vectors):
                        found = emit.load(b, at(b, line, item, key, j * plan.lanes), kind)
                        emit.store(b, change(b, found), at(b, to, plan.item, j * plan.lanes))
                with otherwise, emit.loop(b, 0, plan.tile) as lane:
                    place = emit.minimum(b, b.add(key, lane.index), last)
                    number = change(b, emit.splat(b, emit.load(b, at(b, line, item, (place, step)), item), plan.lanes))
                    emit.store(b, b.extract_element(number, emit.I32(0)), at(b, to, plan.item, lane.index))

    def _weigh(self, key, first, rows):
        """Make weights of the products of some queries with a tile of keys."""
        b, plan = self.b, self.plan
        end = b.add(key, I64(plan.tile))
        is_cut = b.icmp_signed(">", end, I64(plan.sizes.keys))
        if plan.is_causal:
            is_cut = b.or_(is_cut, b.icmp_signed(">", b.sub(end, I64(1)), first))
        with b.if_else(is_cut) as (then, otherwise):
            for branch, has_limit in ((then, True), (otherwise, False)):
                with branch, emit.loop(b, 0, rows) as row:
                    query = b.add(first, row.index)
                    self._weigh_row(key, query, at(b, self.weights, plan.item, (row.index, plan.tile)), has_limit)

    def _weigh_row(self, key, query, weights, has_limit):
        b, plan = self.b, self.plan
        k = Builder(b, plan.dtype, plan.lanes)
        total = emit.splat(b, emit.load(b, self._row("sums", query), plan.item), plan.lanes)
        total = b.fmul(total, constant(LOG2_E, plan.vector))
        limit = I64(plan.sizes.keys)
        if plan.is_causal:
            limit = emit.minimum(b, limit, b.add(query, I64(1)))
        limit = k.broadcast(b.trunc(b.sub(limit, key), emit.I32))
        for j in range(plan.vectors):
            place = at(b, weights, plan.item, j * plan.lanes)
            weight = power(b, plan, b.fsub(emit.load(b, place, plan.vector), total))
            if has_limit:
                weight = b.select(b.icmp_signed("<", lane_numbers(plan, j), limit), weight, emit.zeros(plan.vector))
            emit.store(b, weight, place)

    def _finish(self, tile):
        """Store the slopes of a tile of keys and values."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        rows = b.add(self.first_key, b.mul(tile, I64(plan.tile))), I64(sizes.keys - 1)
        scale = constant(plan.scale, plan.vector)
        for part, label, length, change in (
                (self.to_keys, "to_key", sizes.depth, lambda vector, _: b.fmul(vector, scale)),
                (self.to_values, "to_value", sizes.width, lambda vector, _: vector)):
            target = at(b, self.entry.pointers[label], plan.item, (self.number, sizes.keys * length))
            unpack(b, plan, self._room(part, tile, length), target, length, rows, length, change)


def write_total(module, name, plan):
    """The entry that adds up the slopes of queries of all shares of keys. Its words are rows and chunks."""
    entry = Entry(module, name, ("shares", "result"), ("rows", "chunks"), {None: plan.item})
    b, depth = entry.builder, plan.sizes.depth
    size = math.prod(plan.sizes.batch) * plan.sizes.queries * plan.line
    first, end = entry.share(entry.words["rows"], entry.words["chunks"])
    with emit.loop(b, first, end) as row:
        source = at(b, entry.pointers["shares"], plan.item, (row.index, plan.line))
        target = at(b, entry.pointers["result"], plan.item, (row.index, depth))
        whole = depth - depth % plan.lanes
        for start, stop, kind, step in ((0, whole, plan.vector, plan.lanes), (whole, depth, plan.item, 1)):
            with emit.loop(b, start, stop, step) as place:
                total = emit.load(b, at(b, source, plan.item, place.index), kind)
                for share in range(1, plan.shares):
                    total = b.fadd(total, emit.load(b, at(b, source, plan.item, place.index, share * size), kind))
                emit.store(b, total, at(b, target, plan.item, place.index))
    b.ret_void()
    return entry.function
