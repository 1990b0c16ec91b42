"""Meeting: before each collective call all processes of a group say what they are about to do, and go on if that is the same.

So a process that is missing is known by its number, and what differs is told with both sides before any data moves.
"""

from abc import ABC, abstractmethod

import numpy as np

from ..errors import DistributedError
from .patience import seconds_of_patience, waited

#: The bytes of what a process says, and the tag under which it does.
BYTES, _TAG = 320, 7


class Meeting(ABC):
    """The meetings of one group: this process is number `rank` in it, and `ranks` are the numbers of its processes among all."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.others = [r for r in range(len(ranks)) if r != rank]

    @abstractmethod
    def meet(self, text, seconds=None):
        """Wait for the others, and raise a DistributedError unless all say `text`."""

    def missing(self, late, text, last):
        """The error that says who has not come, and what the first of them said last, "" if nothing."""
        who = _numbered([self.ranks[r] for r in late])
        came = f"came to {last} last" if last else "has come to nothing yet"
        here = [r for r in range(len(self.ranks)) if r not in late]
        return reported(DistributedError(
            f"{who} did not come to {text} within {seconds_of_patience():g} s: it hangs, or does something that the others do not; "
            f"it {came}. rg.distributed.patience(seconds) waits longer"), self.rank == here[0])

    def differing(self, texts):
        """The error that says what processes want, by the texts "number of the call: what" of all; the same together."""
        by_text: dict = {}
        for r, text in enumerate(texts):
            by_text.setdefault(text, []).append(self.ranks[r])
        sides = "; ".join(f"{_numbered(ranks)}: call {said}" for said, ranks in by_text.items())
        return reported(DistributedError(f"all processes of a group must make the same calls in the same order, got {sides}"),
                        self.rank == 0)


class ByMessages(Meeting):
    """Meetings by messages of MPI; `comm` is the communicator of the group."""

    def __init__(self, mpi, comm, ranks):
        super().__init__(comm.rank, ranks)
        self._test, self._start = mpi.Request.Testall, mpi.Prequest.Startall
        self._count = 0
        self._said = np.zeros((comm.size, BYTES), np.uint8)
        row = lambda r: [self._said[r], mpi.BYTE]
        self._receives = [comm.Recv_init(row(r), r, _TAG) for r in self.others]
        self._requests = [*self._receives, *[comm.Send_init(row(comm.rank), r, _TAG) for r in self.others]]

    def meet(self, text, seconds=None):
        self._count += 1
        before = self._said.copy()
        said = f"{self._count}: {text}".encode()[:BYTES].ljust(BYTES, b"\0")
        self._said[self.rank] = np.frombuffer(said, np.uint8)
        self._start(self._requests)
        if not waited(lambda: self._test(self._requests), seconds or seconds_of_patience()):
            late = [r for r, request in zip(self.others, self._receives, strict=True) if not request.Test()]
            raise self.missing(late, text, _told(before[late[0]]).partition(": ")[2] if late else "")
        if self.others and (self._said != self._said[0]).any():
            raise self.differing(map(_told, self._said))


def _told(row):
    return bytes(row).rstrip(b"\0").decode(errors="replace")


def unfinished(name, is_here):
    """The error that a call which all have begun is not over."""
    return reported(DistributedError(f"{name} has begun on all processes, and is not over after {seconds_of_patience():g} s: one "
                                     "of them hangs, or the network does"), is_here)


def reported(error, is_here):
    """`error`, which several processes raise alike, with the mark of the one that tells it."""
    error.is_told_here = is_here
    return error


def _numbered(ranks):
    return f"process {ranks[0]}" if len(ranks) == 1 else f"processes {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
