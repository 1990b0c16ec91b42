"""Spaces: what a discrete parameter may be, and how one value leads to another."""

from ..errors import ArgumentError, ShapeError


class Options:
    """One of a list of values: wordings, layouts, separators.

    `more`, a function without arguments, gives further values; it is called when a value is first asked for.

    >>> import random
    >>> Options(["Be brief.", "Be kind."]).changed("Be brief.", random.Random(0))
    'Be kind.'
    """

    def __init__(self, values, more=None):
        self._values, self._more = list(values), more
        if not self._values:
            raise ArgumentError("a choice needs at least one option, got none")

    @property
    def values(self):
        """The values, each once."""
        if self._more is not None:
            # An error leaves it to be called again.
            further = self._more()
            self._values, self._more = [*self._values, *(value for value in further if value not in self._values)], None
        return self._values

    def drawn(self, draw):
        """Any value."""
        return draw.choice(self.values)

    def changed(self, value, draw):
        """Another value than `value`, or the same one if there is no other."""
        return draw.choice([other for other in self.values if other != value] or [value])


class Demonstrations:
    """Rows chosen from a pool of examples, in an order: one value for each input, and the answer last.

    count      the most rows
    balanced   whether drawn rows alternate among the answers, as far as the pool has them
    """

    def __init__(self, pool, count=8, *, balanced=True):
        self.pool, self.count, self.balanced = [list(row) for row in pool], count, balanced
        if not self.pool or any(len(row) != len(self.pool[0]) or len(row) < 2 for row in self.pool):
            raise ShapeError("a pool needs rows of one length, each a value for each input and the answer, got "
                             f"{self.pool!r:.200}")
        if count < 1:
            raise ArgumentError(f"count must be at least 1, got {count}")

    def drawn(self, draw, size=None):
        """Fresh rows: as many as `size`, or a power of two up to `count`."""
        sizes = [n for n in (1, 2, 4, 8, 16, 32, 64) if len(self.answers()) <= n < self.count] + [self.count]
        size = min(size or draw.choice(sizes), len(self.pool))
        rows = draw.sample(self.pool, len(self.pool))
        rows = _in_turns(rows)[:size] if self.balanced else rows[:size]
        return draw.sample(rows, len(rows))

    def answers(self):
        """The different answers in the pool."""
        return list(dict.fromkeys(row[-1] for row in self.pool))

    def changed(self, value, draw):
        """Rows that differ from `value` by one move: a row replaced, added, dropped, or the order."""
        if not value:
            return self.drawn(draw)
        moves = [self._replaced]
        moves += [self._shuffled] if len(value) > 1 else []
        moves += [self._grown] if len(value) < min(self.count, len(self.pool)) else []
        moves += [self._shrunk] if len(value) > 1 else []
        return draw.choice(moves)([list(row) for row in value], draw)

    def _replaced(self, rows, draw):
        i = draw.randrange(len(rows))
        fresh = [row for row in self.pool if row not in rows]
        alike = [row for row in fresh if row[-1] == rows[i][-1]] if self.balanced else fresh
        rows[i] = list(draw.choice(alike or fresh or [rows[i]]))
        return rows

    def _shuffled(self, rows, draw):
        return draw.sample(rows, len(rows))

    def _grown(self, rows, draw):
        fresh = [row for row in self.pool if row not in rows]
        counts = {answer: sum(row[-1] == answer for row in rows) for answer in self.answers()}
        rarest = [row for row in fresh if counts[row[-1]] == min(counts.values())] if self.balanced else fresh
        rows.insert(draw.randrange(len(rows) + 1), list(draw.choice(rarest or fresh or rows)))
        return rows

    def _shrunk(self, rows, draw):
        del rows[draw.randrange(len(rows))]
        return rows


def _in_turns(rows):
    """`rows` with the answers alternating, so that every beginning is balanced."""
    queues = {}
    for row in rows:
        queues.setdefault(row[-1], []).append(row)
    columns = list(queues.values())
    return [column[i] for i in range(max(map(len, columns))) for column in columns if i < len(column)]
