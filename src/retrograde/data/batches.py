"""Minibatches: arrays cut into pieces along their first axis, in order or shuffled."""

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError, ShapeError
from ..ops.random import Generator
from ..tensor.creation import tensor
from ..tensor.random import permutation


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
        self._arrays = [a.detach().data if isinstance(a, Value) else np.asarray(a) for a in arrays]
        if not self._arrays:
            raise ArgumentError("batches needs at least one array")
        lengths = {len(a) for a in self._arrays}
        if len(lengths) > 1:
            raise ShapeError(f"arrays must have one length, got {[len(a) for a in self._arrays]}")
        if batch_size < 1:
            raise ArgumentError(f"batch_size must be at least 1, got {batch_size}")
        self._length, self.batch_size = lengths.pop(), batch_size
        self._shuffles, self._generator, self._drops_last = shuffle, generator, drop_last

    def __len__(self):
        whole, rest = divmod(self._length, self.batch_size)
        return whole + (rest > 0 and not self._drops_last)

    def __iter__(self):
        order = permutation(self._length, self._generator).numpy() if self._shuffles else None
        for i in range(0, len(self) * self.batch_size, self.batch_size):
            chosen = slice(i, i + self.batch_size) if order is None else order[i : i + self.batch_size]
            yield tuple([tensor(a[chosen]) for a in self._arrays])
