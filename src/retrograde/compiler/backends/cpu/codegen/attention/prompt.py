"""Attention of a prompt to a cache: tiles of new positions against one block of keys after the other, in the cache and among
the new ones.

It is the forward pass of attention, but for where keys are: new position p of a text whose cache holds n sees the n keys there and
p + 1 new ones. What a position gets depends on its own text alone, to the last bit, however a prompt is cut in pieces: blocks begin
at multiples of their size, counted from the beginning of the text, and a block may have keys of both kinds.
"""

from .. import emit
from ..convolution.entry import Entry
from ..convolution.layout import heights
from ..emit import I64, at
from .forward import Walk
from .places import matrix

_BUFFERS = ("query", "key", "value", "keys", "values", "lengths", "result", "scratch")


def write_prompt(module, name, plan):
    """The entry that computes the blocks of positions of a chunk; its words are tasks, which are such blocks, and chunks."""
    entry = Entry(module, name, _BUFFERS, ("tasks", "chunks"), {None: plan.item, "lengths": I64})
    _Prompt(module, name, plan, entry).write()
    return entry.function


class _Prompt(Walk):
    """The entry under construction. Of a task also: how long its text is before the new positions."""

    def _find_matrices(self):
        b, plan = self.b, self.plan
        text, head = self.places
        shared = b.sdiv(head, I64(plan.group)) if plan.group > 1 else head
        pointers, item = self.entry.pointers, plan.item
        self.matrices = {"query": matrix(b, pointers["query"], item, self.places, plan.query)}
        for label, operand in (("key", plan.key), ("value", plan.value), ("keys", plan.cached), ("values", plan.cached)):
            self.matrices[label] = matrix(b, pointers[label], item, (text, shared), operand)
        length = b.load(at(b, pointers["lengths"], I64, text), typ=I64)
        # Never beyond the cache, whatever the lengths say.
        self.length = emit.minimum(b, emit.maximum(b, length, 0), I64(plan.longest))

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
        yield at(b, self.matrices[old], plan.item, (first_key, plan.cached.row)), I64(0), cached
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
