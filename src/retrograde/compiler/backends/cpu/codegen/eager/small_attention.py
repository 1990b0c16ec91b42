"""Small kernels of attention, forward and back, for few queries and keys; called as those of `small_kernels`.

One query after the other: its products with all keys that it sees, their softmax, and what comes of it.
"""

from .. import emit
from ..builder import Builder
from ..emit import I64
from .small_kernels import Kernel

_SIZES = ("batch", "queries", "keys", "depth", "width", "is_causal")


class _Queries(Kernel):
    """A kernel that goes through the queries of all matrices, with vectors along the numbers of a query, of a value, or keys."""

    def __init__(self, module, name, dtype, pointers):
        super().__init__(module, name, dtype, pointers, _SIZES)
        self.lanes = module.target.lanes(dtype)
        self.vector = Builder(self.ir, dtype, self.lanes, inline="noinline")
        self.kind = self.vector.constant(0.0).type
        with self.ir.goto_entry_block():
            self.slot = self.ir.alloca(self.kind)

    def along(self, length, body):
        """Call `body(place, mask)` for each vector of a line of numbers."""
        b = self.ir
        whole = b.sub(length, b.srem(length, I64(self.lanes)))
        with emit.loop(b, 0, whole, self.lanes) as place:
            body(place.index, None)
        with b.if_then(b.icmp_signed("<", whole, length)):
            body(whole, self.vector.first_lanes(b.sub(length, whole)))

    def vector_at(self, pointer, place, mask, other=0.0):
        """The numbers at a place, with `other` in lanes behind the end of the line."""
        where = self.vector.offset(pointer, place)
        if mask is None:
            return self.vector.load(where)
        found = self.vector.load_masked(where, mask)
        return found if other == 0.0 else self.vector.where(mask, found, other)

    def put(self, value, pointer, place, mask):
        """Write a vector."""
        where = self.vector.offset(pointer, place)
        if mask is None:
            self.vector.store(value, where)
        else:
            self.vector.store_masked(value, where, mask)

    def folded(self, length, combine, start, value):
        """What `value(place, mask)` comes to along a line."""
        b = self.ir
        b.store(self.vector.constant(start), self.slot)
        self.along(length, lambda place, mask: b.store(combine(b.load(self.slot, typ=self.kind), value(place, mask)), self.slot))
        return self.vector.reduce(combine, b.load(self.slot, typ=self.kind))

    def dot(self, x, at_x, y, at_y, length):
        """The product of two lines of numbers."""
        k, b = self.vector, self.ir
        return self.folded(length, k.add, 0.0, lambda place, mask: k.multiply(
            self.vector_at(x, b.add(at_x, place), mask), self.vector_at(y, b.add(at_y, place), mask)))

    def add_times(self, factor, x, at_x, out, at_out, length):
        """Add a line of numbers, times a factor, to another."""
        k, b = self.vector, self.ir

        def body(place, mask):
            more = k.multiply(self.vector_at(x, b.add(at_x, place), mask), factor)
            to = b.add(at_out, place)
            self.put(k.add(self.vector_at(out, to, mask), more), out, to, mask)

        self.along(length, body)

    def clear(self, pointer, place, length):
        """Fill a line with zeros."""
        zero = self.vector.constant(0.0)
        self.along(length, lambda at, mask: self.put(zero, pointer, self.ir.add(place, at), mask))

    def each(self, body, before):
        """Call `before(first key, first of all)` for each matrix, then `body(query, first key, keys that it sees)`."""
        b = self.ir
        with emit.loop(b, 0, self.batch) as matrix:
            first = b.mul(matrix.index, self.keys)
            before(first)
            with emit.loop(b, 0, self.queries) as row:
                query, next_one = b.add(b.mul(matrix.index, self.queries), row.index), b.add(row.index, I64(1))
                is_limited = b.and_(b.icmp_signed("!=", self.is_causal, I64(0)), b.icmp_signed("<", next_one, self.keys))
                body(query, first, b.select(is_limited, next_one, self.keys))

    def weigh(self, query, first, seen):
        """Put the weights of a query into `room`."""
        b, k = self.ir, self.vector
        scale = self.read(self.scale, I64(0))
        with emit.loop(b, 0, seen) as key:
            product = self.dot(self.q, b.mul(query, self.depth), self.k_, b.mul(b.add(first, key.index), self.depth), self.depth)
            self.write(b.fmul(product, scale), self.room, key.index)
        low = -float("inf")
        top = self.folded(seen, k.maximum, low, lambda place, mask: self.vector_at(self.room, place, mask, low))

        def power(place, mask):
            found = k.exp(k.subtract(self.vector_at(self.room, place, mask, low), top))
            self.put(found, self.room, place, mask)
            return found if mask is None else k.where(mask, found, 0.0)

        total = self.folded(seen, k.add, 0.0, power)
        share = lambda place, mask: k.divide(self.vector_at(self.room, place, mask), total)
        self.along(seen, lambda place, mask: self.put(share(place, mask), self.room, place, mask))


_POINTERS = ("q", "k_", "v", "scale")


def attention(module, name, dtype):
    """For each query the mean of the values, weighted by the softmax of its scaled products with the keys."""
    s = _Queries(module, name, dtype, (*_POINTERS, "room", "out"))
    b = s.ir

    def body(query, first, seen):
        s.weigh(query, first, seen)
        at = b.mul(query, s.width)
        s.clear(s.out, at, s.width)
        with emit.loop(b, 0, seen) as key:
            s.add_times(s.read(s.room, key.index), s.v, b.mul(b.add(first, key.index), s.width), s.out, at, s.width)

    s.each(body, lambda first: None)
    s.done()


def attention_slopes(module, name, dtype):
    """What `attention` hands back to queries, keys and values from its cotangent `g` and its result `z`."""
    s = _Queries(module, name, dtype, ("g", *_POINTERS, "z", "room", "of_q", "of_k", "of_v"))
    b = s.ir

    def before(first):
        s.clear(s.of_k, b.mul(first, s.depth), b.mul(s.keys, s.depth))
        s.clear(s.of_v, b.mul(first, s.width), b.mul(s.keys, s.width))

    def body(query, first, seen):
        s.weigh(query, first, seen)
        at, to = b.mul(query, s.width), b.mul(query, s.depth)
        s.clear(s.of_q, to, s.depth)
        mean, scale = s.dot(s.g, at, s.z, at, s.width), s.read(s.scale, I64(0))
        with emit.loop(b, 0, seen) as key:
            number, weight = b.add(first, key.index), s.read(s.room, key.index)
            at_value, at_key = b.mul(number, s.width), b.mul(number, s.depth)
            slope = b.fmul(b.fmul(weight, b.fsub(s.dot(s.g, at, s.v, at_value, s.width), mean)), scale)
            s.add_times(slope, s.k_, at_key, s.of_q, to, s.depth)
            s.add_times(slope, s.q, to, s.of_k, at_key, s.depth)
            s.add_times(weight, s.g, at, s.of_v, at_value, s.width)

    s.each(body, before)
    s.done()


WRITERS = {"attention": attention, "attention_slopes": attention_slopes}
