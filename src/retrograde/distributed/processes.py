"""Processes: a group of several, which exchange arrays by MPI. Bytes are moved by MPI, and sums are our own, in the order of ranks.

So the result has the same bits on all processes and in every run, and there are no types that MPI has no word for.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import DistributedError
from ..ops._alone import Alone, written
from ..ops._native import native
from .background import Background
from .bulletin import Bulletin
from .links import delayed
from .meeting import ByMessages, Meeting, reported, unfinished
from .patience import seconds_of_patience, waited
from .shared_memory import shared_rows
from .sums import in_order

#: Up to so many bytes an array goes whole to all, who add it up themselves: one exchange less. Above, each adds up one part.
WHOLE = 16384
_MESSAGE, _RING = 9, 11
#: The bytes before the data of a message between two processes, which say what it is.
_HEAD = 64


class Processes(Alone):
    """The processes of an MPI communicator, which is ours alone."""

    def __init__(self, mpi, comm, ranks):
        self._mpi, self._comm = mpi, comm
        self.rank, self.size, self.ranks = comm.rank, comm.size, tuple(ranks)
        self._meeting: Meeting = ByMessages(mpi, comm, self.ranks)
        #: What sums go through where all see each other's memory; None where they go by messages.
        self._bulletin: Any = None
        #: (request, bytes) of messages that may not have arrived yet.
        self._sent: list = []
        self._memory = np.empty(0, np.uint8)
        self._background = Background()
        self._has_threads = mpi.Query_thread() >= mpi.THREAD_MULTIPLE

    def __repr__(self):
        return f"process {self.rank} of {self.size}"

    def share_memory(self):
        """Meet and add up through memory that all see, where there is some; all of the group call it."""
        has_code = native("exchange", self.rank, []) is not NotImplemented
        if rows := shared_rows(self) if has_code else []:
            self._meeting = self._bulletin = Bulletin(rows, self.rank, self.ranks)
        return self

    @property
    def shared(self):
        """What compiled code adds up by; None where it cannot."""
        return None if self._bulletin is None else self._bulletin.exchange

    def text_of_means(self, arrays, name):
        """What is said of the means of arrays, as compiled code says it."""
        return self._bulletin.exchange.text(_together(name, arrays))

    def text_of_failure(self, name):
        """What is said in the place of a call by a process in which a check of compiled code has failed before."""
        return self._bulletin.exchange.text(f"an error before {name}, which that process tells")

    def divided(self, color):
        mine = color(self.rank)
        members = [r for r in range(self.size) if color(r) == mine]
        comm = self._comm.Split(mine, self.rank)
        return Processes(self._mpi, comm, [self.ranks[r] for r in members]).share_memory() if len(members) > 1 else Alone()

    def meet(self, name, seconds=None):
        self._background.settle()
        self._meeting.meet(name, seconds)

    # Sums that have begun have numbers above 0 in shared memory, and below 0 by messages.
    def begin_means(self, arrays, order, name):
        if order == "ranks" and self._bulletin is not None and (number := self._bulletin.begin(arrays, _together(name, arrays))):
            return number
        return -self._background.begin(lambda: self.means(arrays, order, name)) if self._has_threads else 0

    def finish_means(self, number, arrays, order, name, results):
        if number > 0:
            self._bulletin.finish(number, results, _together(name, arrays), self.size)
            return results
        return written(self._background.finished(-number) if number < 0 else self.means(arrays, order, name), results)

    def sum(self, x, order, name):
        text = f"{name} of {_described(x)}"
        if order == "ranks" and (found := self._shared_sums([x], text)):
            return found[0]
        x = self._met(f'{text}{", by messages" if order == "ranks" else ", summed by MPI"}', x)
        if order == "any" and (kind := self._mpi_type(x.dtype)) is not None:
            found = np.empty_like(x)
            self._wait(self._comm.Iallreduce([x, kind], [found, kind]), name)
            return found
        if x.nbytes <= WHOLE:
            return in_order(self._all(x, name))
        return self._sum_by_parts(x.reshape(-1), name).reshape(x.shape)

    def means(self, arrays, order, name):
        found = self._shared_sums(arrays, _together(name, arrays), self.size) if order == "ranks" else None
        return super().means(arrays, order, name) if found is None else found

    def _shared_sums(self, arrays, text, divisor=1):
        """Sums, divided, through shared memory; None where there is none."""
        self._background.settle()
        if self._bulletin is None or not (number := self._bulletin.begin(arrays, text)):
            return None
        found = [np.empty(x.shape, x.dtype) for x in arrays]
        self._bulletin.finish(number, found, text, divisor)
        return found

    def _sum_by_parts(self, x, name):
        """The sum of long vectors: each process adds up one part, which then goes to all."""
        ends = [i * x.size // self.size for i in range(self.size + 1)]
        counts, starts = [(b - a) * x.itemsize for a, b in pairwise(ends)], [a * x.itemsize for a in ends[:-1]]
        mine = slice(ends[self.rank], ends[self.rank + 1])
        # What this process has itself is not sent.
        received = [0 if r == self.rank else counts[self.rank] for r in range(self.size)]
        places = [sum(received[:r]) for r in range(self.size)]
        others = self._scratch(sum(received)).view(x.dtype).reshape(self.size - 1, -1)
        self._wait(self._comm.Ialltoallv(
            [_bytes(x), ([0 if r == self.rank else n for r, n in enumerate(counts)], starts), self._mpi.BYTE],
            [_bytes(others), (received, places), self._mpi.BYTE]), name)
        found = np.empty_like(x)
        found[mine] = in_order([*others[: self.rank], x[mine], *others[self.rank :]], found[mine])
        self._wait(self._comm.Iallgatherv(self._mpi.IN_PLACE, [_bytes(found), (counts, starts), self._mpi.BYTE]), name)
        return found

    def _scratch(self, count):
        """Memory of so many bytes, kept for the next call: pages that are new cost more than what is done with them."""
        if self._memory.size < count:
            self._memory = np.empty(count, np.uint8)
        return self._memory[:count]

    def stack(self, x, name):
        return self._all(self._met(f"{name} of {_described(x)}", x), name)

    def _all(self, x, name):
        found = np.empty((self.size, *x.shape), x.dtype)
        self._wait(self._comm.Iallgather([_bytes(x), self._mpi.BYTE], [_bytes(found), self._mpi.BYTE]), name)
        return found

    def sum_of_parts(self, x, order, name):
        return in_order(self.exchange(x, name))

    def exchange(self, x, name):
        x = self._met(f"{name} of {_described(x)}", x)
        found = np.empty_like(x)
        self._wait(self._comm.Ialltoall([_bytes(x), self._mpi.BYTE], [_bytes(found), self._mpi.BYTE]), name)
        return found

    def broadcast(self, x, root, name):
        self.check(root)
        found = np.array(self._met(f"{name} from {root} of {_described(x)}", x))
        self._wait(self._comm.Ibcast([_bytes(found), self._mpi.BYTE], root), name)
        return found

    def sum_at(self, x, root, order, name):
        self.check(root)
        x = self._met(f"{name} at {root} of {_described(x)}", x)
        found = np.empty((self.size, *x.shape), x.dtype) if self.rank == root else np.empty(0, x.dtype)
        self._wait(self._comm.Igather([_bytes(x), self._mpi.BYTE], [_bytes(found), self._mpi.BYTE], root), name)
        return in_order(found) if self.rank == root else np.zeros_like(x)

    def passed(self, x, to, source, name):
        self._background.settle()
        self.check(to)
        self.check(source)
        if to is not None:
            self._send(x, to)
        return np.zeros_like(x) if source is None else self._received(x, source, name)

    def _send(self, x, to):
        self._sent = [pair for pair in self._sent if not pair[0].Test()]
        head = np.frombuffer(_described(x).encode().ljust(_HEAD)[:_HEAD], np.uint8)
        message = np.concatenate([head, _bytes(np.ascontiguousarray(x))])
        self._sent.append((self._comm.Isend([message, self._mpi.BYTE], to, _MESSAGE), message))

    def _received(self, x, source, name):
        status = self._mpi.Status()
        if not waited(lambda: self._comm.Iprobe(source, _MESSAGE, status), seconds_of_patience()):
            raise reported(DistributedError(
                f"process {self.ranks[self.rank]} waits in {name} for {_described(x)} of process {self.ranks[source]}, which has "
                f"sent nothing within {seconds_of_patience():g} s; rg.distributed.patience(seconds) waits longer"), True)
        message = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
        self._comm.Recv([message, self._mpi.BYTE], source, _MESSAGE)
        sent = bytes(message[:_HEAD]).decode().rstrip()
        if sent != _described(x):
            raise reported(DistributedError(f"process {self.ranks[source]} has sent {sent} to process {self.ranks[self.rank]}, "
                                            f"which waits for {_described(x)}"), True)
        return message[_HEAD:].view(x.dtype).reshape(x.shape)

    def from_owners(self, arrays, owners, name):
        total = sum([x.size for x in arrays])
        self.meet(f"{name}, {len(arrays)} of {total} numbers, {arrays[0].dtype}")
        delayed()
        mine = [x.reshape(-1) for x, owner in zip(arrays, owners, strict=True) if owner == self.rank]
        sent = np.concatenate(mine) if mine else np.empty(0, arrays[0].dtype)
        counts = [sum([x.nbytes for x, owner in zip(arrays, owners, strict=True) if owner == r]) for r in range(self.size)]
        starts = np.cumsum([0, *counts], dtype=int)[:-1]
        found = np.empty(total, arrays[0].dtype)
        self._wait(self._comm.Iallgatherv([_bytes(sent), self._mpi.BYTE], [_bytes(found), (counts, starts), self._mpi.BYTE]), name)
        places = [start // found.itemsize for start in starts.tolist()]
        results = []
        for x, owner in zip(arrays, owners, strict=True):
            results.append(found[places[owner] : places[owner] + x.size].reshape(x.shape))
            places[owner] += x.size
        return results

    def contents(self, content, name):
        data = np.frombuffer(content, np.uint8)
        sizes: Any = self.stack(np.array(data.size), name)
        padded = np.zeros(int(sizes.max()), np.uint8)
        padded[: data.size] = data
        rows: Any = self.stack(padded, name)
        return [bytes(row[:size]) for row, size in zip(rows, sizes, strict=True)]

    def _met(self, what, x):
        self.meet(what)
        delayed()
        return np.ascontiguousarray(x).reshape(x.shape)

    def shares_memory(self):
        return self._bulletin is not None

    def circulate(self, sent, received, name):
        """Send arrays of bytes to the next process at the same time, while as many come from the one before; for measurements."""
        after, before = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        requests = [*[self._comm.Irecv([x, self._mpi.BYTE], before, _RING) for x in received],
                    *[self._comm.Isend([x, self._mpi.BYTE], after, _RING) for x in sent]]
        self._wait_until(lambda: self._mpi.Request.Testall(requests), name)

    def _wait(self, request, name):
        self._wait_until(request.Test, name)

    def _wait_until(self, is_over, name):
        # All are here, so that nobody is waited for who does something else: what takes long is the work itself.
        if not waited(is_over, seconds_of_patience(), sleeps=False):
            raise unfinished(name, self.rank == 0)

    def _mpi_type(self, dtype):
        """MPI's type of numbers, None where it has none."""
        return None if dtype.char in "egG" or dtype.kind not in "iufc" else self._mpi._typedict.get(dtype.char)  # noqa: SLF001


def _bytes(x):
    return x.reshape(-1).view(np.uint8)


def _described(x):
    return f"{x.dtype}[{', '.join(map(str, x.shape))}]"


def _together(name, arrays):
    """What is said of arrays that are sent together."""
    shapes = "".join([str([*x.shape]) for x in arrays])
    return f"{name} of {arrays[0].dtype}[{sum([x.size for x in arrays])}] in {len(arrays)} of {shapes}"
