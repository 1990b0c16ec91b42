"""Meeting: before each collective call all processes of a group say what they are about to do, and go on if that is the same.

So a process that is missing is known by its number, and what differs is told with both sides before any data moves.
"""

import numpy as np

from ..errors import DistributedError
from .patience import seconds_of_patience, waited

#: The bytes of what a process says, and the tag under which it does.
BYTES, _TAG = 320, 7


class Meeting:
    """The meetings of one group: `comm` is its communicator, `ranks` the numbers of its processes among all."""

    def __init__(self, mpi, comm, ranks):
        self._test, self._start = mpi.Request.Testall, mpi.Prequest.Startall
        self._rank, self._ranks, self._count = comm.rank, ranks, 0
        self._said = np.zeros((comm.size, BYTES), np.uint8)
        self._others = [r for r in range(comm.size) if r != comm.rank]
        row = lambda r: [self._said[r], mpi.BYTE]
        self._receives = [comm.Recv_init(row(r), r, _TAG) for r in self._others]
        self._requests = [*self._receives, *[comm.Send_init(row(comm.rank), r, _TAG) for r in self._others]]

    def meet(self, text, seconds=None):
        """Wait for the others, and raise a DistributedError unless all say `text`."""
        self._count += 1
        said = f"{self._count}: {text}".encode()[:BYTES]
        before = self._said.copy()
        self._said[self._rank, : len(said)] = np.frombuffer(said, np.uint8)
        self._said[self._rank, len(said) :] = 0
        self._start(self._requests)
        if not waited(lambda: self._test(self._requests), seconds or seconds_of_patience()):
            raise self._missing(text, before)
        if self._others and (self._said != self._said[0]).any():
            raise self._differ()

    def _missing(self, text, before):
        late = [r for r, request in zip(self._others, self._receives, strict=True) if not request.Test()]
        last = self._text(before[late[0]]) if late else ""
        who = _numbered([self._ranks[r] for r in late])
        came = f"came to {last.partition(': ')[2]} last" if last else "has come to nothing yet"
        here = [r for r in range(len(self._ranks)) if r not in late]
        return reported(DistributedError(
            f"{who} did not come to {text} within {seconds_of_patience():g} s: it hangs, or does something that the others do not; "
            f"it {came}. rg.distributed.patience(seconds) waits longer"), self._rank == here[0])

    def _differ(self):
        """The error that says what processes want, those that want the same together."""
        by_text: dict = {}
        for r, row in enumerate(self._said):
            by_text.setdefault(self._text(row), []).append(self._ranks[r])
        sides = "; ".join(f"{_numbered(ranks)}: call {said}" for said, ranks in by_text.items())
        return reported(DistributedError(f"all processes of a group must make the same calls in the same order, got {sides}"),
                        self._rank == 0)

    @staticmethod
    def _text(row):
        return bytes(row).rstrip(b"\0").decode(errors="replace")


def reported(error, is_here):
    """`error`, which several processes raise alike, with the mark of the one that tells it."""
    error.is_told_here = is_here
    return error


def _numbered(ranks):
    return f"process {ranks[0]}" if len(ranks) == 1 else f"processes {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
