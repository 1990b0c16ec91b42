"""Batches: which matrices of its operands a kernel is at."""

from .. import emit
from ..emit import I64, address


def moved_to(entry, number, item, pointers, rank_place):
    """`pointers` moved to matrix `number` of a batch. In slot `rank_place` is how many axes the batch has, and then for each of
    them, the innermost first, its length and the step of each pointer.
    """
    b, words = entry.builder, 1 + len(pointers)
    with emit.loop(b, 0, entry.word(rank_place), 1, (number, *pointers)) as axis:
        first = b.add(b.mul(axis.index, I64(words)), I64(rank_place + 1))
        size, *steps = [entry.word(b.add(first, I64(i))) for i in range(words)]
        rest, *places = axis.values
        at = b.srem(rest, size)
        axis.values = [b.sdiv(rest, size), *[address(b, p, b.mul(at, s), item) for p, s in zip(places, steps, strict=True)]]
    return axis.results[1:]


def share(entry, step, total):
    """First and end of what a chunk takes of `total`, `step` for each chunk."""
    first = entry.builder.mul(entry.chunk, step)
    return first, emit.minimum(entry.builder, entry.builder.add(first, step), total)


def dimensions_of(batch):
    """What `moved_to` reads of a batch: how many axes it has, and each from the innermost on."""
    return len(batch), *[word for dimension in reversed(batch) for word in dimension]
