"""Reading files that nobody vouches for: what is no ordinary file is refused, and so is text that would take far more memory than
it is long.
"""

import json
import math
import os
import stat
from contextlib import contextmanager

from ..errors import CheckpointError, StorageError

#: Bytes that a list, a dictionary, an entry and a key take in Python at least, by the sign that stands for one in JSON; measured
#: with `sys.getsizeof`.
_COSTS = {b"[": 64, b"{": 184, b",": 40, b":": 20}
#: A parsed text may take so many times what its file does, and these bytes beyond that.
_TIMES, _FLOOR = 4, 4 << 20


@contextmanager
def opened(path):
    """(file, size) of an ordinary file, open for reading; a CheckpointError for what is none, such as a FIFO, which would hang."""
    try:
        # A FIFO without a writer is opened at once, and then refused.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise refused(path, "read", error) from None
    except ValueError as error:  # a name with a zero, or with half of a pair of surrogates
        raise CheckpointError(f"{str(path)!r} is no name of a file: {error}") from None
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)
        raise CheckpointError(f"{path} cannot be read: it is no ordinary file")
    with os.fdopen(handle, "rb") as file:
        try:
            yield file, facts.st_size
        except OSError as error:
            raise refused(path, "read", error) from None


def refused(path, done, error):
    """What is raised where the system refuses that a file is "read" or "written"."""
    made = StorageError(f"{path} cannot be {done}: {error.strerror or error}")
    made.errno = error.errno
    return made


@contextmanager
def refusing(path, done):
    """Within it what the system refuses is a StorageError: that `path` cannot be "read" or "written"."""
    try:
        yield
    except OSError as error:
        raise refused(path, done, error) from error


def parsed(path, content, size):
    """The JSON in bytes of the file `path`; an error if it is none, or takes far more memory than `size` bytes."""
    if not is_modest(content, size):
        raise CheckpointError(f"{path} holds more lists and entries than a file of {size} bytes has")
    try:
        return json.loads(content.decode(), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} holds no text in JSON where it should: {error}") from None


def is_modest(content, size):
    """Whether JSON in bytes, parsed, takes at most about four times `size`."""
    return sum([cost * content.count(sign) for sign, cost in _COSTS.items()]) <= _TIMES * size + _FLOOR


def _finite(text):
    return number if math.isfinite(number := float(text)) else _no_number(text)


def _no_number(text):
    raise ValueError(f"{text} is no number of JSON")
