"""Jobs: how a batch is made of a data set. A job is what workers are given; it makes one batch for each task."""

import random
from enum import Enum
from typing import Any

import numpy as np

from ..ops.random.draws import manual_seed
from .sample import WorkerInfo, become, sampling


class End(Enum):
    """What a job gives when its stream has no more batches; the same object in all processes."""

    END = "end"


END = End.END


class Job:
    """A data set, and how batches are made of it.

    collate     what makes a batch of a list of rows
    init        what each worker calls with its number before it starts
    """

    is_stream = False

    def __init__(self, dataset, collate, init=None):
        self.dataset, self.collate, self.init, self.key = dataset, collate, init, 0
        #: What seeds the default generator of a process.
        self.seeding: Any = manual_seed

    def prepare(self, number, count, seed, is_alone):
        """Be worker `number` of `count`. One that is alone in its process seeds the random numbers of that process."""
        become(WorkerInfo(number, count, seed + number, self.dataset))
        if is_alone:
            self.seeding(seed + number)
            random.seed(seed + number)
            np.random.seed((seed + number) % 2**32)
        if self.init is not None:
            self.init(number)

    def begin(self, key):
        """Start an epoch, whose samples draw from the streams of `key`."""
        self.key = key

    def make(self, task):
        """The batch of a task."""
        raise NotImplementedError(f"{type(self).__name__} makes no batches")


class Rows(Job):
    """A task is a list of rows, which are collated. `gather`, if given, makes the batch of their numbers at once."""

    def __init__(self, dataset, collate, init=None, gather=None):
        super().__init__(dataset, collate, init)
        self.gather = gather

    def make(self, task):
        if self.gather is not None:
            return self.gather(task)
        task = task.tolist() if isinstance(task, np.ndarray) else task  # users' code is given Python's integers
        rows = self._all(task) if hasattr(self.dataset, "__getitems__") else self._each(task)
        try:
            return self.collate(rows)
        except Exception as error:
            error.add_note(f"while a batch was made of rows {_listed(task)}")
            raise

    def _each(self, task):
        dataset, rows = self.dataset, []
        with sampling(self.key) as sample:
            for index in task:
                sample.move(index)
                try:
                    rows.append(dataset[index])
                except Exception as error:
                    error.add_note(f"while row {index}{_place(dataset, index)} was made")
                    raise
        return rows

    def _all(self, task):
        with sampling(self.key) as sample:
            sample.move(task[0] if len(task) else 0)
            try:
                return self.dataset.__getitems__(list(task))
            except Exception as error:
                error.add_note(f"while rows {_listed(task)} were made")
                raise


class Row(Rows):
    """A task is one row, which is no batch."""

    def make(self, task):
        return self.collate(self._each([task])[0])


class Stream(Job):
    """A task is the next batch of an iterable data set."""

    is_stream = True

    def __init__(self, dataset, collate, init=None, batch_size=None, drop_last=False):
        super().__init__(dataset, collate, init)
        self.batch_size, self.drop_last, self.rows, self.count = batch_size, drop_last, None, 0

    def __getstate__(self):
        return {**self.__dict__, "rows": None}

    def begin(self, key):
        super().begin(key)
        self.rows, self.count = None, 0

    def make(self, task):
        with sampling(self.key) as sample:
            self.rows = iter(self.dataset) if self.rows is None else self.rows
            rows = []
            for _ in range(self.batch_size or 1):
                sample.move(self.count)
                try:
                    rows.append(next(self.rows))
                except StopIteration:
                    break
                except Exception as error:
                    error.add_note(f"while row {self.count} of the stream was made")
                    raise
                self.count += 1
        if not rows or (self.drop_last and len(rows) < (self.batch_size or 1)):
            return END
        return self.collate(rows if self.batch_size else rows[0])


def _place(dataset, index):
    where = getattr(dataset, "where", None)
    text = where(index) if callable(where) else ""
    return f", {text}," if text else ""


def _listed(task):
    rows = [int(i) if isinstance(i, np.integer) else i for i in task]
    return str(rows) if len(rows) <= 8 else f"{str(rows[:8])[:-1]}, ...]"
