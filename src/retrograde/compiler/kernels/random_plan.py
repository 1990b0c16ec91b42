"""Random numbers as launches of kernels, each of which makes numbers of one kind from a state on."""

from typing import NamedTuple

from .. import cost

#: A chunk makes a multiple of the numbers that any vectors make at once.
_GROUP = 64
#: Words of one block of the generator.
WORDS = 4


class RandomPlan(NamedTuple):
    """`count` numbers of the kind that an op makes; `skip` blocks of words are left out, and `parameters` are what else the code
    reads. A chunk has `block` numbers, if that is not to be chosen here; `moves` says how they lie if there is one block in each
    frame only: the bytes of a frame, those of a block, and its place in its frame.
    """

    name: str
    dtype: str
    count: int
    skip: int = 0
    parameters: tuple = ()
    block: int = 0
    moves: tuple = (0, 0, 0)

    @property
    def key(self):
        """What the code depends on."""
        return "random", self.name, self.dtype

    @property
    def _step(self):
        if self.block:
            return self.block
        # Whole groups, so that each chunk but the last begins with a whole block of words on every machine.
        return -(-self.count // (cost.DRAWS.chunks(self.count) * _GROUP)) * _GROUP

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.count // self._step)

    @property
    def words(self):
        """What the code reads beside the state and the result."""
        return self.count, self._step, self.skip, *self.moves, *self.parameters

    @property
    def seconds(self):
        """A rough guess of how long one thread takes."""
        return self.count * cost.RANDOM_SECONDS[self.name, self.dtype]

    def unit(self, writer):
        """The code, by a writer of it. What writes it is loaded if it is not on disk."""
        return writer.unit(self.key, lambda module, name: writer.code("random").write_random(module, name, self))

    def launch(self, step, state, result, writer, lasts=False):
        """The launch that fills `result` from `state` on."""
        unit = self.unit(writer)
        return writer.launch(step, unit, unit.name, (state, result), self.words, self.chunks, lasts, self.seconds)


def has_kernel(name, dtype):
    """Whether the compiler has a kernel for an op that makes random numbers of a dtype."""
    return (name, dtype) in cost.RANDOM_SECONDS
