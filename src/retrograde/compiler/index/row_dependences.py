"""Dependences between rows: what passes over the same rows read of one another, so whether they may run block by block."""

from math import prod
from typing import NamedTuple

from .. import cost
from .expression import Load

#: A pass with more entries than this computes more than it reads.
_MOST_ENTRIES = 64
#: A product of at most so many columns is narrow, and a row of at least so many numbers long.
_NARROW, _LONG_ROW = 4, 256


class Met(NamedTuple):
    """What a pass meets, as identities of buffers: all that it reads, those of which it meets more in a row than what belongs to
    that, and the sums that it leaves in parts.
    """

    read: set
    strangers: set
    parts: set

    def renamed(self, names):
        """What a pass meets that has other buffers, by `names`, in the place of these."""
        return Met(*[{names.get(name, name) for name in part} for part in self])


class RowFacts:
    """What is known of the rows that passes go over, found once."""

    def __init__(self, accesses):
        self.accesses, self._known = accesses, {}

    def counts(self, step):
        """How many rows a step has by its own axes, the most first; none if it cannot be a pass of a nest."""
        return step.kernel.rows(step, self.accesses)

    def meets(self, step, rows):
        """What a pass over so many rows meets, as `Met`; None if it does not go over so many, or sums all of them in parts."""
        if (step, rows) not in self._known:
            self._known[step, rows] = step.kernel.met(step, rows, self.accesses)
        return self._known[step, rows]

    def products(self, steps):
        """The matrix products among steps."""
        return [product for step in steps if (product := step.kernel.product(step, self.accesses)) is not None]

    def leave_cache(self, parts, rows):
        """Whether each of so many rows is too much for the cache, for the sake of steps with few numbers: `parts` are two lists of
        steps, of which one may have no more than a sum over examples of what the other sums in each channel of them.
        """
        few, many = sorted([max([prod(step.kernel.loops(step)) for step in steps]) for steps in parts])
        return few * cost.FAR_FEWER <= many and touched_bytes([*parts[0], *parts[1]], rows, self.accesses) > cost.ROW_BYTES

    def are_apart(self, steps, rows, changing=()):
        """Whether steps meet of one another, and of the buffers `changing`, given by identity, only what belongs to the same one of
        so many rows.
        """
        made, met = set(changing), Met(set(), set(), set())
        for step in steps:
            found = self.meets(step, rows)
            if found is None:
                return False
            for whole, part in zip(met, found, strict=True):
                whole.update(part)
            made.update(map(id, step.roots))
        return made.isdisjoint(met.strangers) and met.parts.isdisjoint(met.read)


def touched_bytes(steps, rows, accesses):
    """The bytes that steps touch of each of so many rows."""
    touched = {id(buffer): buffer for step in steps for buffer in step.kernel.rows_read(step, accesses)}
    touched |= {id(root): root for step in steps for root in step.roots}
    # What has fewer elements than rows, such as a bias, is the same for each row and stays in cache by itself.
    return sum([b.size * b.dtype.itemsize for b in touched.values() if b.size >= rows]) // rows


def row_counts(domain):
    """How many rows loops over a domain have, by its first axes, the most first."""
    if not domain or domain[0] == 1:
        return []
    return list(dict.fromkeys([prod(domain[:axes]) for axes in range(len(domain), 0, -1)]))


def is_worth_rows(product):
    """Whether a product had better be one of rows: of many by a small matrix that they share, not made of dot products."""
    return _is_tall(product.problem) and not _is_apart(product)


def met_by_product(product, rows):
    """What a product meets; None if its rows are not so many."""
    problem, (a, start), (b, _) = product.problem, product.a, product.b
    if problem.m % rows:
        return None
    (row, column), height, size = problem.a, problem.m // rows, a.size // rows
    # Each row of A lies within the elements that belong to its row of the nest; B is met as a whole.
    is_in_row = row * height == size and start >= 0 and column >= 0 and start + row * (height - 1) + column * (problem.k - 1) < size
    return Met({id(a), id(b)}, {id(b)} if is_in_row else {id(a), id(b)}, set())


def met_by_loops(box, rows):
    """What the loops of a box meet; None if they do not go over so many rows, or sum all of them in parts."""
    found = box.in_block_rows(rows) if len(box.entries) <= _MOST_ENTRIES else None
    if found is None:
        return None
    (merged, loops), lengths = found, found[0].lengths
    vector = merged.vector_loop()
    is_in_parts = merged.is_folded_in_parts(vector)
    # Rows must be the outermost loop, or a block of them would not be a part of it. Sums of all rows need room for each block's
    # part, and those that depend on the order cannot be had in parts.
    if merged.order(vector)[0] != 0 or is_in_parts != merged.is_reduced[0] or (is_in_parts and merged.has_order):
        return None
    loads = [entry for entry in merged.entries if isinstance(entry, Load)]
    stores = [store for store in merged.stores if store.combine is None]
    # Stores count too: a pass that writes elsewhere than in its row would write what another block has read.
    strangers = {id(part.buffer) for part in (*loads, *stores) if not _is_in_row(part, lengths, rows, loops)}
    parts = {id(store.buffer) for store in merged.stores if store.combine is not None and merged.is_reduced[0]}
    return Met({id(load.buffer) for load in loads}, strangers, parts)


def _is_tall(problem):
    """Whether a product is of many rows by a matrix that they share, and which is small beside them."""
    rows, matrix = problem.m * (problem.k + problem.n), problem.k * problem.n
    is_plain = not problem.batch and problem.c == (problem.n, 1)
    is_small = matrix <= cost.MATRIX_SHARE * rows and problem.matrix_bytes <= cost.MATRIX_BYTES
    return is_plain and is_small and rows >= cost.TILED_NUMBERS


def _is_apart(product):
    """Whether a product had better be made of dot products, in a kernel of its own: a narrow one, which leaves most of a tile idle,
    of rows that are long or that no pass has in its cache.
    """
    problem, left = product.problem, product.a[0]
    return problem.n <= _NARROW and (problem.k >= _LONG_ROW or getattr(left, "op", None) is None)


def _is_in_row(part, lengths, rows, loops):
    """Whether a load or a store meets in each round of the first loop, or of the two first `loops`, one of the elements that belong
    to it.
    """
    size = part.buffer.size * (1 if part.part is None else 2) // rows
    reach = [step * (n - 1) for step, n in zip(part.steps[loops:], lengths[loops:], strict=True)]
    reach += [stride * (count - 1) for _, stride, count, _ in getattr(part, "chosen", ())]
    low, high = part.start + sum([min(r, 0) for r in reach]), part.start + sum([max(r, 0) for r in reach])
    first = (size,) if loops == 1 else (size * lengths[1], size)
    return part.steps[:loops] == first and low >= 0 and high < size
