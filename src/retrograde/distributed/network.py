"""Network: what lies between processes, and how long the collectives of this package take over it.

Messages that begin at the same time take latency + bytes / bandwidth, and a little more for each beyond the first: the model of
Hockney, "The communication challenge for MPP" (1994), with the overhead of LogP (Culler et al., 1993). Which messages a sum is made
of stands in `processes.py`; as the best known ways do (Thakur et al., "Optimization of collective communication operations in
MPICH", 2005), a sum of n bytes over p processes moves 2 n (p - 1) / p of them to and from each.
"""

from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any, NamedTuple

from ..errors import ArgumentError
from .meeting import BYTES
from .processes import WHOLE

#: Up to so many processes each adds up all for itself, in memory that all see.
ALONE = 3


class Taken(NamedTuple):
    """What a collective takes: seconds in which its process waits for messages, and seconds in which it works for them; `begun` of
    these when it begins, in memory that all see, where nothing else is done until its result is asked for.
    """

    waiting: float
    work: float
    begun: Any = None

    @property
    def seconds(self):
        """Both together."""
        return self.waiting + self.work


NOTHING = Taken(0.0, 0.0)


@dataclass(frozen=True)
class Link:
    """What lies between processes, and what each of them does itself to use it.

    latency    seconds from when a process sends a short message until another one has it
    bandwidth  bytes per second that a process sends while it receives as many; where k processes of one machine send at the same
               time, a k-th of what the machine's network has
    overhead   seconds for each further message that is sent at the same time; as the latency, if that is not said
    call       seconds that a process works for each collective, whatever its size
    copying    bytes per second that a process copies, or adds to others
    delay      seconds that are put in before each collective, as `link_delay` does
    is_shared  whether all are processes of one machine, whose large sums go through its memory

    >>> rg.distributed.Link(latency=50e-6, bandwidth=125e6).mean(4 * 2**20, 2).seconds  # 1 GbE, a bucket of gradients
    0.033706992
    """

    latency: float
    bandwidth: float
    overhead: Any = None
    call: float = 0.0
    copying: float = inf
    delay: float = 0.0
    is_shared: bool = False

    def __post_init__(self):
        if self.overhead is None:
            object.__setattr__(self, "overhead", self.latency)
        for name in ("latency", "overhead", "call", "delay"):
            checked_number(f"{name} of a link", getattr(self, name), "seconds of at least 0", lambda x: 0 <= x < inf)
        for name in ("bandwidth", "copying"):
            checked_number(f"{name} of a link", getattr(self, name), "bytes per second above 0", lambda x: x > 0)

    def messages(self, count, nbytes):
        """Seconds until so many messages, of so many bytes together, that a process sends at the same time have come to others."""
        return self.latency + (count - 1) * self.overhead + nbytes / self.bandwidth if count > 0 else 0.0

    def sum(self, nbytes, processes):
        """What the sum of an array of so many bytes over so many processes takes, in the order of ranks."""
        return self._summed(nbytes, processes, is_mean=False)

    def mean(self, nbytes, processes):
        """What the mean of several arrays, of so many bytes together, takes, as that of a bucket of gradients."""
        return self._summed(nbytes, processes, is_mean=True)

    def gather(self, nbytes, most, least, processes):
        """What it takes until all processes have the parts of all, `nbytes` together, of which one process has at `most` and at
        `least` so many.
        """
        if processes == 1:
            return NOTHING
        others = processes - 1
        moved = max(nbytes - least, most * others)
        # Its own are packed; what comes is taken in, handed to the step, and written to the parameters.
        return self._met(others, self.messages(others, moved), most + 3 * nbytes)

    def _summed(self, nbytes, processes, is_mean):
        if processes == 1:
            return NOTHING
        others, part = processes - 1, nbytes / processes
        if self.is_shared:
            found = self._met(others, 0.0, shared_passes(nbytes, processes))
            return found._replace(begun=self.call + nbytes / self.copying)
        packed = 2 * nbytes if is_mean else 0  # written one after the other before, and divided afterwards
        if nbytes <= WHOLE:  # all get all, and add it up themselves
            return self._met(others, self.messages(others, nbytes * others), packed + nbytes * others)
        return self._met(others, 2 * self.messages(others, part * others), packed + part * others)

    def _met(self, others, waiting, copied):
        """What it takes with what all tell each other before; so many bytes are copied, or added up."""
        return Taken(self.messages(others, others * BYTES) + self.delay + waiting, self.call + copied / self.copying)


def shared_passes(nbytes, processes):
    """How many bytes a process moves, or adds up, for a sum in memory that all see: its own are written there, and those of all
    read; with many processes those of one part, and then the parts of all.
    """
    others = processes - 1
    return nbytes * (1 + others) if processes <= ALONE else nbytes * (2 + others / processes)


def checked_number(name, value, told, is_right):
    """`value`, or an ArgumentError unless it is a number that `is_right`, which `told` says in words."""
    if isinstance(value, bool) or not isinstance(value, Real) or not is_right(value):
        raise ArgumentError(f"{name} must be a number of {told}, got {value!r}")
    return value
