"""Attention backward: for a block of keys and values, tile by tile, against one block of queries after the other.

Weights are computed again from the sums of exponentials that the forward pass kept. Vectors run along keys: the slopes of
keys and values grow in tiles in scratch memory, those of queries in memory of the whole share of keys. See Dao,
"FlashAttention-2" (2023).
"""

import math

from .. import emit
from ..convolution.entry import Entry
from ..convolution.layout import heights
from ..emit import I64, at
from ..vecmath.elements import constant
from ..vecmath.exponential import LOG2_E
from .forward import lane_numbers
from .packing import Packing, clear
from .places import digits, matrix, rooms
from .softmax import masked, power
from .tiles import Product, Tiles

_READ = ("cotangent", "query", "key", "value", "mask", "sums", "means")
_WRITTEN = ("to_query", "to_key", "to_value", "scratch")


def write_backward(module, name, plan):
    """The entry that computes the shares of keys of a chunk; its words are tasks, which are such shares, and chunks."""
    entry = Entry(module, name, (*_READ, *_WRITTEN), ("tasks", "chunks"), {None: plan.item, "mask": plan.mask_item})
    _Backward(module, name, plan, entry).write()
    return entry.function


class _Backward:
    """The entry under construction. Of a task: its matrices by name, and the tiles in scratch memory."""

    def __init__(self, module, name, plan, entry):
        self.plan, self.entry, self.b = plan, entry, entry.builder
        query, cotangent = [(operand.row, operand.column) for operand in (plan.query, plan.cotangent)]
        # Slopes of the products of a block of queries are kept for all tiles of keys at once, since those of queries are sums
        # over these.
        pitch = plan.key_block
        self.scores = Product(query, plan.tile, plan.tile, plan.mask is not None)
        # With the values: what the weights' own cotangents are.
        self.steep = Product(cotangent, plan.tile, pitch, is_added=False)
        # Strides the other way round: a product with the transposed matrix, without a copy of it.
        self.add_values = Product(cotangent[::-1], plan.tile, plan.tile, is_added=True)
        self.add_keys = Product(query[::-1], pitch, plan.tile, is_added=True)
        self.add_queries = Product((pitch, 1), plan.line, plan.line, is_added=True)
        self.products, self.packing = Tiles(module, f"{name}_tile", plan), Packing(module, f"{name}_lay", plan)
        self.keys, self.values, self.rows, self.to_keys, self.to_values, self.weights, self.slopes = rooms(
            self.b, entry.pointers["scratch"], plan, entry.chunk)

    def write(self):
        """All tasks of the chunk."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        first, end = self.entry.share(self.entry.words["tasks"], self.entry.words["chunks"])
        with emit.loop(b, first, end) as task:
            self.number, share = b.sdiv(task.index, I64(plan.shares)), b.srem(task.index, I64(plan.shares))
            places, given = digits(b, self.number, plan.batch), [x for x in _READ if getattr(plan, x) is not None]
            pointers = self.entry.pointers
            self.bases = {x: matrix(b, pointers[x], self._item(x), places, getattr(plan, x)) for x in given}
            # Each share of keys has slopes of all queries to itself: shares run at the same time, and are added up in order
            # afterwards.
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
        # Queries before the first key of the block see none of it.
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
        # Heads that share keys are met one after the other by the same task, which alone adds to the slopes of these keys.
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
        for part, label, length, factor in (
                (self.keys, "key", sizes.depth, plan.scale * LOG2_E), (self.values, "value", sizes.width, 1.0)):
            operand = getattr(plan, label)
            self.packing.pack(b, self.bases[label], (operand.row, operand.column), (first, last), length,
                              self._room(part, tile, length), constant(factor, plan.vector))
        for part, length in ((self.to_keys, sizes.depth), (self.to_values, sizes.width)):
            clear(b, plan, self._room(part, tile, length), length * plan.tile)
        # The keys in rows as well: vectors of the slopes of a query run along the numbers of a key.
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
        b, plan = self.b, self.plan
        tiles = self.tiles
        if plan.is_causal:
            last = b.sub(b.add(query, count), b.add(self.first_key, I64(1)))
            # Up to the tile that the last of these queries sees.
            tiles = emit.minimum(b, tiles, b.add(b.sdiv(last, I64(plan.tile)), I64(1)))
        with emit.loop(b, 0, tiles) as tile:
            self._meet_tile(tile.index, query, count)
        # One product over all tiles of keys, rather than a sum read and written for each.
        depth = b.mul(tiles, I64(plan.tile))
        to = at(b, self.here, plan.item, (query, plan.line))
        for column in range(0, plan.line, plan.tile):
            places = self.slopes, at(b, self.rows, plan.item, column), at(b, to, plan.item, column)
            vectors = min(plan.vectors, (plan.line - column) // plan.lanes)
            self.products.run(b, self.add_queries, places, count, depth, vectors=vectors)

    def _meet_tile(self, tile, query, count):
        """Weights and slopes of some queries and a tile of keys, and what these add to the slopes of keys and values."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        key, skipped = b.add(self.first_key, b.mul(tile, I64(plan.tile))), I64(0)
        slopes = at(b, self.slopes, plan.item, (tile, plan.tile))
        if plan.is_causal:
            # Queries of the block before the first key of the tile: no weights, but their slopes are read with the whole block,
            # so they must be 0.
            skipped = emit.maximum(b, b.sub(key, query), 0)
            with emit.loop(b, 0, skipped) as row:
                clear(b, plan, at(b, slopes, plan.item, (row.index, plan.key_block)), plan.tile)
        first, rows = b.add(query, skipped), b.sub(count, skipped)
        slopes = at(b, slopes, plan.item, (skipped, plan.key_block))
        if plan.mask is not None:
            self._lay_mask(key, first, rows)
        run, left, above = self.products.run, self._row("query", first), self._row("cotangent", first)
        run(b, self.scores, (left, self._room(self.keys, tile, sizes.depth), self.weights), rows, sizes.depth)
        run(b, self.steep, (above, self._room(self.values, tile, sizes.width), slopes), rows, sizes.width)
        self._weigh(key, first, rows, slopes)
        to_values, to_keys = self._room(self.to_values, tile, sizes.width), self._room(self.to_keys, tile, sizes.depth)
        run(b, self.add_values, (above, self.weights, to_values), None, rows, heights(sizes.width, plan.rows))
        run(b, self.add_keys, (left, slopes, to_keys), None, rows, heights(sizes.depth, plan.rows))

    def _row(self, label, row):
        return at(self.b, self.matrices[label], self.plan.item, (row, getattr(self.plan, label).row))

    def _lay_mask(self, key, first, rows):
        """What the mask adds to the products of some queries with a tile of keys."""
        b, plan, item = self.b, self.plan, self.plan.mask_item
        last, step = I64(plan.sizes.keys - 1), plan.mask.column
        kind = emit.like(plan.vector, item)
        # A mask may end with the last key: a vector must not read behind it.
        is_whole = b.icmp_signed("<=", b.add(key, I64(plan.tile - 1)), last)
        with emit.loop(b, 0, rows) as row:
            line = at(b, self.matrices["mask"], item, (b.add(first, row.index), plan.mask.row))
            to = at(b, self.weights, plan.item, (row.index, plan.tile))
            with b.if_else(b.and_(is_whole, emit.I1(step == 1))) as (then, otherwise):
                with then:
                    for j in range(plan.vectors):
                        found = emit.load(b, at(b, line, item, key, j * plan.lanes), kind)
                        emit.store(b, masked(b, plan, found), at(b, to, plan.item, j * plan.lanes))
                with otherwise, emit.loop(b, 0, plan.tile) as lane:
                    place = emit.minimum(b, b.add(key, lane.index), last)
                    number = masked(b, plan, emit.splat(b, emit.load(b, at(b, line, item, (place, step)), item), plan.lanes))
                    emit.store(b, b.extract_element(number, emit.I32(0)), at(b, to, plan.item, lane.index))

    def _weigh(self, key, first, rows, slopes):
        """Make weights of the products of some queries with a tile of keys, and slopes of what they are to be multiplied by."""
        b, plan = self.b, self.plan
        end = b.add(key, I64(plan.tile))
        # Most tiles are seen whole: the comparison of each lane is in a loop of its own, for the others.
        is_cut = b.icmp_signed(">", end, I64(plan.sizes.keys))
        if plan.is_causal:
            is_cut = b.or_(is_cut, b.icmp_signed(">", b.sub(end, I64(1)), first))
        with b.if_else(is_cut) as (then, otherwise):
            for branch, has_limit in ((then, True), (otherwise, False)):
                with branch, emit.loop(b, 0, rows) as row:
                    weights = at(b, self.weights, plan.item, (row.index, plan.tile))
                    self._weigh_row(b.add(first, row.index), weights, at(b, slopes, plan.item, (row.index, plan.key_block)),
                                    key if has_limit else None)

    def _weigh_row(self, query, weights, slopes, key):
        """The weights of a query and its slopes; `key` is the first one of the tile where it does not see all of it."""
        b, plan = self.b, self.plan
        total, mean = [emit.splat(b, emit.load(b, self._row(label, query), plan.item), plan.lanes) for label in ("sums", "means")]
        # The sums are logs to base e, weights are powers of two.
        total = b.fmul(total, constant(LOG2_E, plan.vector))
        for j in range(plan.vectors):
            here, there = [at(b, part, plan.item, j * plan.lanes) for part in (weights, slopes)]
            weight = power(b, plan, b.fsub(emit.load(b, here, plan.vector), total))
            if key is not None:
                weight = b.select(self._is_seen(query, key, j), weight, emit.zeros(plan.vector))
            emit.store(b, weight, here)
            # The derivative of softmax: p (g - mean of g by p), where that mean was found beforehand as the product of result
            # and cotangent.
            emit.store(b, b.fmul(weight, b.fsub(emit.load(b, there, plan.vector), mean)), there)

    def _is_seen(self, query, key, j):
        """Which lanes of a vector of a tile of keys are keys that a query sees."""
        b, plan = self.b, self.plan
        limit = I64(plan.sizes.keys)
        if plan.is_causal:
            limit = emit.minimum(b, limit, b.add(query, I64(1)))
        limit = emit.splat(b, b.trunc(b.sub(limit, key), emit.I32), plan.lanes)
        return b.icmp_signed("<", lane_numbers(plan, j), limit)

    def _finish(self, tile):
        """Store the slopes of a tile of keys and values."""
        b, plan, sizes = self.b, self.plan, self.plan.sizes
        rows = b.add(self.first_key, b.mul(tile, I64(plan.tile))), I64(sizes.keys - 1)
        for part, label, length, factor in (
                (self.to_keys, "to_key", sizes.depth, plan.scale), (self.to_values, "to_value", sizes.width, 1.0)):
            target = at(b, self.entry.pointers[label], plan.item, (self.number, sizes.keys * length))
            factors = [constant(factor, plan.vector)] * plan.vectors
            self.packing.unpack(b, self._room(part, tile, length), target, length, rows, length, factors)


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
                # From the first share to the last, whoever was ready first: the same sum for any number of threads.
                total = emit.load(b, at(b, source, plan.item, place.index), kind)
                for share in range(1, plan.shares):
                    total = b.fadd(total, emit.load(b, at(b, source, plan.item, place.index, share * size), kind))
                emit.store(b, total, at(b, target, plan.item, place.index))
    b.ret_void()
    return entry.function
