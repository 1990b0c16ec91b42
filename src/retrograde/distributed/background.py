"""Background: what one thread does beside compiled code, in the order in which it was begun."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any


class Background:
    """Functions that are begun, and whose results are asked for later, each by the number that `begin` gave.

    Compiled code runs without the interpreter's lock, so that a thread of Python's makes progress meanwhile.
    """

    def __init__(self):
        self._pool: Any = None
        self._worker = threading.local()
        #: (future, function) of what is begun and not known to be over, and results that nobody has asked for, by number.
        self._begun, self._results, self._count = {}, {}, 0

    def begin(self, function):
        """Let a function be called; the number by which `finished` gives its result."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "retrograde-collectives")
        run = copy_context().run
        self._count += 1
        self._begun[self._count] = self._pool.submit(run, self._called, function), function
        return self._count

    def finished(self, number):
        """The result of what was begun as `number`."""
        self.settle(number)
        found = self._results.pop(number)
        # What was begun before and is not asked for is of a step that was broken off.
        for older in [n for n in self._results if n < number]:
            del self._results[older]
        if isinstance(found, BaseException):
            raise found
        return found

    def settle(self, number=None):
        """Wait until all that was begun, up to a number, is over; so that what the caller does comes after it."""
        if getattr(self._worker, "is_here", False):
            return
        for n in [n for n in self._begun if number is None or n <= number]:
            future, function = self._begun.pop(n)
            try:
                # What has not begun is done here, as nothing is gained by another thread; but the last alone, or that thread would
                # go on with the next one meanwhile.
                is_last = not self._begun
                self._results[n] = function() if is_last and future.cancel() else future.result()
            except BaseException as error:  # raised where the result is asked for
                if not isinstance(error, Exception):
                    raise
                self._results[n] = error

    def _called(self, function):
        self._worker.is_here = True
        return function()
