"""Repeats: which items of a sequence stand there once for each layer.

An item is known by its token, a number that is equal for items that are alike, and by the items before it that it refers to. So are
the nodes of a graph, and the launches of a program with the buffers that they meet. A *run* is a stretch of tokens that comes again
and again: one copy for each layer, as of a forward pass, or of a backward pass from the last layer to the first one. Copies of
several runs that refer to each other are of one layer, so that each item of a run has its `Label`: the run, the place in it, and
the layer. That layers are alike is then read from the references: item (run, place, layer) refers to the same (run, place) in
layers that are as far away, or to one and the same item outside.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

#: So many tokens are looked for again, and so many places are tried where they stand again: the first ones may be repeats within
#: one layer, of its heads or experts.
_WINDOW, _MOST_TRIED = 4, 24
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Run(NamedTuple):
    """`count` copies of `period` items from item `start` on; the layer of copy t is `sign * t + first`."""

    start: int
    period: int
    count: int
    sign: int = 1
    first: int = 0

    @property
    def end(self):
        """The item after the last copy."""
        return self.start + self.period * self.count

    @property
    def layers(self):
        """The layer of each copy."""
        return self.sign * np.arange(self.count) + self.first

    def copy(self, layer):
        """Where the copy of a layer begins; an IndexError if there is none."""
        number = (layer - self.first) * self.sign
        if not 0 <= number < self.count:
            raise IndexError(layer)
        return self.start + number * self.period


class Label(NamedTuple):
    """What an item of a run is: the number of the run, the place in its period, and the layer."""

    run: int
    place: int
    layer: int


class References:
    """What items refer to: `targets[starts[i]:starts[i + 1]]` are those that item i does; `sources` are those of all targets."""

    def __init__(self, operands):
        counts = np.fromiter(map(len, operands), np.int64, len(operands))
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.targets = np.fromiter([target for found in operands for target in found], np.int64, int(self.starts[-1]))
        self.sources = np.repeat(np.arange(len(operands)), counts)

    def of_run(self, run):
        """(copy, which) items that a run refers to; None if copies refer to different numbers of them."""
        first, last = self.starts[run.start], self.starts[run.end]
        widths = np.diff(self.starts[run.start : run.end + 1]).reshape(run.count, run.period)
        return self.targets[first:last].reshape(run.count, -1) if (widths == widths[0]).all() else None


class Repeats:
    """The runs of a sequence, and the layers `low` to `high`, both inclusive, that refer to others alike."""

    def __init__(self, size, runs, references):
        self.runs, self.references = runs, references
        self._run, self._place, self._layer = (np.full(size, -1, np.int64) for _ in range(3))
        for number, run in enumerate(runs):
            items = slice(run.start, run.end)
            self._run[items], self._place[items] = number, np.tile(np.arange(run.period), run.count)
            self._layer[items] = np.repeat(run.layers, run.period)
        #: By run the first and the last layer whose copies are alike.
        self._ranges = np.array([self._alike(run) for run in runs])
        self.low, self.high = int(self._ranges[:, 0].max()), int(self._ranges[:, 1].min())

    def label(self, item):
        """The `Label` of an item; None outside of runs."""
        run, place, layer = self._labels[item]
        return None if run < 0 else Label(run, place, layer)

    @cached_property
    def _labels(self):
        return list(zip(self._run.tolist(), self._place.tolist(), self._layer.tolist(), strict=True))

    def within(self, first, last):
        """For each item whether it is of one of the layers `first` to `last`."""
        return (self._run >= 0) & (self._layer >= first) & (self._layer <= last)

    def are_alike(self, items):
        """Whether each of some items refers to others as that of the next layers does, of its run at least."""
        runs, layers = self._run[items], self._layer[items]
        return (runs >= 0) & (layers >= self._ranges[runs, 0]) & (layers <= self._ranges[runs, 1])

    @property
    def are_chained(self):
        """Whether layers refer to other layers, rather than stand beside each other as parameters do."""
        sources, targets = self.references.sources, self.references.targets
        between = (self._run[sources] >= 0) & (self._run[sources] == self._run[targets])
        return bool((self._layer[sources] != self._layer[targets])[between].any())

    def item(self, label):
        """The item of a label."""
        return self.runs[label.run].copy(label.layer) + label.place

    def _alike(self, run):
        """The first and the last layer around the middle one of a run whose copies refer to others alike."""
        targets, layers = self.references.of_run(run), run.layers
        if not targets.size:
            return int(layers.min()), int(layers.max())
        inside = self._run[targets] >= 0
        # Of items of runs how far away their layer is, of others which one it is.
        apart = np.where(inside, self._layer[targets] - layers[:, None], targets)
        told = np.stack([self._run[targets], np.where(inside, self._place[targets], 0), apart])
        middle = run.count // 2
        alike = (told == told[:, middle : middle + 1]).all((0, 2))
        different = np.flatnonzero(~alike)
        first = max([n + 1 for n in different if n < middle], default=0)
        last = min([n - 1 for n in different if n > middle], default=run.count - 1)
        return int(min(layers[first], layers[last])), int(max(layers[first], layers[last]))

    def met_from_outside(self, first, last):
        """Whether an item that is not like those of other layers refers to one of layers `first` to `last`."""
        met = self.within(first, last)[self.references.targets]
        return not self.are_alike(self.references.sources[met]).all()

    def is_met_whole(self):
        """Whether an item that is not like those of other layers refers to all of them."""
        met = self.within(self.low, self.high)[self.references.targets]
        sources, layers = self.references.sources[met], self._layer[self.references.targets[met]]
        is_other = ~self.are_alike(sources)
        pairs = np.unique(np.stack([sources[is_other], layers[is_other]]), axis=1)
        return pairs.size > 0 and int(np.bincount(pairs[0]).max()) == self.high - self.low + 1


def repeats(tokens, operands, least, is_strict=False):
    """The `Repeats` of a sequence in which at least `least` layers are alike; None without any.

    tokens     a number for each item
    operands   for each item those before it that it refers to
    is_strict  whether all that repeats must be of layers. What stands alone would be as often in a sequence without most of its
               layers, and could be taken for them.
    """
    found = _runs(np.asarray(tokens, np.int64), least)
    if not found:
        return None
    references = References(operands)
    # A copy that refers to more items than another is none.
    if any([references.of_run(run) is None for run in found]):
        return None
    runs = _aligned(found, references, len(tokens))
    if is_strict and len(runs) < len(found):
        return None
    result = Repeats(len(tokens), runs, references)
    return result if result.high - result.low + 1 >= least else None


def _runs(tokens, least):
    """The runs of at least `least` copies, from the first item on, none over another."""
    if len(tokens) < _WINDOW + least:
        return []
    windows = _Windows(tokens, least)
    found, at = [], 0
    for start in windows.repeated:
        if start < at:
            continue
        # The run that covers most: shorter periods may repeat within each layer.
        runs = [_run(tokens, start, other - start) for other in windows.after(start) if windows.repeats(start, other - start)]
        run = max(runs, key=lambda run: run.period * run.count, default=Run(start, 1, 1))
        if run.count >= least:
            found.append(run)
            at = run.end
    return found


class _Windows:
    """Where windows of tokens stand again: those places are `repeated` where a window does that stands `least` times in all."""

    def __init__(self, tokens, least):
        self._tokens, self._least = tokens.tolist(), least
        mixed, count = tokens.astype(np.uint64) + np.uint64(1), len(tokens) - _WINDOW + 1
        hashed = np.zeros(count, np.uint64)
        for shift in range(_WINDOW):
            hashed = hashed * _FACTOR + mixed[shift : shift + count]
        #: Places with those of one window beside each other, each where it is among them, and where those of its window end.
        self._order = np.argsort(hashed, kind="stable")
        edges = np.flatnonzero(np.diff(hashed[self._order])) + 1
        sizes = np.diff(np.concatenate([[0], edges, [count]]))
        self._rank, self._end = np.empty(count, np.int64), np.repeat(np.cumsum(sizes), sizes)
        self._rank[self._order] = np.arange(count)
        # Of one token again and again there are fewer windows than tokens.
        self.repeated = np.sort(self._order[np.repeat(sizes, sizes) >= max(least - _WINDOW + 1, 2)]).tolist()

    def after(self, place):
        """The next places where the window of a place stands."""
        rank = self._rank[place]
        return self._order[rank + 1 : min(self._end[rank], rank + 1 + _MOST_TRIED)].tolist()

    def repeats(self, place, period):
        """Whether the token of a place stands there again and again: a first look, which most periods do not pass."""
        tokens, end = self._tokens, place + self._least * period
        return end <= len(tokens) and tokens[place:end:period].count(tokens[place]) == self._least


def _run(tokens, start, period):
    """The run of a period that begins at `start`."""
    length, step = 0, 4 * period
    while True:
        one = tokens[start + length : start + length + step]
        other = tokens[start + length + period : start + length + period + step]
        differs = np.flatnonzero(one[: len(other)] != other)
        if len(differs) or len(other) < step:
            length += int(differs[0]) if len(differs) else len(other)
            return Run(start, period, length // period + 1)
        length += step
        step *= 4


def _aligned(runs, references, size):
    """The runs that refer to each other copy by copy, with the layers of these: as many items as can be."""
    best = []
    # A run of few copies may say what a layer is: of others several copies are one, as those of all parameters of a layer.
    for main in sorted(range(len(runs)), key=lambda n: runs[n].count):
        found = _Alignment(runs, main, references, size).found()
        best = max(best, found, key=lambda runs: sum([run.period * run.count for run in runs]))
        if len(found) == len(runs):
            break
    return best


class _Alignment:
    """Runs whose copies are made layers of: `layers` are (sign, first) by the number of a run. In `main` each copy is a layer."""

    def __init__(self, runs, main, references, size):
        self.runs, self.layers = list(runs), {main: (1, 0)}
        self._references, self._number, self._copy = references, np.full(size, -1, np.int64), np.zeros(size, np.int64)
        for n, run in enumerate(runs):
            self._number[run.start : run.end] = n
            self._count(run)

    def _count(self, run):
        self._copy[run.start : run.end] = np.repeat(np.arange(run.count), run.period)

    def found(self):
        """The runs whose layers can be found."""
        while any([self._found(n) for n in range(len(self.runs)) if n not in self.layers]):
            pass
        known = [(run, *self.layers[n]) for n, run in enumerate(self.runs) if n in self.layers]
        return [run._replace(sign=sign, first=first) for run, sign, first in known]

    def _found(self, one):
        """Whether the layers of a run are found now."""
        link = self._link_to_known(one) or self._link_from_known(one)
        if link is None:
            return False
        several, (sign, first) = link
        run = self.runs[one]
        self.runs[one] = run = run._replace(period=run.period * several, count=run.count // several)
        self._count(run)
        self.layers[one] = sign, first
        return True

    def _link_to_known(self, one):
        """(how many copies are one, its layers) of a run that refers to others whose layers are known."""
        middle = self.runs[one].count // 2
        for several in range(1, min(_MOST_TRIED, middle)):
            at = middle // several * several
            # If a layer has more copies than these, one of so many pairs is within a layer.
            slopes = [self._slopes(one, at - n, several) for n in range(several, -1, -1)]
            known = [(other, *found[other]) for found in slopes for other in found if other in self.layers]
            if known and all([abs(slope) == 1 for _, slope, _ in known]):
                other, slope, copy = known[0]
                sign, first = self.layers[other]
                return several, (sign * slope, sign * (copy - slope * (at // several - 1)) + first)
        return None

    def _link_from_known(self, one):
        """As `_link_to_known`, of a run that others refer to."""
        for other, (sign, first) in self.layers.items():
            middle = self.runs[other].count // 2
            slope, copy = self._slopes(other, middle - 1, 1).get(one, (0, 0))
            if slope:
                several, direction = abs(slope), 1 if slope > 0 else -1
                # Copy t of the other run refers to copy direction * t + shift of this one.
                shift = copy // several - direction * (middle - 1)
                return several, (sign * direction, first - sign * direction * shift)
        return None

    def _slopes(self, one, copy, apart):
        """By run that a copy of another one refers to (how many copies further that is `apart` copies later, which copy now)."""
        found, targets = {}, self._references.of_run(self.runs[one])
        for now, after in zip(targets[copy], targets[copy + apart], strict=True):
            other = int(self._number[now])
            if other not in (-1, one) and other == self._number[after]:
                found.setdefault(other, (int(self._copy[after] - self._copy[now]), int(self._copy[now])))
        return found
