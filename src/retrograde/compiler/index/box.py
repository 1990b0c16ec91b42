"""Boxes: the loops of a kernel before code is written, with neighbouring loops merged and the vector loop chosen."""

from collections import Counter
from math import prod
from typing import NamedTuple

from ..target import ITEM_BYTES
from .elements import CHEAP_OPS, CHECKS, PARTNERS
from .expression import Apply, Constant, Load, depends_of

#: A function takes about as long as this many cheap ops.
_FUNCTION = 12
#: A vector has about so many elements. To move as many numbers that lie apart takes so many times as long for each of them, the
#: second if caches do not hold them.
_LANES, _APART, _FAR_APART = 8, 2, 8
#: Numbers that are folded in their order wait for each other: each takes as long as so many cheap ops.
_WAITING = 4
#: So many numbers are in the second cache when they are needed again, and the lines that so many numbers span in the first.
_NEAR, _SPAN = 65536, 8192
#: To move a vector that is transposed takes so many times as long as one that lies side by side. Bodies of more entries than the
#: second gain little by it.
_CROSSED, _MOST_CROSSED = 3, 64
#: Rows that two loops number have at least so many elements.
_SHORTEST_ROW = 16
#: Rows of at most this many elements are folded into one that stays in cache.
_WIDEST = 8192


class Store(NamedTuple):
    """A result to be written: entry `value` to element `start` of a buffer plus a step for each loop.

    `combine` names the reduction that folds the value first, None for a value stored as it is. `part` says which part of a complex
    number it is, whose first part is element `start`; the store of the other part follows, or stands before it. Of a row that
    stands at a position which is data, `chosen` adds to the address as that of a load does; it is computed and written only where
    the entry `counts` holds. All stores of a box have these in common, or none has them.
    """

    buffer: object
    value: int
    start: int
    steps: tuple
    dtype: str
    combine: str | None = None
    part: int | None = None
    chosen: tuple = ()
    counts: int | None = None

    @property
    def reads(self):
        """The numbers of the entries that it reads."""
        return (self.value, *[number for number, *_ in self.chosen], *(() if self.counts is None else (self.counts,)))

    def renumbered(self, places):
        """The same store where entries have other numbers."""
        chosen = tuple([(places[number], *how) for number, *how in self.chosen])
        counts = None if self.counts is None else places[self.counts]
        return self._replace(value=places[self.value], chosen=chosen, counts=counts)


def is_ordered(store):
    """Whether a reduction meets its numbers in their order. Products of parts of them may overflow or vanish where the product from
    the first to the last does neither, and of infinity and a part that has vanished nothing is left.
    """
    return store.combine == "prod" and store.dtype in ITEM_BYTES


class Box(NamedTuple):
    """Loops with their lengths, the reduced ones marked, the entries computed in them and the results stored."""

    lengths: tuple
    is_reduced: tuple
    entries: tuple
    stores: tuple

    def merged(self, first=0):
        """The same work in fewer loops: those of length 1 gone, neighbours that every address crosses evenly made one, from loop
        number `first` on.
        """
        box, i = self.without_unit_loops(), first
        while i + 1 < len(box.lengths):
            # After a join the longer loop may join the next one, so `i` stays.
            if box.can_join(i):
                box = box.joined(i)
            else:
                i += 1
        return box

    def in_rows(self, rows):
        """The same work with a first loop of so many rounds, for which loops are joined or the first one is cut, and the others
        merged; None if there can be no such loop.
        """
        box = self.without_unit_loops()
        while len(box.lengths) > 1 and box.lengths[0] < rows and box.can_join(0):
            box = box.joined(0)
        if not box.lengths or box.lengths[0] % rows:
            return None
        return box._cut(0, rows).merged(1)  # noqa: SLF001 - another of its kind

    def in_paired_rows(self, rows):
        """The same work with two first loops that have so many rounds together, and the others merged: for addresses that cross the
        two unevenly, as those of a number for each channel do where rows are the channels of all examples. None if there can be
        no such loops.
        """
        box = self.without_unit_loops()
        has_positions = any([getattr(part, "chosen", ()) for part in (*box.entries, *box.stores)])
        if len(box.lengths) < 3 or any(box.is_reduced[:2]) or has_positions:
            return None
        many, rest = divmod(rows, box.lengths[0])
        # Two divisions find the counters of a row: of a short one that is too much.
        if rest or many < 2 or box.lengths[1] % many or box.size < _SHORTEST_ROW * rows:
            return None
        box = box._cut(1, many).merged(2)  # noqa: SLF001 - another of its kind
        vector = box.vector_loop()
        return box if box.order(vector)[:2] == (0, 1) and vector not in (0, 1) else None

    def in_block_rows(self, rows):
        """(the same work with so many rows first, by how many loops these are numbered); None if there can be no such loops."""
        merged = self.in_rows(rows)
        if merged is not None:
            return merged, 1
        paired = self.in_paired_rows(rows)
        return None if paired is None else (paired, 2)

    def _cut(self, loop, rounds):
        """The box with a loop cut in two, of which the outer one has so many rounds: it steps over all that the inner one does."""
        inner = self.lengths[loop] // rounds
        if inner == 1:
            return self
        cut = lambda steps: (*steps[:loop], steps[loop] * inner, *steps[loop:])
        twice = lambda flags: (*flags[: loop + 1], *flags[loop:])
        lengths = (*self.lengths[:loop], rounds, inner, *self.lengths[loop + 1 :])
        return self._in_loops(lengths, twice(self.is_reduced), cut, twice)

    def without_unit_loops(self):
        """The box without loops of length 1."""
        keep = [i for i, n in enumerate(self.lengths) if n != 1]
        if len(keep) == len(self.lengths):
            return self
        pick = lambda values: tuple([values[i] for i in keep])
        return self._in_loops(pick(self.lengths), pick(self.is_reduced), pick, pick)

    def _in_loops(self, lengths, is_reduced, pick_moves, pick_flags):
        """The box in other loops: how addresses move with them, and which of them values depend on."""
        entries = tuple([e.in_loops(pick_moves, pick_flags) if e.steps else e for e in self.entries])
        return Box(lengths, is_reduced, entries, tuple([s._replace(steps=pick_moves(s.steps)) for s in self.stores]))

    def can_join(self, i):
        """Whether loop `i` and the next one can be one loop."""
        if self.is_reduced[i] != self.is_reduced[i + 1]:
            return False
        length = self.lengths[i + 1]
        # For a loop that no address depends on both steps are 0, which is even, too.
        moves = [move for e in self.entries for move in e.moves] + [s.steps for s in self.stores]
        return all([steps[i] == steps[i + 1] * length for steps in moves])

    def joined(self, i):
        """The box with loop `i` and the next one made one."""
        lengths = (*self.lengths[:i], self.lengths[i] * self.lengths[i + 1], *self.lengths[i + 2 :])
        without = lambda values: values[:i] + values[i + 1 :]
        either = lambda flags: (*flags[:i], int(bool(flags[i] or flags[i + 1])), *flags[i + 2 :])
        return self._in_loops(lengths, without(self.is_reduced), without, either)

    def arranged(self, levels):
        """The same work in an order that shows repetitions from their first round on: what is inside fewer loops, by `levels`, is
        first, as it is computed first, constants before all; and functions that are found together (see `PAIRS`) stand side by
        side, so that a round of the forward pass finds what one of the backward pass needs.
        """
        entries, later = self.entries, dict(found_together(enumerate(self.entries), lambda _, entry: entry.arguments))
        order, placed = [number for number, entry in enumerate(entries) if isinstance(entry, Constant)], set(later.values())
        for number, entry in enumerate(entries):
            if number not in placed and not isinstance(entry, Constant):
                order += (number, later[number]) if number in later else (number,)
        # A stable sort: within a level entries stay in the order that has arguments first.
        order.sort(key=levels.__getitem__)
        if order == list(range(len(order))):
            return self
        places = [0] * len(order)
        for place, number in enumerate(order):
            places[number] = place
        stores = tuple([store.renumbered(places) for store in self.stores])
        return self._replace(entries=tuple([entries[number].renumbered(places) for number in order]), stores=stores)

    @property
    def has_rows(self):
        """Whether what is stored are rows at positions that are data."""
        return bool(self.stores) and bool(self.stores[0].chosen)

    def vector_loop(self):
        """The loop to run in vectors: the one that leaves least to do for each element, the last of equals."""
        if len(self.lengths) < 2:
            return 0 if self.lengths else None
        if self.has_rows:  # of which each is written or left out as a whole
            return len(self.lengths) - 1
        read = Counter([self._lines_read(e) for e in self.entries if isinstance(e, Load)])
        written = Counter([_lines(s) for s in self.stores if s.combine is None])
        computed = Counter()
        for (name, steps), count in self._applied().items():
            computed[steps] += count * _cost(name, steps)
        costs = [self._cost_in_vectors(i, read, written, computed) for i in range(len(self.lengths))]
        # Of equals the last: the innermost loop has what lies side by side.
        return max([i for i, cost in enumerate(costs) if cost == min(costs)])

    def _lines_read(self, load):
        """How the address of a load moves. With the loops that a chosen position depends on it moves by whole rows, or anywhere."""
        steps = _lines(load)
        for number, stride, *_ in load.chosen:
            flags = depends_of(self.entries[number]) or (0,) * len(steps)
            steps = tuple([step + max(stride, 2) if flag else step for step, flag in zip(steps, flags, strict=True)])
        return steps

    def _cost_in_vectors(self, i, read, written, computed):
        """What there is to do for each element if loop `i` runs in vectors: how often what is `read` and `written`, by the steps of
        its address, and what is `computed`, by the loops that it depends on.
        """
        # Moved in a vector, an element costs a part of a move; what does not depend on the loop is moved once for all of it.
        together, once, crossing = 1 / min(self.lengths[i], _LANES), 1 / self.lengths[i], self.crossing(i)
        move = lambda s: together if s[i] == 1 else self._apart(s, i) if s[i] else once
        cost = sum([n * (_CROSSED * together if crossing in self._beside(s, i) else move(s)) for s, n in read.items()])
        cost += sum([n * move(s) for s, n in written.items()])
        cost += sum([n * (together if s and s[i] else once) for s, n in computed.items()])
        return cost + sum([_WAITING if self.is_reduced[i] else together for s in self.stores if is_ordered(s)])

    def _apart(self, steps, vector):
        """What it takes to move one number that does not lie beside the next: much where each is on a line of memory of its own
        that caches do not hold until the next round asks for its neighbour.
        """
        if prod([n for n, step in zip(self.lengths, steps, strict=True) if step]) <= _NEAR:
            return _APART
        inner = [i for i in self.order(vector) if i != vector][-1]
        is_kept = abs(steps[inner]) <= 1 and abs(steps[vector]) * self.lengths[vector] <= _SPAN
        return _APART if is_kept else _FAR_APART

    def keeps_rows(self, vector):
        """Whether whole rows are folded into one: memory is then read in its order, and the sums of all columns are kept."""
        last = len(self.lengths) - 1
        is_tall = vector == last and last > 0 and not self.is_reduced[last] and self.is_reduced[0]
        return is_tall and self.width <= _WIDEST

    def is_folded_in_parts(self, vector):
        """Whether chunks of the outermost loop fold what they meet, and their results are folded at the end."""
        return self.keeps_rows(vector) or (bool(self.is_reduced) and all(self.is_reduced))

    @property
    def has_order(self):
        """Whether a reduction meets its numbers in their order, which has no parts."""
        return any([is_ordered(store) for store in self.stores])

    @property
    def width(self):
        """The number of results of each reduction."""
        return prod([n for n, r in zip(self.lengths, self.is_reduced, strict=True) if not r])

    def order(self, vector):
        """The loops from the outside in: kept ones before reduced ones, the vector loop last of its kind; as they are where
        rows are folded.
        """
        if self.keeps_rows(vector):
            return tuple(range(len(self.lengths)))
        crossing = self.crossing(vector)
        return tuple(sorted(range(len(self.lengths)), key=lambda i: (self.is_reduced[i], i == crossing, i == vector, i)))

    def crossing(self, vector):
        """The loop along which numbers lie side by side that are apart along the vector loop, as those of a transposed array are;
        the last of several. None if there is none, or where a long body, or a reduction, makes little of it.
        """
        if vector is None or any(self.is_reduced) or len(self.entries) > _MOST_CROSSED or self.lengths[vector] < _LANES:
            return None
        if self.has_rows:
            return None
        crossed = [e.steps for e in self.entries if isinstance(e, Load) and self.is_crossed(e, vector)]
        return max([i for steps in crossed for i in self._beside(steps, vector)], default=None)

    def is_crossed(self, load, vector):
        """Whether a load is of plain numbers that are apart along the vector loop, and side by side along another one."""
        is_plain = load.guard is None and not load.chosen and load.dtype in ITEM_BYTES
        return is_plain and bool(self._beside(load.steps, vector))

    def _beside(self, steps, vector):
        """The loops along which numbers that are apart along the vector loop lie side by side."""
        if abs(steps[vector]) < 2:
            return []
        return [i for i, step in enumerate(steps) if step == 1 and self.lengths[i] >= _LANES]

    @property
    def has_checks(self):
        """Whether a value is checked on the way."""
        return any(_is_checked(e) for e in (*self.entries, *self.stores))

    @property
    def size(self):
        """How often the innermost body runs."""
        return prod(self.lengths)

    @property
    def work(self):
        """A rough measure of all that is to be done: how often each entry is computed, functions counting as many."""
        applied = self._applied()
        cost = sum([count * _cost(*what) for what, count in applied.items()])
        return self.size * max(cost + len(self.entries) - applied.total(), 1)

    def _applied(self):
        """How many entries are made by each op on each choice of loops, by its name and by these."""
        return Counter([(e.node.op.name, e.steps) for e in self.entries if isinstance(e, Apply)])


def found_together(numbered, operands):
    """(first, second) of those numbers of entries that are functions found together (see `PAIRS`), of the same `operands(number,
    entry)`.
    """
    known = {}
    for number, entry in numbered:
        if isinstance(entry, Apply) and entry.node.op.name in PARTNERS:
            key = operands(number, entry), entry.node.dtype
            other = known.pop((*key, PARTNERS[entry.node.op.name][2]), None)
            if other is None:
                known[*key, entry.node.op.name] = number
            else:
                yield other, number


def _lines(part):
    """How the address of a load or a store moves; parts of complex numbers that lie in order are moved in vectors, too."""
    return part.steps if part.part is None else tuple([step // 2 for step in part.steps])


def _is_checked(entry):
    """Whether an entry is, or is chosen by, a position that may be out of range."""
    if isinstance(entry, (Load, Store)):
        return not all([is_known for *_, is_known in entry.chosen])
    return isinstance(entry, Apply) and entry.node.op.name in CHECKS


def _cost(name, steps):
    """What an op takes, on which loops its values depend, in cheap ones."""
    return 1 if name in CHEAP_OPS or not any(steps) else _FUNCTION
