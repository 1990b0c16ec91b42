"""Crew: what is the same for threads and processes. Tasks are handed out, and each has a ticket with which its batch is taken."""

import time

from ...errors import WorkerError
from ..jobs import END
from .failures import Failure


class Crew:
    """Workers with tasks under way. Each does its tasks in their order; a subclass says how these are sent and answered.

    prefetch    how many tasks a worker may have
    """

    is_ahead = True

    def __init__(self, job, count, prefetch):
        self.count, self.capacity, self.is_stream = count, count * prefetch, job.is_stream
        self.loads, self.active = [0] * count, list(range(count))
        self.tickets, self.first = 0, 0
        self.assigned, self.done = {}, {}

    def begin(self, key):
        """Start an epoch. Batches of an earlier one that are still under way are thrown away."""
        self.first, self.active = self.tickets, list(range(self.count))
        self.done.clear()
        for worker in range(self.count):
            self.send(worker, ("begin", key))

    def start(self, task):
        """Hand a task to a worker; returns its ticket."""
        ticket = self.tickets
        # The rows of a stream go to the workers in turns, so that their order is known; others to whom has least to do.
        worker = self.active[0] if self.is_stream else min(range(self.count), key=self.loads.__getitem__)
        if self.is_stream:
            self.active.append(self.active.pop(0))
        self.loads[worker] += 1
        self.assigned[ticket] = worker, task
        self.tickets += 1
        self.send(worker, ("make", ticket, task))
        return ticket

    def take(self, ticket, timeout=None):
        """The batch of a ticket, or the error that its worker met. Waits `timeout` seconds at most."""
        until = None if timeout is None else time.monotonic() + timeout
        while ticket not in self.done:
            left = None if until is None else until - time.monotonic()
            if (left is not None and left <= 0) or not self.wait(left):
                worker, task = self.assigned[ticket]
                self.close()
                raise WorkerError(f"{self.name(worker)} has not made its batch within {timeout:g} seconds{_rows(task)}; "
                                  "raise timeout=")
        outcome = self.done.pop(ticket)
        if isinstance(outcome, Failure):
            outcome.throw(self.name(self.assigned.pop(ticket)[0]))
        worker, _ = self.assigned.pop(ticket)
        if outcome is END and worker in self.active:
            self.active.remove(worker)
        return outcome

    def arrived(self, worker, ticket, outcome):
        """Note what a worker answered."""
        self.loads[worker] -= 1
        if ticket >= self.first:
            self.done[ticket] = outcome
        else:
            self.assigned.pop(ticket, None)

    def tasks_of(self, worker):
        """What is said of the task that a worker had when it died."""
        mine = [task for ticket, (owner, task) in self.assigned.items() if owner == worker and ticket not in self.done]
        return _rows(mine[0]) if mine else ""

    def send(self, worker, message):
        """Send a message to a worker."""
        raise NotImplementedError

    def wait(self, seconds):
        """Wait for answers, and note them by `arrived`; whether there were any in time."""
        raise NotImplementedError

    def name(self, worker):
        """How a worker is called in errors."""
        raise NotImplementedError

    def close(self):
        """End the workers."""
        raise NotImplementedError


def _rows(task):
    if task is None:
        return ""
    rows = list(task) if isinstance(task, range) or hasattr(task, "__len__") and not isinstance(task, str) else [task]
    shown = ", ".join(str(row) for row in rows[:8])
    return f" (rows {shown}{', ...' if len(rows) > 8 else ''})"
