"""Workers that are processes: for rows made by Python code, which threads would wait for each other to run."""

import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from contextlib import suppress
from multiprocessing import connection as connections
from pickle import dumps
from typing import Any

from ...errors import ArgumentError, WorkerError
from .crew import Crew
from .failures import Failure, caught
from .sending import chosen
from .serving import received_handle, send_handle, serve
from .shared import Maps

#: A longer message is sent only to a worker that reads: one that waits to answer would wait for ever.
_LONG = 1 << 15
#: Seconds that a worker has to end by itself.
_PATIENCE = 2.0


class Processes(Crew):
    """`count` processes, started by `method`: "forkserver", "spawn", "fork", or None for what fits."""

    def __init__(self, job, count, prefetch, seed, method=None):
        super().__init__(job, count, prefetch)
        _check_can_start()
        method, parcel = _method(method, job)
        context: Any = multiprocessing.get_context(method) if isinstance(method, str) else method
        self.method = method if isinstance(method, str) else context.get_start_method()
        if self.method == "forkserver":
            # What the parent has of this package is loaded once, in the server: workers then start in a tenth of the time. A server
            # that runs already goes on as it is.
            package = __name__.partition(".")[0] + "."
            context.set_forkserver_preload(["__main__", *sorted(name for name in sys.modules if name.startswith(package))])
        self.processes, self.pipes, self.names, self.maps = [], [], [], [Maps() for _ in range(count)]
        self.close = weakref.finalize(self, _dismiss, os.getpid(), self.processes, self.pipes)
        for number in range(count):
            mine, theirs = context.Pipe()
            arguments = theirs, number, count, seed, *(() if parcel is not None else (job, (mine, *self.pipes)))
            process = context.Process(target=serve, args=arguments, daemon=True, name=f"retrograde-data-{number}")
            with warnings.catch_warnings():
                # The threads that a fork leaves behind are ours, which start anew, and NumPy's, which do so too.
                warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
                process.start()
            theirs.close()
            self.processes.append(process)
            self.names.append(f"worker {number} (process {process.pid})")
            self.pipes.append(mine)
            if parcel is not None:
                mine.send((parcel.text, parcel.places))
                if parcel.places:
                    send_handle(mine, parcel.handle)
        if parcel is not None and parcel.handle is not None:
            os.close(parcel.handle)
        self.numbers = {pipe: number for number, pipe in enumerate(self.pipes)}

    def send(self, worker, message):
        content = dumps((*message, self.maps[worker].take_freed()) if message[0] == "make" else message)
        while len(content) > _LONG and self.loads[worker] > 1:
            self.wait(None)
        try:
            self.pipes[worker].send_bytes(content)
        except OSError:
            self._died(worker)

    def wait(self, seconds):
        ready = connections.wait(self.pipes, seconds)
        for pipe in ready:
            worker = self.numbers[pipe]
            try:
                self._read(worker, pipe)
            except (EOFError, OSError):
                self._died(worker)
        return bool(ready)

    def _read(self, worker, pipe):
        ticket, given_up, has_handle, reply = pipe.recv()
        maps = self.maps[worker]
        maps.drop(given_up)
        if has_handle:
            maps.add(reply[2], received_handle(pipe))
        self.arrived(worker, ticket, reply if isinstance(reply, Failure) else _read(maps, reply))

    def _died(self, worker):
        process = self.processes[worker]
        process.join(_PATIENCE)
        code, name, task = process.exitcode, self.name(worker), self.tasks_of(worker)
        self.close()
        if code is not None and code < 0:
            reason = f"was killed by signal {-code} ({_signal(-code)})"
            hint = "; the system kills who takes the most memory when it runs out" if -code == signal.SIGKILL else ""
        else:
            reason = f"ended with exit code {code}"
            hint = "; what it printed stands above"
        raise WorkerError(f"{name} {reason} while it made a batch{task}{hint}")

    def name(self, worker):
        return self.names[worker]


def _read(maps, reply):
    """The batch of a reply, or the failure to read it."""
    try:
        return maps.read(*reply)
    except Exception as error:  # noqa: BLE001 - raised when this batch is taken
        return caught(error)


def _method(method, job):
    if method is not None and not isinstance(method, str):
        name = method.get_start_method()
        return method, chosen(name, job)[1]
    if method is not None and method not in multiprocessing.get_all_start_methods():
        raise ArgumentError(f"processes are started by {', '.join(multiprocessing.get_all_start_methods())} here, got {method!r}")
    return chosen(method, job)


def _check_can_start():
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        raise WorkerError("a loader starts processes while its own script is loaded by one; put what the script does below "
                          '`if __name__ == "__main__":`, or use threads')
    if process.daemon:
        raise WorkerError("a worker cannot start processes of its own; use threads there")


def _signal(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _dismiss(owner, processes, pipes):
    """End the workers: by closing their pipes, and by a signal if that does not do."""
    if os.getpid() != owner:  # a forked copy of whoever owns them
        return
    for pipe in pipes:
        with suppress(OSError):
            pipe.send(None)
        pipe.close()
    until = time.monotonic() + _PATIENCE
    for process in processes:
        process.join(max(until - time.monotonic(), 0))
        if process.exitcode is None:
            process.kill()
            process.join()
        process.close()
