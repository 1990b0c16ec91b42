"""Worker, a rival's process as the runner sees it."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

ROOT = Path(__file__).parents[1]
# Whoever takes longer for one answer is left out, unless the question allows more.
PATIENCE_SECONDS = 120
# In place of a rival's name: the process that a case itself needs.
HOST = "host"
# The variable that tells a worker the handle of the pipe by which it knows that the runner lives.
LIFELINE = "RETROGRADE_BENCHMARK_LIFELINE"


class AbsentRivalError(Exception):
    """A rival cannot take part: its library is not installed, it failed, or it took too long."""


class Worker:
    """A rival that has prepared itself and waits. Close it, or use it as a context manager.

    command      module of the suite, case, rival, and the size if the case has sizes
    environment  variables beside those of this process
    patience     how many seconds it may take to prepare itself
    """

    def __init__(self, command, python=sys.executable, environment=None, patience=None):
        command = [python, "-m", f"{__package__}.worker", *map(str, command)]
        # A pipe that nobody writes to: it ends when this process does, however that ends.
        theirs, lifeline = os.pipe()
        self._lifeline: int | None = lifeline
        environment = {**os.environ, **(environment or {}), LIFELINE: str(theirs)}
        self._process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                                              env=environment, start_new_session=True, pass_fds=(theirs,))
        os.close(theirs)
        self._read(patience)

    def ask(self, request, argument=None, patience=None):
        """Send a request and wait for the answer, at most `patience` seconds, or `PATIENCE_SECONDS`."""
        self._process.stdin.write(json.dumps([request, argument]) + "\n")
        self._process.stdin.flush()
        return self._read(patience)["answer"]

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._kill()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _kill(self):
        """End the process and those that it has started, which would go on computing beside the next rival."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self, patience=None):
        patience = PATIENCE_SECONDS if patience is None else patience
        clock = Timer(patience, self._kill)
        clock.start()
        line = self._process.stdout.readline()
        is_late = not clock.is_alive()
        clock.cancel()
        answer = json.loads(line) if line else {"problem": "it ended without an answer"}
        if is_late:
            answer = {"problem": f"no answer within {patience} seconds"}
        if "problem" in answer:
            self.close()
            raise AbsentRivalError(answer["problem"])
        return answer
