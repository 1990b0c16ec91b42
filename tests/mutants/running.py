"""Runs the tests nearest to a mutant on a copy of the sources, in a process of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import retrograde

_SOURCE = Path(retrograde.__file__).parent
#: What stands for a test where tests do not end in time.
TIMEOUT = "timeout"


class Copy:
    """A copy of the package, in which one file at a time is another one."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="mutants")
        self.root = Path(self._folder.name, "src")
        shutil.copytree(_SOURCE, self.root / "retrograde", ignore=shutil.ignore_patterns("__pycache__"))

    def killer(self, tests, timeout, mutant):
        """The first of some tests that fails with a mutant in its place, or None; tests that do not end in time have failed too."""
        path = self.root / "retrograde" / mutant.path
        before = path.read_text()
        path.write_text(mutant.applied(before))
        try:
            return next(iter(self.failing(tests, timeout, "-x")), None)
        finally:
            path.write_text(before)

    def failing(self, tests, timeout, *options):
        """Those of some tests that fail."""
        with tempfile.TemporaryDirectory(prefix="mutants-code") as cache:
            environment = {**os.environ, "PYTHONPATH": str(self.root), "RETROGRADE_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "-rfE",
                       *options, *tests]
            try:
                run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
            except subprocess.TimeoutExpired:
                return [TIMEOUT]
        if run.returncode == 0:
            return []
        failed = [line.split(" ", 1)[1].split(" - ")[0] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed or [f"pytest ended with {run.returncode}"]
