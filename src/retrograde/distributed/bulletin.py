"""Bulletin: meetings and sums of processes that see each other's memory.

What a process says stands there for the others to read, and so do the operands of a sum. So a process says what it begins and goes
on, and reads the parts of the others when it needs them: nothing is sent, and compiled code does it without Python.
"""

import time
import weakref
from typing import Any

import numpy as np

from ..compiler.run.failures import ABANDONED, EXCHANGE, EXPLAINED
from ..errors import DistributedError
from ..ops._native import native
from .links import seconds_of_delay
from .meeting import Meeting, reported, unfinished
from .patience import seconds_of_patience
from .seconds import watch
from .sums import write_sums

#: Seconds after which a wait of Python's looks whether the user wants to stop.
_LOOK = 0.05
_bulletins: weakref.WeakSet = weakref.WeakSet()


class Bulletin(Meeting):
    """The meetings and sums of a group whose processes see `rows`, the memory of each.

    exchange  what is written and read there, by compiled code too
    """

    def __init__(self, rows, rank, ranks):
        super().__init__(rank, ranks)
        self.exchange: Any = native("exchange", rank, rows)
        self._status = self.exchange.Status
        self.timed()
        watch(self)
        _bulletins.add(self)
        EXPLAINED[EXCHANGE] = _of_compiled_code
        if _abandoned not in ABANDONED:
            ABANDONED.append(_abandoned)

    def timed(self):
        """Wait as long as is said now, in compiled code too."""
        self.exchange.wait(seconds_of_patience(), seconds_of_delay())

    def meet(self, text, seconds=None):
        said = self.exchange.text(text)
        number = self._patiently(lambda: self.exchange.say(said), text, 0.0, seconds)
        try:
            self._patiently(lambda: not self.exchange.hear(number, said), text, 0.0, seconds)
        finally:
            self.exchange.close(number)

    def begin(self, arrays, text):
        """Write arrays of one dtype for the others, and say what they are; the number of the call, 0 if there is no room."""
        said = self.exchange.text(text)
        return self._patiently(lambda: self.exchange.begin(arrays, said), text)

    def finish(self, number, results, text, divisor=1):
        """Write the sum over all processes of what was begun, divided, into contiguous arrays of the shapes of the operands."""
        said, dtype = self.exchange.text(text), np.dtype(results[0].dtype)
        if not self.exchange.is_open(number):
            raise self.error(self._status.OVER, number, text)
        try:
            self._patiently(lambda: not self.exchange.hear(number, said), text)
            if not self.exchange.adds(dtype):
                write_sums(self.exchange.operands(number, sum([x.size for x in results]), dtype), results, divisor)
            elif self.exchange.finish(number, results, said, divisor):
                status, failed = self.exchange.failure()
                raise self.error(status, failed, text)
        finally:
            self.exchange.close(number)

    def _patiently(self, call, text, delay=None, seconds=None):
        """What `call` gives once it gives something; 0 where there is no room. It waits a little at a time, so that Python can see
        what else there is to do, as long as is said; and with another delay, if that is given.
        """
        patience = seconds or seconds_of_patience()
        end = time.monotonic() + patience
        self.exchange.wait(min(patience, _LOOK), seconds_of_delay() if delay is None else delay)
        try:
            while not (found := call()):
                status, number = self.exchange.failure()
                if status == self._status.FULL:
                    return 0
                if status not in (self._status.LATE, self._status.DEAF) or time.monotonic() > end:
                    raise self.error(status, number, text)
            return found
        finally:
            self.timed()

    def error(self, status, number, text=None):
        """The error for what came of a call, of which `text` is what this process said; where the others may go on without it, it
        leaves the group with that.
        """
        exchange, kinds = self.exchange, self._status
        text = exchange.said(self.rank, number) if text is None else text
        found = self._error(status, number, text)
        if status in (kinds.LATE, kinds.DEAF, kinds.SLOW) or status == kinds.DIFFERENT and exchange.count > number:
            exchange.leave(number if status != kinds.DEAF else exchange.count + 1)
        return found

    def _error(self, status, number, text):
        exchange, kinds = self.exchange, self._status
        if status in (kinds.LATE, kinds.DEAF):
            which = 0 if status == kinds.LATE else 1
            late = [r for r in self.others if exchange.counts(r)[which] < number] or self.others
            return self.missing(late, text if status == kinds.LATE else f"the end of call {number}", exchange.said(late[0]))
        if status == kinds.DIFFERENT:
            return self.differing([f"{number}: {exchange.said(r, number)}" for r in range(len(self.ranks))])
        if status == kinds.SLOW:
            return unfinished(text, self.rank == 0)
        if status == kinds.GONE:
            return reported(DistributedError(
                f"this process cannot come to {text}: it has given up an earlier call of its group, and the others may not have; "
                "end all processes, and go on from what was saved"), True)
        what = ("there is no room for its operands in shared memory; send gradients in smaller buckets" if status == kinds.FULL
                else "it was begun so many calls ago that it was given up; ask for what was begun before more begins")
        return reported(DistributedError(f"{text}: {what}"), True)


def _of_compiled_code():
    """The error for what went wrong in compiled code; what was begun there is given up."""
    for bulletin in list(_bulletins):
        status, number = bulletin.exchange.failure()
        if status:
            error = bulletin.error(status, number)
            _abandoned()
            return error
    _abandoned()
    return DistributedError("a sum over all processes has failed")


def _abandoned():
    """Nothing that was begun will be asked for."""
    for bulletin in list(_bulletins):
        bulletin.exchange.close_all()
