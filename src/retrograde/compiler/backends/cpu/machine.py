"""The machine that this process runs on, as far as that can be told without LLVM."""

import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ....errors import CompilerError
from .cpuid import identity

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
#: The folders whose files decide what becomes of a graph.
_DECISIVE = ("", "compiler", "core", "ops", "tensor")
#: What Linux says of a processor that decides which code it runs: LLVM reads it as well, where processors cannot be asked.
_CPUINFO, _FACTS = "/proc/cpuinfo", (b"vendor_id", b"cpu family", b"model", b"stepping", b"cache size", b"flags", b"CPU ",
                                     b"Features")


def available_cores():
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def fingerprint():
    """What all code depends on beside its target, in short: the compiler beneath and our own files."""
    try:
        files = [entry for folder in _DECISIVE for entry in _files(os.path.join(_PACKAGE, folder), is_deep=folder != "")]
    except OSError:  # in an archive: what cannot be told apart is not shared with other processes
        files = [os.urandom(16)]
    found = repr((sys.implementation.cache_tag, sys.platform, platform.machine(), _llvmlite(), sorted(files)))
    return hashlib.sha256(found.encode()).hexdigest()


def name_for(key, target=()):
    """A name that stands for what depends on `key`, on the `target`, on our own files and on the compiler beneath."""
    # Cut to 128 bits, which no two keys will share by chance; the name stands in machine code and in file names.
    return f"retrograde_{hashlib.sha256(f'{key!r}{tuple(target)!r}{fingerprint()}'.encode()).hexdigest()[:32]}"


def _files(folder, is_deep):
    """(path, size, time of the last change) of each source file in a folder."""
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".pyc")):
            found = entry.stat()
            # Not what is in them: to read some hundred files at each start would take longer than to look at them.
            yield entry.path.removeprefix(_PACKAGE), found.st_size, found.st_mtime_ns
        elif is_deep and entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path, is_deep)


def processor():
    """What stands for the processor: what it says itself, else the first core as the system tells it, else as LLVM does."""
    with suppress(CompilerError):  # of a system that lets no new code run, where all comes from LLVM
        if (said := identity()) is not None:
            return said
    found = []
    with suppress(OSError), open(_CPUINFO, "rb", buffering=0) as file:
        lines = file.read(8192).partition(b"\n\n")[0].splitlines()
        found = [line for line in lines if line.startswith(_FACTS)]
    if not found:
        llvm = import_module("llvmlite.binding")
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return found


def _llvmlite():
    """The release of llvmlite that is installed, as its own file says; importing it takes long."""
    found = find_spec("llvmlite")
    if found is not None and found.origin is not None:
        with suppress(OSError), open(os.path.join(os.path.dirname(found.origin), "_version.py"), "rb") as file:
            return file.read()
    return getattr(import_module("llvmlite"), "__version__", "")
