"""Rolling: repetitions in a kernel's entries become loops, so that an unrolled Python loop costs no more code than its body.

Entries repeat if the same operations follow each other with the same shape of arguments: values of the same round, of the
round before, of outside, or of an earlier repetition at places that move by whole rounds (the rounds of a backward pass
read those of the forward pass from the last to the first). What is read so is kept on a tape, one value a round.
"""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from .....dtypes import name_of
from ....index.elements import operation_key
from ....index.expression import Apply, Load, arguments_of

#: A repetition has at least this many rounds, and a round at most this many entries.
_LEAST, _LONGEST = 4, 256
#: From one entry on so many lengths of a round are looked at closely.
_MOST_PERIODS = 16


class Argument(NamedTuple):
    """Where an argument comes from: "inner" or "carried" from entry `slot` of a round, `first` being what it is in the first
    round; "outer", the entry `first`; or "tape", slot `slot` of run `run` at round `first`, moving by `stride`.
    """

    kind: str
    first: int
    slot: int = 0
    run: int = 0
    stride: int = 0


class Run(NamedTuple):
    """`count` rounds of `period` entries from entry `start` on; `arguments` of each entry of a round, and by how much the
    address of each load moves.
    """

    start: int
    period: int
    count: int
    arguments: tuple
    moves: tuple

    @property
    def stop(self):
        """The first entry after the run."""
        return self.start + self.period * self.count

    def place(self, number):
        """(round, slot) of an entry."""
        return divmod(number - self.start, self.period)


def find_runs(entries, levels):
    """The runs of a list of entries in the order of their `levels`, which those of one run have in common: since each round would
    have entries of two levels, which are not in order where rounds follow each other.
    """
    return _Search(entries, levels).runs()


def taped(entries, runs, stores):
    """For each run the slots that are read in other rounds than the last, from outside, in order."""
    found = [set() for _ in runs]
    starts = [run.start for run in runs]

    def note(number):
        at = bisect_right(starts, number) - 1
        if at >= 0 and number < runs[at].stop:
            index, slot = runs[at].place(number)
            if index != runs[at].count - 1:
                found[at].add(slot)

    for run in runs:
        for argument in (a for arguments in run.arguments for a in arguments):
            if argument.kind == "tape":
                found[argument.run].add(argument.slot)
            elif argument.kind in ("outer", "carried"):
                note(argument.first)
    for before, after in zip([0, *[run.stop for run in runs]], [*starts, len(entries)], strict=True):
        for entry in entries[before:after]:
            for a in arguments_of(entry):
                note(a)
    for store in stores:
        for number in store.reads:
            note(number)
    return [sorted(slots) for slots in found]


def _reads(entries):
    """For each entry what moves from round to round: the numbers of its arguments, or its address."""
    found = [e.arguments if isinstance(e, Apply) else (e.start,) if isinstance(e, Load) else () for e in entries]
    table = np.zeros((len(entries), max(map(len, found), default=0)), np.int64)
    for width in range(1, table.shape[1] + 1):
        rows = [i for i, read in enumerate(found) if len(read) == width]
        if rows:
            table[rows, :width] = [found[i] for i in rows]
    return table


class _Search:
    def __init__(self, entries, levels):
        self._entries, self._levels, self._operations = entries, levels, {}
        numbers = {}
        signs = [numbers.setdefault(self._sign(i, e), len(numbers)) for i, e in enumerate(entries)]
        # For each entry the next one of its sign: where the second round of a run that begins here may begin.
        self._next, latest = [None] * len(entries), {}
        for i in range(len(entries) - 1, -1, -1):
            self._next[i] = latest.get(signs[i])
            latest[signs[i]] = i
        self._listed, self._signs, self._reads, self._runs = signs, np.array(signs), _reads(entries), []

    def _sign(self, number, entry):
        """What entries of the same place in two rounds have in common."""
        if isinstance(entry, Apply):
            op = entry.node.op
            if op not in self._operations:
                self._operations[op] = operation_key(op)
            return self._operations[op], name_of(entry.node.dtype), len(entry.arguments), self._levels[number], entry.is_rounded
        if isinstance(entry, Load) and entry.guard is None and not entry.chosen:
            return "load", id(entry.buffer), entry.steps, entry.dtype, entry.part, self._levels[number]
        # Constants stand for themselves; guards, and positions that were computed, name entries that would have to move as well.
        return "single", number

    def runs(self):
        """All runs, from the front."""
        i = 0
        while i < len(self._entries):
            run = self._run_at(i)
            if run is None:
                i += 1
            else:
                self._runs.append(run)
                i = run.stop
        return self._runs

    def _run_at(self, i):
        other, best, looked_at = self._next[i], None, 0
        while other is not None and other - i <= _LONGEST and looked_at < _MOST_PERIODS:
            period, other = other - i, self._next[other]
            if not self._may_repeat(i, period):
                continue
            run, looked_at = self._repeated(i, period), looked_at + 1
            if run is not None and (best is None or run.stop > best.stop):
                best = run
            # Long enough: a longer period would at best hold several of these rounds, and take more code.
            if run is not None and run.stop > i + 8 * run.period:
                break
        return best

    def _may_repeat(self, start, period):
        """Whether the first and the last entries of the first rounds are alike; most periods fail here, at little cost."""
        signs, last = self._listed, start + period - 1
        if start + _LEAST * period > len(signs):
            return False
        starts = [k * period for k in range(1, _LEAST)]
        return all([signs[start + k] == signs[start] and signs[last + k] == signs[last] for k in starts])

    def _repeated(self, start, period):
        """The run of this period at `start`, or None."""
        if not self._is_alike(start, start + period, period):
            return None
        count = self._within(start, period, self._count(start, period))
        if count < _LEAST:
            return None
        arguments = self._arguments(start, period, count)
        if arguments is None:
            return None
        moves = [self._move(start + k, start + period + k) for k in range(period)]
        addresses = tuple(m if isinstance(m, int) else 0 for m in moves)
        return Run(start, period, count, arguments, addresses)

    def _count(self, start, period):
        """How many rounds follow each other in which all is alike, and moves as from the first to the second."""
        moved = self._reads[start + period : start + 2 * period] - self._reads[start : start + period]
        # Compared in stretches that double, so that a long run takes few calls of NumPy and a short one reads little beyond its
        # end.
        count, most, looked = 2, (len(self._entries) - start) // period, 2
        while count < most:
            first, last = start + (count - 1) * period, start + min(count + looked, most) * period
            is_same = self._signs[first + period : last] == self._signs[first : last - period]
            steps = (self._reads[first + period : last] - self._reads[first : last - period]).reshape(-1, *moved.shape)
            holds = is_same.reshape(-1, period).all(axis=1) & (steps == moved).all(axis=(1, 2))
            # argmin of truth values is the first False.
            good = len(holds) if holds.all() else int(holds.argmin())
            count += good
            if good < len(holds):
                break
            looked *= 2
        return count

    def _within(self, start, period, count):
        """How many of `count` rounds read what they have from earlier runs within these: what lies before them is on no tape."""
        for k in range(start, start + period):
            entry = self._entries[k]
            for first, move in zip(entry.arguments, self._move(k, k + period), strict=True) if isinstance(entry, Apply) else ():
                run = next((run for run in self._runs if run.start <= first < run.stop), None)
                # These two are what was there before, or what the same round makes; all else moves along a tape.
                if run is not None and move not in (0, period):
                    count = min(count, 1 + ((run.stop - 1 - first) // move if move > 0 else (first - run.start) // -move))
        return count

    def _is_alike(self, a, b, period):
        return bool((self._signs[a : a + period] == self._signs[b : b + period]).all())

    def _move(self, a, b):
        """How arguments, or the address, move from one round to the next."""
        a, b = self._entries[a], self._entries[b]
        if isinstance(a, Load):
            return b.start - a.start
        return tuple([y - x for x, y in zip(a.arguments, b.arguments, strict=True)])

    def _arguments(self, start, period, count):
        """The sources of all arguments of a round, or None if one cannot be had in a loop."""
        found = []
        for k in range(period):
            entry, move = self._entries[start + k], self._move(start + k, start + period + k)
            sources = [] if isinstance(move, int) else [
                self._source(a, m, start, period, count) for a, m in zip(entry.arguments, move, strict=True)
            ]
            if None in sources:
                return None
            found.append(tuple(sources))
        return tuple(found)

    def _source(self, first, move, start, period, count):
        # The order matters: with move == period an argument before the run is of the round before, which only the first round
        # finds outside.
        if move == 0 and first < start:
            return Argument("outer", first)
        if move == period and first >= start:
            return Argument("inner", first, first - start)
        if move == period and first >= start - period:
            return Argument("carried", first, first + period - start)
        for number, run in enumerate(self._runs):
            last = first + move * (count - 1)
            if run.start <= min(first, last) and max(first, last) < run.stop and move % run.period == 0:
                index, slot = run.place(first)
                return Argument("tape", index, slot, number, move // run.period)
        return None
