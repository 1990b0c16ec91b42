"""No workers: a batch is made when it is asked for."""

import weakref
from collections import deque


class Inline:
    """What `Crew` is for workers, without any."""

    is_ahead = False
    capacity = 1

    def __init__(self, job):
        self.job, self.tasks = job, deque()
        self.close = weakref.finalize(self, _nothing)

    def begin(self, key):
        """Start an epoch."""
        self.tasks.clear()
        self.job.begin(key)

    def start(self, task):
        """Note a task."""
        self.tasks.append(task)
        return 0

    def take(self, ticket, timeout):
        """The batch of the task that was noted."""
        return self.job.make(self.tasks.popleft())


def _nothing():
    """There is nothing to close."""
