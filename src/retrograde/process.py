"""Processes, each by a name that no other one has, later ones with its number included, and whether one still runs."""

import os
import platform
from pathlib import Path

#: How Linux calls the numbers of processes that a machine begins with; a container has numbers of its own.
_NUMBERS_OF_THE_MACHINE = "pid:[4026531836]"


def myself():
    """The name of this process: its machine, its number there, and when it began. A fork has its own."""
    return _machine(), os.getpid(), _facts(os.getpid())[1]


def is_running(name):
    """Whether the process of a name runs; None where that cannot be known, as of one on another machine."""
    machine, number, began = name
    if os.name != "posix" or machine != _machine():
        return None
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is another user's
    state, found = _facts(number)
    return state not in ("Z", "X") and found == began


def _machine():
    """The name of this machine; in a container with that of its numbers of processes, which mean nothing outside."""
    try:
        numbers = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        numbers = _NUMBERS_OF_THE_MACHINE
    return platform.node() if numbers == _NUMBERS_OF_THE_MACHINE else f"{platform.node()} {numbers}"


def _facts(number):
    """(state, start in clock ticks since the machine began) of a process; ("", 0) where the system does not tell."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return "", 0
