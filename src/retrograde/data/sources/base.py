"""Source: rows by number, and what can be made of them."""

from operator import index as as_index
from typing import Any

import numpy as np

from ...errors import ArgumentError, OutOfRangeError
from ..orders import key_of, shuffled
from ..sample import is_sampling, sample_generator, sampling


class Source:
    """Rows by number. A subclass has `__len__` and `row(i)`, for i from 0 on; `where(i)` may say where a row comes from.

    >>> squares = rg.data.source(range(10)).map(lambda x: x * x)
    >>> len(squares), squares[3], squares[-1]
    (10, 9, 81)
    """

    #: Whether `gather` makes the batch of many rows at once.
    can_gather = False

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __len__")

    def __repr__(self):
        return f"{type(self).__name__}({len(self)} rows)"

    def row(self, i) -> Any:
        """Row `i`."""
        raise NotImplementedError(f"{type(self).__name__} needs row(i)")

    def gather(self, indices) -> Any:
        """The batch of the rows of these numbers, as arrays."""
        raise NotImplementedError(f"{type(self).__name__} has no gather")

    def where(self, i):
        """Where row `i` comes from, such as the file and the line; "" where there is nothing to say."""
        return ""

    def __getitem__(self, i):
        return self.row(checked(i, len(self)))

    def __iter__(self):
        return (self.row(i) for i in range(len(self)))

    def map(self, function):
        """The source of `function(row)`, computed each time the row is read."""
        return Mapped(self, function)

    def augment(self, function):
        """The source of `function(row, generator)`, where the NumPy generator depends on the loader's seed, the epoch and the row.

        >>> noisy = rg.data.source(np.zeros(100)).augment(lambda x, generator: x + generator.normal())
        >>> one, two = (next(iter(rg.data.Loader(noisy, 100, seed=1, workers=n))).tolist() for n in (0, 2))
        >>> one == two
        True
        """
        return Augmented(self, function)

    def filter(self, condition):
        """The rows for which `condition(row)` is true. Each row is read once for that, now."""
        return Selected(self, np.flatnonzero([bool(condition(row)) for row in self]))

    def select(self, indices):
        """The rows of these numbers, in this order; a mask of truth values selects as in NumPy."""
        indices = np.asarray(indices)
        if indices.dtype == bool:
            if indices.shape != (len(self),):
                raise ArgumentError(f"a mask needs one truth value for each of the {len(self)} rows, got shape {indices.shape}")
            indices = np.flatnonzero(indices)
        indices = indices.astype(np.int64) if indices.size == 0 else indices
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise ArgumentError(f"rows are selected by integers in one axis, got {indices.dtype} of shape {indices.shape}")
        if indices.size and (indices.max() >= len(self) or indices.min() < -len(self)):
            raise OutOfRangeError(f"rows are numbered 0 to {len(self) - 1}, got {indices.min()} to {indices.max()}")
        return Selected(self, np.where(indices < 0, indices + len(self), indices))

    def split(self, *parts, seed=0):
        """Parts of the rows, drawn at random: numbers of rows, or fractions that add up to 1.

        >>> [len(part) for part in rg.data.source(range(10)).split(0.8, 0.2)]
        [8, 2]
        """
        sizes = sizes_of(parts, len(self))
        order, ends = shuffled(len(self), key_of(seed, -1)), np.cumsum(sizes)
        return tuple([Selected(self, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)])


def checked(i, length):
    """The number of a row, counted from the end if it is negative."""
    i = as_index(i)
    if not -length <= i < length:
        raise OutOfRangeError(f"there are {length} rows, and no row {i}")
    return i + length if i < 0 else i


def sizes_of(parts, total):
    """How many rows each part has: as given, or by fractions; the first ones get a row more where these do not come out even."""
    if all([isinstance(part, (int, np.integer)) and not isinstance(part, bool) for part in parts]):
        if sum(parts) != total or min(parts, default=0) < 0:
            raise ArgumentError(f"the parts must add up to {total} rows, got {parts}")
        return list(parts)
    if any([part < 0 or part > 1 for part in parts]) or abs(sum(parts) - 1) > 1e-6:
        raise ArgumentError(f"fractions must be from 0 to 1 and add up to 1, got {parts}")
    sizes = [int(total * part + 1e-9) for part in parts]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    return sizes


class _View(Source):
    """Rows of another source, in its order."""

    def __init__(self, source, function):
        self.source, self.function = source, function

    def __len__(self):
        return len(self.source)

    def where(self, i):
        return self.source.where(i)


class Mapped(_View):
    """What `map` returns."""

    def row(self, i):
        return self.function(self.source.row(i))


class Augmented(_View):
    """What `augment` returns."""

    def row(self, i):
        if is_sampling():
            return self.function(self.source.row(i), sample_generator())
        # Looked at without a loader: as in epoch 0 of seed 0.
        with sampling(key_of(0, 0)) as sample:
            sample.move(i)
            return self.function(self.source.row(i), sample_generator())


class Selected(Source):
    """Some rows of another source, in an order of their own."""

    def __init__(self, source, indices):
        self.source, self.indices = source, indices
        self.can_gather = source.can_gather

    def __len__(self):
        return len(self.indices)

    def row(self, i):
        return self.source.row(int(self.indices[i]))

    def gather(self, indices):
        chosen = self.indices[indices.start : indices.stop] if isinstance(indices, range) else self.indices[indices]
        return self.source.gather(chosen)

    def where(self, i):
        return self.source.where(int(self.indices[i]))
