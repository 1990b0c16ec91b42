"""The machine that this process runs on, as far as that can be told without LLVM."""

import hashlib
import math
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ....errors import CompilerError
from ...run.groups import cpu_quota
from .cache import Cache, default_cache
from .cpuid import identity

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
#: The folders whose files decide what becomes of a graph.
_DECISIVE = ("", "compiler", "core", "ops", "tensor")
#: What Linux says of a processor that decides which code it runs: LLVM reads it as well, where processors cannot be asked.
_CPUINFO, _FACTS = "/proc/cpuinfo", (b"vendor_id", b"cpu family", b"model", b"stepping", b"cache size", b"flags", b"CPU ",
                                     b"Features")


def available_cores():
    """How many cores this process may run on: as many as the system lets it, and no more than its group has the time of."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


@cache
def _quota():
    # Asked once, and not at each product of eager code: that reads five files, which takes a millisecond.
    return cpu_quota()


@cache
def fingerprint():
    """What all code depends on beside its target, in short: the compiler beneath and our own files."""
    try:
        files = contents()
    except OSError:  # in an archive: what cannot be told apart is not shared with other processes
        files = os.urandom(16).hex()
    found = repr((sys.implementation.cache_tag, sys.platform, platform.machine(), _llvmlite(), files))
    return hashlib.sha256(found.encode()).hexdigest()


def contents():
    """What stands for the contents of our own files. Reading all of them takes a while, so that what they were is kept on disk as
    long as no file has changed. Sizes and times may be those of other files, as where an image or a package fixes them, but no
    program sets the time at which a file came to be what and where it is.
    """
    files = sorted([entry for folder in _DECISIVE for entry in _files(os.path.join(_PACKAGE, folder), is_deep=folder != "")])
    name = f"retrograde_files_{hashlib.sha256(repr((_PACKAGE, files)).encode()).hexdigest()[:32]}"
    store = default_cache() if os.name == "posix" else Cache(None)  # elsewhere that time can be set
    if (known := store.get(name)) is not None:
        return known.decode()
    found = hashlib.sha256()
    for path, *_ in files:
        with open(_PACKAGE + path, "rb", buffering=0) as file:
            found.update(hashlib.sha256(path.encode() + b"\n" + file.read()).digest())
    store.put(name, found.hexdigest().encode())
    return found.hexdigest()


def name_for(key, target=()):
    """A name that stands for what depends on `key`, on the `target`, on our own files and on the compiler beneath."""
    # Cut to 128 bits, which no two keys will share by chance; the name stands in machine code and in file names.
    return f"retrograde_{hashlib.sha256(f'{key!r}{tuple(target)!r}{fingerprint()}'.encode()).hexdigest()[:32]}"


def _files(folder, is_deep):
    """(path, size, times of the last change, what and where it is on the disk) of each source file in a folder."""
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".pyc")):
            found = entry.stat()
            yield (entry.path.removeprefix(_PACKAGE), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino,
                   found.st_dev)
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
