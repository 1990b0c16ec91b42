"""The programs of one jitted function, of which those that were used last are kept."""

from typing import Any

from ..compiler.run.room import Room
from ..once import forkable
from ..precision import keepers
from .retracing import Row


class Programs:
    """The programs compiled for a function, or for a method of one object."""

    def __init__(self):
        self.programs, self.row = {}, Row()
        #: By the identity of each step its key and itself, the one that was used last at the end; how many there ever were.
        self.used, self.traces = {}, 0
        self.room = Room()
        self.latest: Any = None
        #: A short way of calling the latest program, and the mode in which it may be taken.
        self.quick: Any = None
        self.quick_mode: Any = None
        self.last: Any = None
        #: What told the arguments of the last call apart, by their names, once calls are traced anew again and again.
        self.last_specs: Any = None
        #: A program has one memory for its values, so that one thread at a time runs it.
        self.lock = forkable()
        keepers.add(self)

    def forget_latest(self):
        """Look the next call's program up, since what it depends on beside the arguments has changed."""
        self.latest = self.quick = None

    def note(self, key, step, most):
        """Note that a step is used, and let the one go that was not used for longest if there are more than `most`."""
        known = self.used.pop(id(step), None)
        self.used[id(step)] = known or (key, step)
        if most is not None and len(self.used) > most:
            key, old = self.used.pop(next(iter(self.used)))
            steps = self.programs[key]
            steps.remove(old)
            if not steps:
                del self.programs[key]
