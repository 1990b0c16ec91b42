"""Attention of a prompt to a cache: tiles of new positions against one block of keys after the other, in the cache and among
the new ones.

It is the forward pass of attention, but for where keys are: new position p of a text whose cache holds n sees the n keys there and
p + 1 new ones. What a position gets depends on its own text alone, to the last bit, however a prompt is cut in pieces: blocks begin
at multiples of their size, counted from the beginning of the text, and a block may have keys of both kinds.

How many positions are new, and how many a cache has, are words: prompts of all lengths share the code.
"""

from .. import emit
from ..convolution.entry import Entry
from ..convolution.layout import heights
from ..emit import I64, at
from .forward import Walk

_BUFFERS = ("query", "key", "value", "keys", "values", "lengths", "result", "scratch")


def write_prompt(module, name, plan):
    """The entry that computes the blocks of positions of a chunk; its words are tasks, which are such blocks, chunks, the number of
    new positions, and that of positions in a cache.
    """
    entry = Entry(module, name, _BUFFERS, ("tasks", "chunks", "new", "longest"), {None: plan.item, "lengths": I64})
    _Prompt(module, name, plan, entry).write()
    return entry.function


class _Prompt(Walk):
    """The entry under construction. Of a task also: how long its text is before the new positions."""

    def _lengths(self):
        count, block = self.entry.words["new"], self.plan.query_block
        return count, self.b.sub(count, I64(1)), self.b.sdiv(self.b.add(count, I64(block - 1)), I64(block))

    def _find_matrices(self):
        b, plan, (heads,), longest = self.b, self.plan, self.plan.sizes.batch, self.entry.words["longest"]
        self.text, self.head = b.sdiv(self.number, I64(heads)), b.srem(self.number, I64(heads))
        shared = b.sdiv(self.head, I64(plan.group)) if plan.group > 1 else self.head
        self.matrices = {
            "query": self._matrix("query", plan.query, self.count, self.head),
            "key": self._matrix("key", plan.key, self.count, shared),
            "value": self._matrix("value", plan.value, self.count, shared),
            "keys": self._matrix("keys", plan.key, longest, shared),
            "values": self._matrix("values", plan.value, longest, shared)}
        length = b.load(at(b, self.entry.pointers["lengths"], I64, self.text), typ=I64)
        # Never beyond the cache, whatever the lengths say.
        self.length = emit.minimum(b, emit.maximum(b, length, 0), longest)

    def _matrix(self, label, operand, positions, head):
        """Where the rows of a head of the task's text are in an array with so many positions of each text."""
        first = self.b.mul(self.text, positions)
        return at(self.b, self.entry.pointers[label], self.plan.item, (first, operand.row), (head, operand.batch[0]))

    def _result(self):
        return self._matrix("result", self.plan.result, self.count, self.head)

    def _seen(self, count):
        """First and end of the blocks of keys that `count` positions see, in positions of the text."""
        b, plan = self.b, self.plan
        first, start = b.add(self.length, self.first), I64(0)
        if plan.window is not None:
            # The block of the first key in the window of the first position.
            start = emit.maximum(b, b.sub(first, I64(plan.window - 1)), 0)
            start = b.sub(start, b.srem(start, I64(plan.key_block)))
        return start, b.add(first, count)

    def _seen_by(self, tile, first_key, keys):
        """How many of some keys the last position of a tile sees."""
        b = self.b
        end = b.add(b.add(self.length, self._query(tile)), I64(self.plan.tile))
        return emit.minimum(b, keys, b.sub(end, first_key))

    def _parts(self, first_key, keys, labels):
        """Keys or values of a block as (where they are, the place of the first in the block, how many): in the cache, and new."""
        b, plan = self.b, self.plan
        cached = emit.minimum(b, keys, emit.maximum(b, b.sub(self.length, first_key), 0))
        new = emit.maximum(b, b.sub(first_key, self.length), 0)
        old, fresh = labels
        yield at(b, self.matrices[old], plan.item, (first_key, plan.key.row)), I64(0), cached
        yield at(b, self.matrices[fresh], plan.item, (new, plan.key.row)), cached, b.sub(keys, cached)

    def _score(self, tile, first_key, keys):
        b, plan = self.b, self.plan
        queries = self._room(self.queries, tile, plan.sizes.depth)
        for source, place, count in self._parts(first_key, keys, ("keys", "key")):
            target = at(b, self.weights, plan.item, (place, plan.tile))
            self.run(b, self.scores, (source, queries, target), count, plan.sizes.depth)
        # From the first new position on.
        first_key = b.sub(first_key, self.length)
        self._hide(self._query(tile), first_key, keys)
        if plan.window is not None:
            self._hide_old(self._query(tile), first_key, keys)

    def _hide_old(self, query, first_key, keys):
        """Take the keys before the window of each position out of sight."""
        b, plan = self.b, self.plan
        # Keys from the window of the tile's last position on are seen by all lanes that are after them.
        end = emit.minimum(b, keys, b.sub(b.add(query, I64(plan.tile - plan.window)), first_key))
        with emit.loop(b, 0, emit.maximum(b, end, 0)) as key:
            # The window of a lane has key j if the lane is less than j less the first position, and the window.
            self._show(key.index, ">", b.add(b.sub(b.add(first_key, key.index), query), I64(plan.window)))

    def _average(self, tile, first_key, keys):
        b, plan = self.b, self.plan
        results, cuts = self._room(self.results, tile, plan.sizes.width), heights(plan.sizes.width, plan.rows)
        for source, place, count in self._parts(first_key, keys, ("values", "value")):
            weights = at(b, self.weights, plan.item, (place, plan.tile))
            self.run(b, self.means, (source, weights, results), None, count, cuts)
