"""World: the group of all processes that were started together."""

import atexit
import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ..compiler.backends import get_num_threads, set_num_threads
from ..errors import DistributedError
from ..extras import optional
from ..ops._alone import ALONE
from .failures import ended_by, tell_failures
from .processes import Processes

#: What launchers of MPI tell the processes that they start: Open MPI, MPICH and Intel MPI, SLURM and others by PMIx, MVAPICH.
_STARTED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_SIZE")


def rank():
    """The number of this process among those that were started together, from 0 on; 0 where it is the only one.

    >>> rg.distributed.rank()
    0
    """
    return world().rank


def size():
    """How many processes were started together; 1 without a launcher of MPI.

    >>> rg.distributed.size()
    1
    """
    return world().size


@cache
def world():
    """The group of all processes. MPI is started when this is asked for first, in processes that its launcher has started."""
    if "mpi4py.MPI" not in sys.modules and not any([name in os.environ for name in _STARTED]):
        return ALONE
    mpi = _mpi()
    if mpi.COMM_WORLD.size == 1:
        return ALONE
    group = Processes(mpi, mpi.COMM_WORLD.Dup(), range(mpi.COMM_WORLD.size))
    tell_failures(group, mpi.COMM_WORLD.Abort)
    atexit.register(_end, group, mpi.COMM_WORLD.Abort, os.getpid())
    group.meet(f"the start of {_program()}")
    group.share_memory()
    _share_cores(mpi)
    return group


def _mpi():
    try:
        return optional("mpi4py.MPI", "distributed")
    except RuntimeError as error:
        raise DistributedError(f"mpi4py finds no MPI library to load ({str(error).splitlines()[0]}); install one with: pip install "
                               "'retrograde[distributed]', or that of the system, such as libopenmpi-dev") from None


def _share_cores(mpi):
    """Use as many threads as this process has cores for itself, of those that it may run on."""
    near = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    mine = os.sched_getaffinity(0)
    sharing = [theirs for theirs in near.allgather(mine) if theirs & mine]
    near.Free()
    set_num_threads(max(1, min(get_num_threads(), len(mine) // len(sharing))))


def _program():
    """What this process runs, so that two texts of one program are told apart."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    text = Path(path).read_bytes() if path is not None and Path(path).is_file() else b""
    name = Path(path).name if path is not None else "Python"
    return f"{name} ({hashlib.sha256(text).hexdigest()[:8]}), retrograde {_version()}, Python {sys.version.split()[0]}"


def _version():
    try:
        return version("retrograde")
    except ImportError:
        return "from its sources"


def _end(group, abort, process):
    """Leave together. Whoever ends while the others wait for it elsewhere is told to them."""
    if os.getpid() != process:  # a forked child is none of them
        return
    try:
        group.meet("the end of the program", float("inf"))
    except DistributedError as error:
        ended_by(group, error, abort)
