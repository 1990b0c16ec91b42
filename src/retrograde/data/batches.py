"""Minibatches of arrays in an order that a generator draws: the short form of a `Loader`, for scripts."""

from ..errors import ArgumentError
from ..ops.random.draws import Generator
from ..tensor.random import permutation
from .collating import as_tensors
from .orders import checked_size, number_of_batches
from .sources.made import Arrays


def batches(*arrays, batch_size=32, shuffle=False, generator=None, seed=None, drop_last=False):
    """Minibatches of `arrays` (or tensors), which have one length: iterate over it once an epoch.

    Each is a tuple of tensors, one per array. With `shuffle` every epoch has an order of its own, drawn from `generator`,
    from a new one if a `seed` is given, or from the default one. `drop_last` leaves a last batch out that is not full.

    >>> for x, y in rg.data.batches(np.arange(5), np.arange(5) * 10, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """
    if seed is not None:
        if generator is not None:
            raise ArgumentError("batches takes a generator or a seed, not both")
        generator = Generator(seed)
    return Batches(arrays, batch_size, shuffle, generator, drop_last)


class Batches:
    """What `batches` returns: `len` batches, in a new order each time it is iterated over if it shuffles."""

    def __init__(self, arrays, batch_size, shuffle, generator, drop_last):
        if not arrays:
            raise ArgumentError("batches needs at least one array")
        self._rows, self.batch_size = Arrays(arrays), checked_size(batch_size)
        self._shuffles, self._generator, self._drops_last = shuffle, generator, drop_last

    def __len__(self):
        return number_of_batches(len(self._rows), self.batch_size, self._drops_last)

    def __iter__(self):
        order = permutation(len(self._rows), self._generator).numpy() if self._shuffles else range(len(self._rows))
        for i in range(0, len(self) * self.batch_size, self.batch_size):
            yield as_tensors(self._rows.gather(order[i : i + self.batch_size]))
