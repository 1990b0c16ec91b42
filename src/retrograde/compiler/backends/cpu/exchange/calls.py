"""Exchanges of the processes of a group, as Python calls them: see `codegen.exchange.protocol`, whose functions these are."""

import ctypes
import zlib
from enum import IntEnum

import numpy as np

from .....once import once
from ..codegen.exchange import protocol
from ..host import target
from ..table import address_of
from ..threads import MACHINE, PAUSES
from ..units import TextUnit, library

_I64, _POINTER = ctypes.c_int64, ctypes.c_void_p
#: The bytes of a block that are for anything but operands, and how many of these are used before the block is used further.
HEAD, _LEAST = protocol.DATA, 2**21


class Status(IntEnum):
    """What came of a call: all is well, or somebody is late to say something, to hear it, or to add up its part; processes say
    different things; there is no room; the call was begun so long ago that it was given up; or this process has left.
    """

    WELL, LATE, DEAF, SLOW, DIFFERENT = 0, protocol.LATE, protocol.DEAF, protocol.SLOW, protocol.DIFFERENT
    FULL, OVER, GONE = protocol.FULL, protocol.OVER, protocol.GONE


def exchange(rank, rows):
    """The `Exchange` of process `rank` of a group in `rows`, memory of each, which is zero so far; None of no rows."""
    return Exchange(rank, rows) if rows else None


class Exchange:
    """What one process of a group says and hears, begins and finishes. Texts are arrays of bytes that `text` makes.

    words  the record that compiled code reads
    """

    Status = Status

    def __init__(self, rank, rows):
        self._rows, self._rank, self._functions = rows, rank, _functions()
        self.words = np.array(protocol.laid_out(rank, [address_of(row) for row in rows]), np.int64)
        self._address = address_of(self.words)
        addresses = {name: ctypes.cast(self._functions[name], _POINTER).value
                     for name in ("SAY", "CLOSE", "BEGIN", *_FINISH.values())}
        self._set(CAPACITY=rows[0].size - HEAD, LIMIT=_LEAST, **addresses)

    @staticmethod
    def text(content):
        """A text as what the others read: of one that is too long the beginning, and a sum of all of it."""
        data = content.encode()
        if len(data) > protocol.TEXT:
            end = f"... ({zlib.crc32(data):08x})".encode()
            data = data[: protocol.TEXT - len(end)] + end
        return np.frombuffer(data.ljust(protocol.TEXT, b"\0"), np.uint8)

    def said(self, rank, number=None):
        """What a process said in a call, in its latest one without a number; "" if it has said nothing."""
        number = self.counts(rank)[0] if number is None else number
        return protocol.text_of(self._rows, rank, number).rstrip(b"\0").decode(errors="replace") if number else ""

    def counts(self, rank):
        """(how many calls a process has said, how many it needs nothing of any more)."""
        return protocol.counts_of(self._rows[rank])

    @property
    def count(self):
        """How many calls this process has said."""
        return int(self.words[protocol.place("COUNT")])

    def wait(self, patience, delay):
        """Wait at most so many seconds for others from here on, and so many before what they say is heard."""
        self._set(PATIENCE=int(min(patience, _LONGEST) * 1e9), DELAY=int(min(delay, _LONGEST) * 1e9))

    def failure(self):
        """(what went wrong last, the number of the call), which is forgotten with this."""
        at = protocol.place("STATUS")
        found = Status(int(self.words[at])), int(self.words[protocol.place("FAILED")])
        self.words[at] = 0
        return found

    def say(self, text):
        """Say something; the number of the call, 0 if others are too far behind."""
        return self._functions["SAY"](self._address, address_of(text), 0, 0)

    def hear(self, number, text):
        """Wait until all have said what they do in a call, and compare; the status."""
        return Status(self._functions["HEAR"](self._address, number, address_of(text)))

    def close(self, number):
        """Say that nothing of a call is needed here any more."""
        self._functions["CLOSE"](self._address, number)

    def leave(self, number):
        """Give up a call, and take part in none after it: others may have made it, or make it later, and would be taken for what
        they are not. Who comes to it later finds that it is given up.
        """
        self._set(LEFT=number)
        if number <= self.count < number + protocol.SLOTS:
            at, text = protocol.slot_of(number), self.text(f"{self.said(self._rank, number)}, given up")
            self._rows[self._rank][at : at + protocol.TEXT] = text

    def is_open(self, number):
        """Whether something of a call is still needed here."""
        return int(self.words[protocol.open_at(number)]) == number > 0

    def close_all(self):
        """Say that of all calls so far."""
        for number in range(int(self.words[protocol.place("OLDEST")]), self.count + 1):
            self.close(number)

    def begin(self, arrays, text):
        """Write arrays for the others, and say what they are; the number of the call, 0 if that failed."""
        arrays = [np.ascontiguousarray(x) for x in arrays]
        places, sizes = _words([address_of(x) for x in arrays]), _words([x.nbytes for x in arrays])
        return self._functions["BEGIN"](self._address, address_of(text), len(arrays), places, sizes, sum(sizes))

    def finish(self, number, results, text, divisor):
        """Write the sums, divided, into contiguous arrays of a dtype that `adds` knows; the status."""
        places, sizes = _words([address_of(x) for x in results]), _words([x.size for x in results])
        run = self._functions[_FINISH[results[0].dtype.char]]
        return Status(run(self._address, number, address_of(text), len(results), places, sizes, divisor))

    def operands(self, number, count, dtype):
        """What all processes have written in a call that was heard, as vectors of so many numbers."""
        return [row[start : start + count * dtype.itemsize].view(dtype)
                for row, start in zip(self._rows, protocol.starts_of(self._rows, number), strict=True)]

    @staticmethod
    def adds(dtype):
        """Whether sums of a dtype are compiled code."""
        return dtype.char in _FINISH

    def _set(self, **values):
        for name, value in values.items():
            self.words[protocol.place(name)] = value


_FINISH = {"f": "FINISH_FLOAT", "d": "FINISH_DOUBLE"}
#: Seconds that stand for those without an end.
_LONGEST = 1e9


def _words(numbers):
    return (_I64 * len(numbers))(*numbers)


@once
def _functions():
    unit = TextUnit(protocol.text(*PAUSES[MACHINE]), target())
    library().load([unit])
    sums = [_I64, _POINTER, _I64, _POINTER, _I64, _POINTER, _POINTER, _I64]
    kinds = {"SAY": [_I64, _POINTER, _POINTER, _I64, _I64], "HEAR": [_I64, _POINTER, _I64, _POINTER],
             "CLOSE": [None, _POINTER, _I64], "BEGIN": [_I64, _POINTER, _POINTER, _I64, _POINTER, _POINTER, _I64],
             "FINISH_FLOAT": sums, "FINISH_DOUBLE": sums}
    return {name: ctypes.CFUNCTYPE(*kind)(library().address(f"{protocol.NAME}_{name.lower()}")) for name, kind in kinds.items()}
