"""Runs the tests nearest to a mutant, in a process that has collected all tests and has changed the code of one function."""

import json
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


class Server:
    """A process that has loaded the package and has collected tests (`serving`), and changes a fork of itself for each mutant."""

    def __init__(self, tests):
        asks, self._asked = os.pipe()
        self._told, tells = os.pipe()
        environment = {**os.environ, "RETROGRADE_MUTANTS_PIPES": f"{asks},{tells}"}
        command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "tests.mutants.serving", "-p", "no:cacheprovider", *tests]
        self._process = subprocess.Popen(command, env=environment, pass_fds=(asks, tells), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(asks)
        os.close(tells)
        self._answers = os.fdopen(self._told)

    def failing(self, tests, timeout, mutant=None, source="", *, all_of_them=False):
        """The first of some tests that fails with a mutant of a source, or all; None if the server cannot make this mutant."""
        asked = {"tests": tests, "timeout": timeout, "all": all_of_them}
        if mutant is not None:
            asked |= {"file": str(_SOURCE / mutant.path), "function": mutant.function, "source": source, "text": mutant.applied(source)}
        os.write(self._asked, json.dumps(asked).encode() + b"\n")
        told, found = json.loads(self._answers.readline())
        if told == "broken":
            raise RuntimeError(f"a mutant could not be tried: {found}")
        return found

    def close(self):
        """End the process."""
        os.close(self._asked)
        self._process.wait()
        self._answers.close()


class Copy:
    """A copy of the package, in which one file at a time is another one: for faults in what runs when a module is loaded."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="mutants")
        self.root = Path(self._folder.name, "src")
        shutil.copytree(_SOURCE, self.root / "retrograde", ignore=shutil.ignore_patterns("__pycache__"))

    def failing(self, tests, timeout, mutant):
        """The first of some tests that fails with a mutant in its place; tests that do not end in time have failed too."""
        path = self.root / "retrograde" / mutant.path
        before = path.read_text()
        path.write_text(mutant.applied(before))
        try:
            return self._failing(tests, timeout)
        finally:
            path.write_text(before)

    def _failing(self, tests, timeout):
        with tempfile.TemporaryDirectory(prefix="mutants-code") as cache:
            environment = {**os.environ, "PYTHONPATH": str(self.root), "RETROGRADE_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-x", "-p", "no:cacheprovider", "--no-header", "-rfE", *tests]
            try:
                run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
            except subprocess.TimeoutExpired:
                return [TIMEOUT]
        if run.returncode == 0:
            return []
        # A test that is made for each entry of a list is gone with the entry, which shows nothing.
        gone = [line for line in (run.stdout + run.stderr).splitlines() if line.startswith("ERROR: not found: ")]
        if gone:
            left = [test for test in tests if not any(line.endswith(f"/{test}") for line in gone)]
            return self._failing(left, timeout) if left and len(left) < len(tests) else []
        failed = [line.split(" ", 1)[1].split(" - ")[0] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed or [f"pytest ended with {run.returncode}"]
