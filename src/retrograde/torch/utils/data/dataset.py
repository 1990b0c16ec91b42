"""Data sets with PyTorch's names: rows by number, or one after the other."""

from bisect import bisect_right
from itertools import accumulate
from math import floor, isclose
from typing import Any, Generic, TypeVar

from ....core.value import Value
from ....data.sources.made import taken
from ....errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from ...creation import of, randperm
from ...creation import tensor as made_tensor

T = TypeVar("T")


class Dataset(Generic[T]):
    """Rows by number: a subclass has `__getitem__`, and mostly `__len__`; one with `__getitems__` gives many rows at once."""

    def __getitem__(self, index) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs __getitem__")

    def __add__(self, other) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Rows one after the other: a subclass has `__iter__`. Each worker iterates over a copy of its own; see `get_worker_info`."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors of one length, as tuples."""

    def __init__(self, *tensors):
        lengths = [len(t) for t in tensors]
        if len(set(lengths)) != 1:
            raise ShapeError(f"TensorDataset needs tensors of one length, got {lengths}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([t[index] for t in self.tensors])

    def __len__(self):
        return len(self.tensors[0])

    def gather(self, indices):
        """The batch of many rows at once."""
        return [of(made_tensor(taken(t.raw, indices))) if isinstance(t, Value) else taken(t, indices) for t in self.tensors]


class StackDataset(Dataset):
    """Rows of several data sets beside each other: as tuples, or as dictionaries where the data sets have names."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset needs data sets by position or by name")
        self.datasets: Any = args or kwargs
        lengths = [len(part) for part in (args or kwargs.values())]
        if len(set(lengths)) > 1:
            raise ShapeError(f"StackDataset needs data sets of one length, got {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple([part[index] for part in self.datasets])

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """The rows of several data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset needs at least one data set")
        if any([isinstance(part, IterableDataset) for part in self.datasets]):
            raise DTypeError("ConcatDataset needs rows by number; ChainDataset takes an IterableDataset")
        self.cumulative_sizes = list(accumulate([len(part) for part in self.datasets]))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise OutOfRangeError(f"there are {len(self)} rows, and no row {index}")
        index = index + len(self) if index < 0 else index
        k = bisect_right(self.cumulative_sizes, index)
        return self.datasets[k][index - (self.cumulative_sizes[k - 1] if k else 0)]


class ChainDataset(IterableDataset):
    """The rows of several iterable data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise DTypeError(f"ChainDataset takes an IterableDataset, got {type(part).__name__}; ConcatDataset takes others")
            yield from part

    def __len__(self):
        return sum([len(part) for part in self.datasets])


class Subset(Dataset[T]):
    """The rows of a data set that have these numbers."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    @property
    def __getitems__(self):
        # Only where the data set has it: rows that are made one by one each have random numbers of their own.
        many = self.dataset.__getitems__
        return lambda indices: many([self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)

    def gather(self, indices):
        """The batch of many rows at once."""
        return self.dataset.gather([self.indices[i] for i in indices])


def gatherer(dataset):
    """What makes a batch of many rows of a data set at once; None where rows are made one by one."""
    kind = type(dataset)
    if isinstance(dataset, TensorDataset) and kind.__getitem__ is TensorDataset.__getitem__ and not hasattr(kind, "__getitems__"):
        is_plain = not any([isinstance(t, Value) and t.requires_grad for t in dataset.tensors])
        return dataset.gather if is_plain and all([isinstance(t, Value) for t in dataset.tensors]) else None
    if isinstance(dataset, Subset) and kind.__getitem__ is Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
        return dataset.gather if gatherer(dataset.dataset) is not None else None
    return None


def random_split(dataset, lengths, generator=None):
    """Subsets of a data set without common rows, drawn at random: of these lengths, or of these fractions, which add up to 1.

    Where fractions do not come out even, the first parts get a row more.
    """
    lengths = list(lengths)
    if isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any([part < 0 or part > 1 for part in lengths]):
            raise ArgumentError(f"random_split needs fractions from 0 to 1, got {lengths}")
        sizes = [floor(len(dataset) * part) for part in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ArgumentError(f"random_split needs lengths that add up to {len(dataset)}, or fractions that add up to 1, "
                            f"got {lengths}")
    order, ends = randperm(len(dataset), generator=generator).tolist(), list(accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for length, end in zip(lengths, ends, strict=True)]
