"""A ledger: what calls set aside and what they took, in a file that outlives processes and is shared by them."""

import json
import os
import threading
import time
import uuid
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple
from math import isfinite
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from ...process import is_running, myself
from .locks import exclusively
from .usage import Usage

#: The run that amounts are set aside for; "" outside of all.
_RUN: ContextVar[str] = ContextVar("run", default="")
#: How long lines may wait to be forced to the disk, in seconds. A killed process loses none; a machine without power may.
_GROUP = 0.2
#: After how many seconds what another machine set aside and did not settle counts as lost.
_DISTANT = 3600.0


class Ledger:
    """An append-only file of JSON lines: one when an amount is set aside, before anything is sent, and one when it is settled.

    What was set aside by a process that has ended, and never settled, counts as spent: the call may have been made. A call whose
    answer is to be kept is settled once it is; a line before says what it took. Several processes may share a file. `scope`
    names one budget of several in it. Several runs may too: each amount is noted with the run it is set aside for, see `paid_by`.
    """

    def __init__(self, path, scope=""):
        self.path, self.scope = Path(path), scope
        self.settled = Usage()
        self.taken: dict[str, Usage] = {}  # what calls took that are not settled, because their answers are not kept yet
        self.open: dict[str, tuple] = {}  # of each amount that is not settled, the amount, whose it is, and since when
        self._run_of: dict[str, str] = {}  # of each amount that is not settled
        self._by_run: dict[str, Usage] = {}  # what is settled
        self._file: Any = None
        self._end, self._is_torn, self._synced, self._lock = 0, False, 0.0, threading.RLock()
        self.path.parent.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def held(self):
        """Hold the file, so that no other process writes, and know all that stands in it."""
        with self._lock, self.path.open("ab+") as file, exclusively(file):
            self._read(file)
            self._file = file
            try:
                yield self
            finally:
                self._file = None
                if time.monotonic() - self._synced > _GROUP:
                    os.fsync(file.fileno())
                    self._synced = time.monotonic()

    def reserve(self, amount, run=""):
        """Set an amount aside for a run, within `held`; returns its name."""
        name = uuid.uuid4().hex
        whose = {"by": list(myself()), "at": time.time(), **({"run": run} if run else {})}
        self._write({"id": name, "scope": self.scope, "reserve": astuple(amount), **whose})
        return name

    def take(self, name, amount):
        """Say what was taken of what was set aside under `name`, within `held`; `settle` follows when the answer is kept."""
        self._write({"id": name, "scope": self.scope, "take": astuple(amount)})

    def settle(self, name, amount):
        """Say what was taken of what was set aside under `name`, within `held`, and that nothing more is to come."""
        self._write({"id": name, "scope": self.scope, "settle": astuple(amount)})

    def spent(self, run=None):
        """What calls took, and what was set aside by processes that have ended; by one run alone, if it is given."""
        is_wanted = lambda name: run is None or self._run_of.get(name, "") == run
        taken = (amount for name, amount in self.taken.items() if is_wanted(name))
        lost = (amount for name, (amount, owner, since) in self.open.items() if is_wanted(name) and not _lives(owner, since))
        return sum((*taken, *lost), self.settled if run is None else self._by_run.get(run, Usage()))

    def running(self):
        """What is set aside for calls that may still be running."""
        return sum((amount for amount, owner, since in self.open.values() if _lives(owner, since)), Usage())

    def _write(self, line):
        text = json.dumps(line, separators=(",", ":")) + "\n"
        # A line that a killed process did not end must not swallow this one.
        start = "\n" if self._is_torn else ""
        self._file.write((start + text).encode())
        self._file.flush()
        self._end, self._is_torn = self._file.tell(), False
        self._take(line)

    def _read(self, file):
        """Take in what others have written since the last look."""
        file.seek(0, os.SEEK_END)
        if file.tell() < self._end:
            raise ArgumentError(f"the ledger {self.path} has become shorter; lines are only ever added to it")
        file.seek(self._end)
        content = file.read()
        if content:
            self._is_torn = not content.endswith(b"\n")
        for line in filter(None, content.split(b"\n")):
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                continue  # a line that a killed process began: nothing was sent for it
        self._end = file.tell()

    def _take(self, line):
        if line["scope"] != self.scope:
            return
        name = line["id"]
        if "reserve" in line:
            machine, pid, started = line["by"]
            self.open[name] = _amount(line["reserve"]), (str(machine), int(pid), int(started)), float(line["at"])
            self._run_of[name] = str(line.get("run", ""))
        elif "take" in line:
            self.taken[name] = _amount(line["take"])
            self.open.pop(name, None)
        else:
            amount = _amount(line["settle"])
            if self.open.pop(name, None) is not None or self.taken.pop(name, None) is not None:
                self.settled += amount
                run = self._run_of.pop(name, "")
                self._by_run[run] = self._by_run.get(run, Usage()) + amount


@contextmanager
def paid_by(run):
    """In the block all that is set aside is noted as that of the run with this name, in whichever thread or task."""
    token = _RUN.set(run)
    try:
        yield
    finally:
        _RUN.reset(token)


def payer():
    """The name of the run that calls are made for here; "" outside of all."""
    return _RUN.get()


def _amount(values):
    """The Usage in a line; an ArgumentError for anything that could lower what was spent."""
    calls, tokens, cost = values
    if not (isinstance(calls, int) and isinstance(tokens, int) and min(calls, tokens, cost) >= 0 and isfinite(cost)):
        raise ArgumentError(f"no amount of calls, tokens and money: {values!r:.60}")
    return Usage(calls, tokens, cost)


def _lives(owner, since):
    """Whether the process that set an amount aside may still settle it."""
    found = is_running(owner)
    return time.time() - since < _DISTANT if found is None else found
