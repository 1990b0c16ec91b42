"""Delivery: the batches of one epoch in the order of their tasks, made ahead by workers."""

from collections import deque
from typing import Any

from ..errors import DataError
from .jobs import END


class Delivery:
    """Iterates over the batches of `tasks` that a crew makes. An error of a row is raised in the place of its batch.

    key         that of the epoch: samples draw their random numbers from it
    finish      what is done to a batch where it is used, such as making tensors of arrays
    release     what is called with the crew when no more is needed of it
    skip        how many batches are made and thrown away first
    """

    def __init__(self, crew, tasks, key, finish, release, timeout=None, skip=0):
        self._crew: Any = crew
        self._tasks, self._finish, self._release, self._timeout = iter(tasks), finish, release, timeout
        self._tickets, self._error, self._skip = deque(), None, skip
        crew.begin(key)

    def __iter__(self):
        return self

    def __next__(self):
        while self._skip:
            self._skip -= 1
            self._next()
        return self._finish(self._next())

    def _next(self):
        while (crew := self._crew) is not None:
            try:
                self._start()
                batch = self._taken()
                if batch is not END and crew.is_ahead:
                    self._start()
            except StopIteration as error:
                # It would end the epoch, as if there were no more rows.
                raise DataError("a row, or what makes a batch of rows, raised StopIteration") from error
            except Exception:
                if not crew.close.alive:
                    self.close()
                raise
            except BaseException:  # Ctrl-C may come in the middle of a message
                crew.close()
                self.close()
                raise
            if batch is not END:
                return batch
            if not crew.is_ahead or not crew.active:
                self._tasks = iter(())
        raise StopIteration

    def _taken(self):
        """The batch that comes next; where there is none, the workers are let go, and what ended the tasks is raised."""
        if self._tickets:
            return self._crew.take(self._tickets.popleft(), self._timeout)
        error = self._error
        self.close()
        if error is not None:
            raise error
        return END

    def _start(self):
        """Hand out tasks until as many are under way as the crew takes."""
        while self._error is None and len(self._tickets) < self._crew.capacity and self._has_takers():
            try:
                task = next(self._tasks)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 - raised when the batches before it are delivered
                self._error = error
                return
            self._tickets.append(self._crew.start(task))

    def _has_takers(self):
        return not self._crew.is_ahead or bool(self._crew.active)

    def close(self):
        """Let the workers go; there are no more batches."""
        if self._crew is not None:
            crew, self._crew = self._crew, None
            self._tickets.clear()
            self._release(crew)

    def __del__(self):
        if getattr(self, "_crew", None) is not None:
            self.close()
