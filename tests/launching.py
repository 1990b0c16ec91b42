"""Starts programs as several processes by the launcher of MPI, as users do; skips where there is none."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrograde.distributed import launcher
from retrograde.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "distributed" / "programs"


def _reason():
    """Why nothing can be started here; "" if it can."""
    try:
        launcher.find()
    except MissingExtraError as error:
        return str(error)
    return "" if importlib.util.find_spec("mpi4py") else "mpi4py is missing; it comes with the extra `distributed`"


needs_mpi = pytest.mark.skipif(bool(_reason()), reason=_reason() or "there is a launcher")


def started(count, program, *words, seconds=300, **environment):
    """A finished run of `count` processes of a file of programs/: its exit code, stdout and stderr."""
    words = [sys.executable, str(PROGRAMS / program), *map(str, words)]
    run = "import sys; from retrograde.distributed.running import run; sys.exit(run(int(sys.argv[1]), sys.argv[2:]))"
    known = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}", "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run([sys.executable, "-c", run, str(count), *words], capture_output=True, text=True, timeout=seconds,
                          env=known, check=False)


def passed(count, program, *words, **options):
    """The output of a run that must not fail."""
    found = started(count, program, *words, **options)
    assert found.returncode == 0, f"{found.stdout}\n{found.stderr}"
    return found.stdout
