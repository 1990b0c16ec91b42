"""`DataLoader`: PyTorch's arguments over the loader of `retrograde.data`."""

from itertools import chain, islice, repeat
from typing import Any, Generic, TypeVar

from ....data.delivery import Delivery
from ....data.jobs import Row, Rows, Stream
from ....data.orders import key_of
from ....data.workers import Inline, Processes, Threads
from ....errors import ArgumentError, DataError
from ...modes import default_generator, manual_seed
from .collating import default_collate, default_convert
from .dataset import IterableDataset, gatherer
from .sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    drawn_seed,
)

T = TypeVar("T")
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
_NO_TASK = object()


class DataLoader(Generic[T]):
    """Batches of a data set: iterate over it once an epoch. The arguments are PyTorch's.

    `num_workers` are processes, or threads with `multiprocessing_context="threads"`. `pin_memory`, `pin_memory_device` and
    `in_order` are accepted and do nothing: there is no GPU, and batches come in their order. What PyTorch has not: `state_dict()`
    is the place after the batch that was delivered last, and `load_state_dict(state)` goes on from there.
    """

    def __init__(self, dataset, batch_size: Any = 1, shuffle: Any = None, sampler: Any = None, batch_sampler: Any = None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor: Any = None, persistent_workers=False,
                 pin_memory_device="", in_order=True):
        self._is_ready = False
        is_stream = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        _check_order(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not is_stream and batch_sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not is_stream:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            dataset, batch_size, drop_last, sampler, batch_sampler)
        self.num_workers, self.timeout = num_workers, timeout
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator, self.persistent_workers = worker_init_fn, generator, persistent_workers
        self.multiprocessing_context = multiprocessing_context
        is_batched = batch_sampler is not None or (is_stream and batch_size is not None)
        self.collate_fn = collate_fn or (default_collate if is_batched else default_convert)
        self._crew: Any = None
        self._resumes: Any = None
        self._place = {"position": 0, "generator": None}
        self._is_ready = True

    def __setattr__(self, name, value):
        if name in _FIXED and getattr(self, "_is_ready", False):
            raise ArgumentError(f"{name} of a DataLoader cannot be changed; make a new one")
        object.__setattr__(self, name, value)

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count = len(self.dataset)  # type: ignore[arg-type] - an error where it has none
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    @property
    def keeps_rows(self):
        """Whether an epoch has each row, in the order of the data set, as far as the sampler says."""
        leaves_out = self.drop_last and len(self.dataset) % (self.batch_size or 1) > 0
        return not leaves_out and not isinstance(self.sampler, (RandomSampler, SubsetRandomSampler, WeightedRandomSampler))

    def __iter__(self):
        resumes, self._resumes = self._resumes, None
        generator = default_generator if self.generator is None else self.generator
        now = generator.get_state()
        if resumes is not None:
            generator.set_state(resumes["generator"])
        start, position = generator.get_state(), 0 if resumes is None else resumes["position"]
        seed = drawn_seed(generator)
        tasks, skip = self._tasks(position)
        if resumes is not None and self.generator is None:
            # Others draw from the default generator as well, and have gone on.
            generator.set_state(now)
        self._place = {"position": position, "generator": [int(word) for word in start]}
        crew, self._crew = self._crew or self._made_crew(seed), None
        return _Epoch(self, self._place, Delivery(crew, tasks, key_of(seed, 0), _as_it_is, self._keep, self.timeout or None, skip))

    def _tasks(self, position):
        """(the tasks from a position on, how many batches are to be made and thrown away first)."""
        if isinstance(self.dataset, IterableDataset):
            return repeat(None), position
        order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        tasks = iter(order)
        # Samplers draw when they are asked first, which is to be now.
        for _ in islice(tasks, position):
            pass
        first = next(tasks, _NO_TASK)
        return (tasks if first is _NO_TASK else chain([first], tasks)), 0

    def _made_crew(self, seed):
        job = self._job()
        job.seeding = manual_seed
        if not self.num_workers:
            return Inline(job)
        if self.multiprocessing_context == "threads":
            return Threads(job, self.num_workers, self.prefetch_factor, seed)
        return Processes(job, self.num_workers, self.prefetch_factor, seed, self.multiprocessing_context)

    def _job(self):
        if isinstance(self.dataset, IterableDataset):
            return Stream(self.dataset, self.collate_fn, self.worker_init_fn, self.batch_size, self.drop_last)
        if self.batch_sampler is None:
            return Row(self.dataset, self.collate_fn, self.worker_init_fn)
        gather = gatherer(self.dataset) if self.collate_fn is default_collate else None
        return Rows(self.dataset, self.collate_fn, self.worker_init_fn, gather)

    def _keep(self, crew):
        """What becomes of the workers of an epoch that is over."""
        if self.persistent_workers and self._crew is None and crew.close.alive:
            self._crew = crew
        else:
            crew.close()

    def state_dict(self):
        """The place after the batch that was delivered last, as plain numbers. What workers made ahead does not count."""
        return dict(self._place)

    def load_state_dict(self, state):
        """Go on from a place that `state_dict` gave, in the next iteration."""
        if set(state) != {"position", "generator"}:
            raise DataError(f"the state of a DataLoader has position and generator; got {sorted(state)}")
        if state["generator"] is None:
            self._resumes, self._place = None, dict(state)
            return
        self._resumes, self._place = dict(state), dict(state)


class _Epoch:
    """The batches of an epoch; notes in the loader how many were delivered."""

    def __init__(self, loader, place, delivery):
        self._loader, self._place, self._delivery = loader, place, delivery

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        try:
            batch = next(self._delivery)
        except StopIteration:
            self._place.update(position=0, generator=None)
            raise
        self._place["position"] += 1
        return batch


def _as_it_is(batch):
    return batch


def _check_workers(count, timeout, prefetch_factor, is_persistent):
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ArgumentError(f"num_workers must be an integer of at least 0, got {count!r}")
    if timeout < 0:
        raise ArgumentError(f"timeout must be at least 0 seconds, got {timeout}")
    if not count and (prefetch_factor is not None or is_persistent):
        raise ArgumentError("prefetch_factor and persistent_workers need num_workers of at least 1")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ArgumentError(f"prefetch_factor must be at least 1, got {prefetch_factor}")


def _check_order(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last):
    if is_stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ArgumentError("an IterableDataset has its own order: leave shuffle, sampler and batch_sampler out")
    if sampler is not None and shuffle:
        raise ArgumentError("a sampler decides the order: leave shuffle out")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ArgumentError("a batch_sampler decides the batches: leave batch_size, shuffle, sampler and drop_last out")
    if batch_size is None and drop_last:
        raise ArgumentError("without batches (batch_size=None) there is no last one to drop")
