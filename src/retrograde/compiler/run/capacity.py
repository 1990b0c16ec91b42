"""Capacity: whether what a program stores fits into memory, asked before any of it is allocated."""

import os
from contextlib import suppress
from pathlib import Path

from ...errors import MemoryLimitError
from .groups import free_memory

#: Less than this always fits, so nobody is asked.
_SMALL = 1 << 26
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_NAMED = 3


def check_fits(nbytes, nodes):
    """Raise a MemoryLimitError that names the largest of `nodes` if `nbytes` are more than can be had."""
    if nbytes < _SMALL:
        return
    free = available()
    # Linux hands out memory that it has not got, and kills whoever touches it: so it is asked before.
    if free is None or nbytes <= free:
        return
    largest = sorted(nodes, key=lambda node: node.nbytes, reverse=True)[:_NAMED]
    named = ", ".join(f"{told(node.nbytes)} for {node.op.name} {node.dtype}{list(node.shape)}" for node in largest)
    raise MemoryLimitError(f"the compiled code would store {told(nbytes)} at a time, of which {told(free)} are free: {named}; use "
                           "smaller batches, rg.checkpoint, or rg.scan over parts")


def available():
    """Bytes that this process can still get: of the machine and of the group of processes that it is in; None if unknown."""
    known = [n for n in (_of_machine(), free_memory()) if n is not None]
    return min(known, default=None)


def _of_machine():
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        if "MemAvailable" in sizes:
            return sizes["MemAvailable"] + sizes.get("SwapFree", 0)
    with suppress(AttributeError, OSError, ValueError):  # no /proc: nobody says how much is free, only how much there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def told(nbytes):
    """A number of bytes in words."""
    unit = 0
    while nbytes >= 1024 and unit < len(_UNITS) - 1:
        nbytes, unit = nbytes / 1024, unit + 1
    return f"{nbytes:.3g} {_UNITS[unit]}"
