"""The sample that is being made: where its random numbers come from, and which worker makes it."""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from .orders import MASK, bits

_SAMPLE: ContextVar[Any] = ContextVar("retrograde_sample", default=None)
_WORKER: ContextVar[Any] = ContextVar("retrograde_worker", default=None)


class WorkerInfo(NamedTuple):
    """What a worker knows of itself: its number, how many there are, its seed, and its data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Sample:
    """The place of one sample in the streams of random numbers; made once for a batch, and moved from row to row."""

    __slots__ = ("generator", "index", "key")

    def __init__(self, key):
        self.key, self.index, self.generator = key, 0, None

    def move(self, index):
        self.index, self.generator = index, None


@contextmanager
def sampling(key):
    """Within it `sample_generator()` is known; `move(index)` of what it gives says for which row."""
    token = _SAMPLE.set(_Sample(key))
    try:
        yield _SAMPLE.get()
    finally:
        _SAMPLE.reset(token)


def is_sampling():
    """Whether a loader is making a sample."""
    return _SAMPLE.get() is not None


def sample_generator():
    """A NumPy generator for the sample that a loader is making: of the loader's seed, the epoch and the row's number alone.

    So what is drawn from it does not depend on the number of workers, or on which of them makes the sample, or on a resume.

    >>> class Noisy:
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return i + rg.data.sample_generator().uniform()
    >>> [[rg.round(10 * x).tolist() for x in rg.data.Loader(Noisy(), 4, workers=n)] for n in (0, 2)]
    [[[9.0, 20.0, 25.0, 38.0]], [[9.0, 20.0, 25.0, 38.0]]]
    """
    sample = _SAMPLE.get()
    if sample is None:
        raise DataError("sample_generator() is known only while a loader makes a sample; elsewhere use np.random.default_rng(seed)")
    if sample.generator is None:
        index = sample.index
        # Keys that are no integers, such as names of files, have the bits of their text.
        number = int(index) if isinstance(index, (int, np.integer)) else int.from_bytes(repr(index).encode()[-64:], "little")
        sample.generator = np.random.Generator(bits(sample.key, number & MASK))
    return sample.generator


def worker_info():
    """Which worker makes the sample (`id`, `num_workers`, `seed`, `dataset`); None where it is not a worker."""
    return _WORKER.get()


def become(info):
    """Be a worker, in this thread."""
    _WORKER.set(info)
