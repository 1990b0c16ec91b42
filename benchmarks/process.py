"""Worker, a rival's process as the runner sees it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class MissingRivalError(Exception):
    """The library of a rival is not installed."""


class Worker:
    """A rival that has prepared itself and waits. Close it, or use it as a context manager."""

    def __init__(self, case, rival, python=sys.executable):
        module = case.rivals[rival].__module__
        command = [python, "-m", f"{__package__}.worker", module, case.name, rival]
        self._process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        answer = self._read()
        if "missing" in answer:
            self.close()
            raise MissingRivalError(answer["missing"])

    def ask(self, request, argument=None):
        """Send a request and wait for the answer."""
        self._process.stdin.write(json.dumps([request, argument]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a rival ended without an answer: {' '.join(self._process.args)}")
        return json.loads(line)
