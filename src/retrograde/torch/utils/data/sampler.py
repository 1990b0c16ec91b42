"""Samplers with PyTorch's names: in which order rows are taken, and which make a batch."""

from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from ....errors import ArgumentError
from ...creation import rand, randint, randperm
from ...modes import Generator, default_generator

T = TypeVar("T")


class Sampler(Generic[T]):
    """Gives the numbers of rows: a subclass has `__iter__`, and mostly `__len__`."""

    def __init__(self, data_source=None):
        """Nothing is kept of `data_source`."""

    def __iter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs __iter__")


class SequentialSampler(Sampler[int]):
    """Rows in their order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Rows in random order; with `replacement`, each drawn from all. `num_samples` of them, or as many as there are."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator, self._num_samples = data_source, replacement, generator, num_samples
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be True or False, got {replacement!r}")
        _check_count(self.num_samples)

    @property
    def num_samples(self):
        """How many rows are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count, generator = len(self.data_source), self.generator
        if generator is None:
            # One draw from the default generator, which others draw from as well.
            generator = Generator().manual_seed(drawn_seed(default_generator))
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                yield from randint(count, (min(32, self.num_samples - start),), generator=generator).tolist()
            return
        left = self.num_samples
        if left and not count:
            raise ArgumentError(f"RandomSampler has no rows to draw {left} from")
        while left > 0:
            yield from randperm(count, generator=generator).tolist()[:left]
            left -= count

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The rows of these numbers in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` rows, each drawn with a probability in proportion to its weight."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be True or False, got {replacement!r}")
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim != 1 or not np.isfinite(self.weights).all() or (self.weights < 0).any() or not self.weights.any():
            raise ArgumentError("WeightedRandomSampler needs weights in one axis, of at least 0, not all of them 0")
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ArgumentError(f"without replacement there are {np.count_nonzero(self.weights)} rows to draw, got {num_samples}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        count = self.num_samples if self.replacement else len(self.weights)
        uniform = rand(count, generator=self.generator, dtype="float64").numpy()
        if self.replacement:
            ends = np.cumsum(self.weights)
            return iter(np.searchsorted(ends, uniform * ends[-1], side="right").tolist())
        # Efraimidis and Spirakis (2006): the first of clocks that ring at the rates of the weights.
        with np.errstate(divide="ignore"):
            return iter(np.argsort(-np.log1p(-uniform) / self.weights, kind="stable")[: self.num_samples].tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """What a sampler gives, as lists of `batch_size`."""

    def __init__(self, sampler, batch_size, drop_last):
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ArgumentError(f"batch_size must be an integer of at least 1, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ArgumentError(f"drop_last must be True or False, got {drop_last!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        rows = iter(self.sampler)
        while batch := list(islice(rows, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        return len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)


def drawn_seed(generator):
    """A seed, drawn from a generator."""
    return int(randint(2**62, (), generator=generator).item())


def _check_count(count):
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ArgumentError(f"num_samples must be an integer of at least 0, got {count!r}")
