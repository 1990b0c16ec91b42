"""Threads: the pool of workers of this process, how many there are, and what happens at a fork."""

import ctypes
import os
import platform
import sys
import threading
from functools import cache

import numpy as np

from ....once import once
from .codegen import parallel
from .codegen.interchange import INTERCHANGED
from .host import target
from .machine import available_cores
from .units import TextUnit, library

PAUSES = {"x86_64": ("llvm.x86.sse2.pause", ""), "aarch64": ("llvm.aarch64.hint", "i32 1")}
#: The numbers of the system calls futex and sched_yield.
_CALLS = {"x86_64": (202, 24), "aarch64": (98, 124)}
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())


class Pool:
    """The workers of this process and the record in memory that they share with compiled code."""

    def __init__(self, threads):
        self.is_open = True
        #: Held by whoever runs steps on this pool, since it serves one at a time.
        self.lock = threading.RLock()
        self._memory = np.zeros(parallel.WORDS + 8, np.int64)
        self.address = -(-self._memory.__array_interface__["data"][0] // 64) * 64
        self._words = (ctypes.c_int64 * parallel.WORDS).from_address(self.address)
        address = _pool_functions()
        self._close = _with_pool(address("retrograde_close"))
        work = _with_pool(address("retrograde_worker"))
        self.threads = 1 + self._started(threads - 1, work)
        self._words[parallel.WORKERS] = self.threads - 1

    def _started(self, count, work):
        """Start `count` workers, or as many as the system lets this process have; how many there are."""
        for number in range(1, count + 1):
            arguments = work, self.address, self._memory
            try:
                threading.Thread(target=_serve, args=arguments, daemon=True, name=f"retrograde-{number}").start()
            except RuntimeError:
                return number - 1  # steps take longer, and their results are the same
        return count

    def close(self):
        """Let the workers end."""
        with self.lock:
            self.is_open = False
            self._close(self.address)


def _serve(work, address, _memory):
    """The life of a worker, which keeps the memory of its pool until it has ended."""
    work(address)


_with_pool = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_LOCK = threading.Lock()
_state = {"pool": None, "threads": None, "functions": None, "runner": None, "alone": None}


@cache
def unit():
    """The code that runs steps, on one thread or several. Every program needs it, so it is best loaded with a program's own."""
    text = parallel.pool_text(*_CALLS[MACHINE], *PAUSES[MACHINE]) if _can_share() else parallel.SERIAL
    return TextUnit(parallel.RUNNER + parallel.NEST + INTERCHANGED + text, target())


def _pool_functions():
    if _state["functions"] is None:
        library().load([unit()])
        _state["functions"] = library().address
    return _state["functions"]


_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def runner_address():
    """The address of what `runner` calls."""
    return _pool_functions()("retrograde_run")


def runner():
    """The native function that runs steps: a table of pointers, the address of the first step, and how many there are."""
    if _state["runner"] is None:
        _state["runner"] = _RUN(_pool_functions()("retrograde_run"))
    return _state["runner"]


def run_shared(pointers, *call):
    """Run steps with the workers of this process. `pointers` is the table of pointers, and `call` what `runner` is called with."""
    # A pool may be closed between the moment it is found and the moment its lock is had; then there is another one.
    while True:
        workers = pool()
        with workers.lock:
            if workers.is_open:  # else another thread has just set the number of threads
                pointers[0] = workers.address
                runner()(*call)
                return


def _can_share():
    return sys.platform == "linux" and MACHINE in _CALLS


@once
def alone():
    """The address of the record of a pool without workers, for programs too small to share."""
    _state["alone"] = record = np.zeros(parallel.WORDS + 8, np.int64)
    return -(-record.__array_interface__["data"][0] // 64) * 64


def pool():
    """The pool of this process, started on first use."""
    with _LOCK:
        if _state["pool"] is None:
            _state["pool"] = Pool(get_num_threads())
        return _state["pool"]


def get_num_threads():
    """How many threads compiled code uses: by default one per core that this process may run on."""
    if not _can_share():
        return 1
    return _state["threads"] or available_cores()


def set_num_threads(count):
    """Let compiled code use `count` threads."""
    with _LOCK:
        old, _state["pool"], _state["threads"] = _state["pool"], None, count
    if old is not None:
        old.close()


def _forget():
    # Threads do not survive a fork; the child starts its own when it needs them.
    _state["pool"] = None
    _LOCK.release()


if hasattr(os, "register_at_fork"):
    # Nobody else holds the lock at a fork, or it would stay locked in the child.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_forget)
