"""Chunks of work that is alike: so many units of a plan for each call of its function."""

from . import emit


class InChunks:
    """A plan of `units`, of which a chunk has `step`, the last one what is left. These two numbers are what its code is handed."""

    units: int
    step: int

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.units // self.step)

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.units, self.step


def part(entry, place):
    """(first, last) of the units of a chunk; the words of its plan are in the slots from `place` on."""
    b, units, step = entry.builder, entry.word(place), entry.word(place + 1)
    first = b.mul(entry.chunk, step)
    return first, emit.minimum(b, b.add(first, step), units)
