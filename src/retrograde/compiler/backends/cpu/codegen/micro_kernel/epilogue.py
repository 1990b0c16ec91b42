"""Epilogues: what is done with the sums of a tile when k has gone by. A kernel has its own, of these parts or of others."""

from .. import emit


def store(b, sums, places):
    """Write all sums."""
    for value, place in zip(sums, places, strict=True):
        emit.store(b, value, place)


def added_chains(b, sums, size):
    """The sums of all chains of `size` sums, as a tree."""
    return [_pairwise(b, sums[i::size]) for i in range(size)]


def _pairwise(b, values):
    # Neighbours first: as many additions as in a row, but only the logarithm of them wait for one another.
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [b.fadd(x, y) for x, y in zip(values[::2], values[1::2], strict=False)] + rest
    return values[0]


def lane_sum(b, vector):
    """The sum of the lanes of a vector, by halves."""
    return b.extract_element(_folded(b, vector, 1), emit.I32(0))


def lane_sums(b, vectors, group):
    """One short vector with the sum of the lanes of each of `group` vectors."""
    lanes = vectors[0].type.count
    while len(vectors) > 1:
        vectors = [_paired(b, x, y, lanes, group) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
    return _folded(b, vectors[0], group)


def _paired(b, x, y, lanes, group):
    """Sums of neighbours in x and in y, inside each run of `group` lanes: those of x first."""
    # One shuffle of two sources for the even lanes and one for the odd ones, in place of a shuffle and half an addition for
    # each vector.
    picks = [[], []]
    for start in range(0, lanes, group):
        for base in (0, lanes):
            for i in range(0, group, 2):
                picks[0].append(base + start + i)
                picks[1].append(base + start + i + 1)
    even, odd = (emit.shuffle(b, x, y, p) for p in picks)
    return b.fadd(even, odd)


def _folded(b, vector, most):
    """A vector's halves added up until it has no more lanes than `most`."""
    lanes = vector.type.count
    while lanes > most:
        lanes //= 2
        low, high = (emit.shuffle(b, vector, vector, range(start, start + lanes)) for start in (0, lanes))
        vector = b.fadd(low, high)
    return vector


def loaded_if(b, condition, places, kind):
    """What sums begin with: what is at `places` where a condition holds, else zeros."""
    # A branch, not a selection: where sums begin with zeros, nothing may be read at `places`, which may not be filled yet.
    return changed_if(b, condition, [emit.zeros(kind)] * len(places), lambda _: loaded(b, places, kind))


def loaded(b, places, kind):
    """What is at `places`."""
    return [emit.load(b, place, kind) for place in places]


def changed_if(b, condition, values, change):
    """What `change` makes of `values` where a condition holds, else these."""
    before = b.block
    with b.if_then(condition):
        changed = change(values)
        # What was written may have opened blocks of its own: the phi must name the block that it ends in.
        after = b.block
    results = []
    for value, other in zip(values, changed, strict=True):
        phi = b.phi(value.type)
        phi.add_incoming(value, before)
        phi.add_incoming(other, after)
        results.append(phi)
    return results
