"""Nests: passes over the same rows that take turns block by block, so that what one hands to the next stays in cache.

Softmax, cross entropy and normalisations fold each row, then go over it again, several times; a layer multiplies rows by a
matrix, adds a bias, applies an activation and multiplies again. Passes that meet nothing of one another but what belongs to
the same row are run on one block of rows after the other. What only they read is never written to memory that lasts: each
chunk keeps one block of it.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import prod

from .expression import Load

#: Passes over fewer numbers than this find everything in cache as it is.
_LEAST = 32768
#: A block of rows takes about this many bytes of all that its passes touch; with products among them more, since each block
#: meets all of their matrices.
_BLOCK_BYTES, _PRODUCT_BYTES = 48 * 1024, 256 * 1024
_MOST_CHUNKS = 32
#: With products among the passes there are this many chunks for each thread: the fewer, the less memory of their own.
_CHUNKS_PER_THREAD = 4
#: A pass with more entries than this computes more than it reads.
_MOST_ENTRIES = 64
#: The matrix of a product has at most this share of the numbers of the rows that it meets: each block meets all of it.
_MATRIX_SHARE = 1 / 4
#: Blocks of a product have at least so many rows: with matrices that stay in cache, with larger ones; and at most.
_FEWEST_ROWS, _FEW_ROWS, _MOST_ROWS = 16, 64, 128
_SMALL_MATRICES = 64 * 1024
_BYTES = {"float32": 4, "float64": 8}


@dataclass(eq=False)
class Nest:
    """Passes in order over `rows` rows, which the first axes of their domains number.

    block    how many rows a pass takes before the next one has its turn
    local    the results that nothing else reads
    chunks   how many pieces there are that may run at the same time, once it is `cut`
    """

    steps: list
    rows: int
    block: int = 0
    local: set = field(default_factory=set)
    chunks: int = 0

    def cut(self, threads):
        """Decide on chunks, for so many threads."""
        has_products = any([step.kind == "matmul" for step in self.steps])
        most = _CHUNKS_PER_THREAD * threads if has_products else _MOST_CHUNKS
        self.chunks = -(-self.blocks // -(-self.blocks // most))

    @property
    def blocks(self):
        """How many blocks there are."""
        return -(-self.rows // self.block)

    @property
    def chunk_blocks(self):
        """How many blocks one chunk takes."""
        return -(-self.blocks // self.chunks)

    def axes(self, lengths):
        """How many of the loops of these lengths, from the outside, are its rows; 0 if none are."""
        return _axes(lengths, self.rows)

    def block_bytes(self, node):
        """The bytes of one block of a result."""
        return node.size // self.rows * node.dtype.itemsize * self.block

    def moves(self, node, row):
        """How far the rows of a node, `row` elements apart, move with each block, in elements, and with each chunk, in bytes."""
        return (0, self.block_bytes(node)) if node in self.local else (row * self.block, 0)


def nested(schedule, passes, kept):
    """Form the nests among the steps of a schedule: members have it as their `nest`, and stand beside each other.

    What is among the nodes `kept` is read when all is over.
    """
    candidates = {step: rows for step in schedule.steps if (rows := _row_counts(step, passes))}
    if not any([step.kind == "matmul" or (step.reduced and _is_large(step)) for step in candidates]):
        return
    groups = _Groups(schedule)
    for number, step in enumerate(schedule.steps):
        if step not in candidates:
            continue
        for nest in dict.fromkeys([groups.nest_of[n] for n in sorted(groups.producers[number]) if n in groups.nest_of]):
            if groups.can_join(number, nest) and _fits(passes, nest, step, candidates[step]):
                groups.join(number, nest)
                break
        else:
            groups.open(number, candidates[step][0])
    readers = {}
    for step in schedule.steps:
        for node in schedule.read_by(step):
            readers.setdefault(node, set()).add(step)
    nests = [nest for nest in groups.nests if len(nest.steps) > 1 and _is_worth_it(nest, passes, readers, kept)]
    for nest in nests:
        for step in nest.steps:
            step.nest = nest
    schedule.steps = groups.order(nests)


def _row_counts(step, passes):
    """How many rows a step may be cut into, the most first; none if it cannot be a pass of a nest."""
    if step.kind == "matmul":
        problem = passes.product(step).problem
        return [problem.m] if _is_tall(problem) else []
    if step.kind != "loop" or not step.domain or step.domain[0] == 1 or (step.reduced and not _is_large(step)):
        return []
    return list(dict.fromkeys([prod(step.domain[:axes]) for axes in range(len(step.domain), 0, -1)]))


def _is_large(step):
    return prod(step.domain) >= _LEAST


def _is_tall(problem):
    """Whether a product is of many rows by a matrix that they share, and which is small beside them."""
    numbers = problem.m * (problem.k + problem.n)
    is_plain = not problem.batch and problem.c == (problem.n, 1)
    return is_plain and numbers >= _LEAST and problem.k * problem.n <= _MATRIX_SHARE * numbers


def _axes(lengths, rows):
    """How many loops from the outside have so many rounds together; 0 if none."""
    return next((axes for axes in range(1, len(lengths) + 1) if prod(lengths[:axes]) == rows), 0)


class _Groups:
    """The steps of a schedule by number, what each needs before it, and the nests that are being made."""

    def __init__(self, schedule):
        self._steps = schedule.steps
        makers = {root: number for number, step in enumerate(self._steps) for root in step.roots}
        self.producers = [{makers[n] for n in schedule.read_by(step) if n in makers} for step in self._steps]
        self.nest_of, self._members = {}, {}
        self._before = []
        for needed in self.producers:
            self._before.append(0)
            for n in needed:
                self._before[-1] |= self._before[n] | 1 << n

    def open(self, number, rows):
        """Begin a nest with a step."""
        nest = self.nest_of[number] = Nest([self._steps[number]], rows)
        self._members[nest] = 1 << number

    def can_join(self, number, nest):
        """Whether nothing outside the nest stands between it and a step."""
        members, between = self._members[nest], self._before[number] & ~self._members[nest]
        while between:
            last = between.bit_length() - 1
            if self._before[last] & members:
                return False
            between &= ~(1 << last)
        return True

    def join(self, number, nest):
        """Add a step to a nest; whatever needs a member needs all from here on."""
        nest.steps.append(self._steps[number])
        self.nest_of[number] = nest
        self._members[nest] |= 1 << number
        members = whole = self._members[nest]
        for n, before in enumerate(self._before):
            if members >> n & 1:
                whole |= before
        for n, before in enumerate(self._before):
            if before & members or members >> n & 1:
                self._before[n] |= whole & ~(1 << n)

    @property
    def nests(self):
        """All nests, also those of one step."""
        return list(self._members)

    def order(self, nests):
        """The steps with the members of each nest beside each other, else as they were as far as that can be."""
        number = {step: n for n, step in enumerate(self._steps)}
        heads = list(range(len(self._steps)))
        for nest in nests:
            for step in nest.steps:
                heads[number[step]] = number[nest.steps[0]]
        needs = {head: set() for head in heads}
        for head, needed in zip(heads, self.producers, strict=True):
            needs[head] |= {heads[n] for n in needed} - {head}
        members = {head: [] for head in heads}
        for head, step in zip(heads, self._steps, strict=True):
            members[head].append(step)
        return [step for head in _sorted(needs) for step in members[head]]


def _sorted(needs):
    """The keys of `needs` in rising order, except that each comes after those that it needs."""
    users = {}
    for key, needed in needs.items():
        for n in needed:
            users.setdefault(n, []).append(key)
    waiting = {key: len(needed) for key, needed in needs.items()}
    ready, found = [key for key, count in waiting.items() if not count], []
    heapify(ready)
    while ready:
        found.append(heappop(ready))
        for user in users.get(found[-1], ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, user)
    return found


def _fits(passes, nest, step, counts):
    """Whether a pass meets nothing of the members of a nest but what belongs to its own row, and the other way round; the
    nest is then of as many rows as allow that.
    """
    members = (*nest.steps, step)
    made = {id(root) for member in members for root in member.roots}
    for rows in counts:
        if rows <= nest.rows and all([_keeps_to_rows(passes, member, rows, made) for member in members]):
            nest.rows = rows
            return True
    return False


def _keeps_to_rows(passes, step, rows, made):
    """Whether a pass goes over so many rows, or sums all of them in parts, and finds what is `made` in the row where it is."""
    if step.kind == "matmul":
        return _multiplies_rows(passes.product(step), rows, made)
    box = passes.box(step)
    axes = _axes(box.lengths, rows)
    if not axes or len(box.entries) > _MOST_ENTRIES:
        return False
    if not all([box.can_join(i) for i in range(axes - 1)]):
        return False
    merged = box.merged(axes)
    vector = merged.vector_loop()
    if merged.order(vector)[0] != 0 or merged.lengths[0] != rows or merged.is_folded_in_parts(vector) != merged.is_reduced[0]:
        return False
    loads = [entry for entry in merged.entries if isinstance(entry, Load) and id(entry.buffer) in made]
    return all([_is_in_row(load, merged.lengths, load.buffer.size // rows) for load in loads])


def _multiplies_rows(product, rows, made):
    """Whether a product has so many rows, of what is `made` each meets its own alone, and nothing of that is the matrix."""
    problem, (a, start), (b, _) = product.problem, product.a, product.b
    if problem.m != rows or id(b) in made:
        return False
    if id(a) not in made:
        return True
    row, column = problem.a
    return row == a.size // rows and start >= 0 and start + column * (problem.k - 1) < row and column >= 0


def _is_in_row(load, lengths, size):
    """Whether a load finds in each round of the first loop one of the `size` elements that belong to it."""
    reach = [step * (n - 1) for step, n in zip(load.steps[1:], lengths[1:], strict=True)]
    reach += [stride * (count - 1) for _, stride, count in load.chosen]
    low, high = load.start + sum([min(r, 0) for r in reach]), load.start + sum([max(r, 0) for r in reach])
    return load.steps[0] == size and low >= 0 and high < size


def _is_worth_it(nest, passes, readers, kept):
    """Fill in what a nest consists of; whether it hands on so much that it pays."""
    made = {root for step in nest.steps for root in step.roots}
    touched = {id(root): root for root in made}
    for step in nest.steps:
        touched |= {id(buffer): buffer for buffer in _rows_read(passes, step)}
    row_bytes = sum([b.size * b.dtype.itemsize for b in touched.values() if b.size >= nest.rows]) // nest.rows
    products = [passes.product(step).problem for step in nest.steps if step.kind == "matmul"]
    nest.block = _product_block(products, row_bytes) if products else _power(_BLOCK_BYTES // row_bytes)
    nest.local = {node for node in made if node not in kept and readers.get(node, set()) <= set(nest.steps)}
    return nest.blocks > 1


def _rows_read(passes, step):
    """The buffers of which a pass reads rows."""
    if step.kind == "matmul":
        return [passes.product(step).a[0]]
    return [e.buffer for e in passes.box(step).entries if isinstance(e, Load)]


def _product_block(products, row_bytes):
    """How many rows of each product are computed at a time: what they touch stays in cache, and so does each tile's panel of the
    matrix for some tiles.
    """
    nbytes = sum([problem.k * problem.n * _BYTES[problem.dtype] for problem in products])
    fewest = _FEWEST_ROWS if nbytes <= _SMALL_MATRICES else _FEW_ROWS
    return min(max(_power(_PRODUCT_BYTES // row_bytes), fewest), _MOST_ROWS)


def _power(number):
    """The largest power of two that is not above a number, at least 1."""
    return 1 << max(0, number.bit_length() - 1)
