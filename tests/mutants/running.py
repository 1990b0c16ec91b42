"""Runs the tests nearest to a mutant on a copy of the sources, in a process of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import retrograde

_SOURCE = Path(retrograde.__file__).parent


class Copy:
    """A copy of the package, in which one file at a time is another one."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="mutants")
        self.root = Path(self._folder.name, "src")
        shutil.copytree(_SOURCE, self.root / "retrograde", ignore=shutil.ignore_patterns("__pycache__"))

    def passes(self, tests, timeout, mutant=None):
        """Whether tests pass, with a mutant in its place; one that does not end in time does not."""
        path = None if mutant is None else self.root / "retrograde" / mutant.path
        before = None if path is None else path.read_text()
        if path is not None:
            path.write_text(mutant.applied(before))
        try:
            return not self._failed(tests, timeout)
        finally:
            if path is not None:
                path.write_text(before)

    def failing(self, tests, timeout):
        """Those of some tests that fail as things are."""
        return self._failed(tests, timeout, "--maxfail=1000")

    def _failed(self, tests, timeout, *options):
        with tempfile.TemporaryDirectory(prefix="mutants-code") as cache:
            environment = {**os.environ, "PYTHONPATH": str(self.root), "RETROGRADE_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header",
                       "-rfE", *(options or ("-x",)), *tests]
            try:
                run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
            except subprocess.TimeoutExpired:
                return ["timeout"]
        if run.returncode == 0:
            return []
        failed = [line.split(" ", 1)[1].split(" - ")[0] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed or [f"pytest ended with {run.returncode}"]
