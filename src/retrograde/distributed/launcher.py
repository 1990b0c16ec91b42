"""Launcher: the program of MPI that starts several processes, and what it is told."""

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from ..errors import ArgumentError, MissingExtraError

_NAMES = ("mpirun", "mpiexec")


def find():
    """The launcher of MPI: that beside this Python, as the wheels of Open MPI and MPICH install it, or that of the system."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        for name in _NAMES:
            if (folder / name).is_file() and os.access(folder / name, os.X_OK):
                return str(folder / name)
    for name in _NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    raise MissingExtraError("there is no launcher of MPI (mpirun, mpiexec); install one with: pip install "
                            "'retrograde[distributed]', or that of the system: apt-get install openmpi-bin")


def command(count, words):
    """The command that starts `count` processes of `words`, a program with its arguments."""
    if not isinstance(count, int) or count < 1:
        raise ArgumentError(f"the number of processes must be an integer of at least 1, got {count!r}")
    launcher = find()
    options = []
    if _is_open_mpi(launcher):
        # Threads are shared out by each process itself, so that one that is alone on its machine may use all of it.
        options = ["--bind-to", "none"]
        if count > len(os.sched_getaffinity(0)):
            # A process that waits in MPI itself gives up its core, where there are fewer of them than processes.
            options += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            options += ["--allow-run-as-root"]
    return [launcher, *options, "-n", str(count), *words]


@cache
def _is_open_mpi(launcher):
    found = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - a path that we found
    return "Open MPI" in found.stdout or "OpenRTE" in found.stdout
