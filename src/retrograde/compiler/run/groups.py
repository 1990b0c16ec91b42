"""Control groups of Linux, of both versions: what a container leaves a process of memory and of processors.

https://docs.kernel.org/admin-guide/cgroup-v2.html and https://docs.kernel.org/admin-guide/cgroup-v1/
"""

from contextlib import suppress
from pathlib import Path

_ROOT, _MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: Version 1 writes a number near 2^63 for no limit.
_NO_LIMIT = 1 << 60


def cpu_quota(root=_ROOT, mine=_MINE):
    """How many processors' time the groups of this process may take; None without a limit."""
    found = []
    for folder in _folders("", root, mine):
        with suppress(OSError, ValueError):
            quota, period = (folder / "cpu.max").read_text().split()
            found.append(int(quota) / int(period))  # "max" is no number
    for folder in _folders("cpu", root, mine):
        with suppress(OSError, ValueError):
            quota, period = [int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period")]
            found += [quota / period] if quota > 0 and period > 0 else []
    return min(found, default=None)


def free_memory(root=_ROOT, mine=_MINE):
    """Bytes that the limits of the groups of this process leave; None without one. Pages of files that can be dropped are free."""
    found = []
    for name, limit, used, droppable in (("", "memory.max", "memory.current", "inactive_file"),
                                         ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")):
        for folder in _folders(name, root, mine):
            with suppress(OSError, ValueError):
                most = int((folder / limit).read_text())
                stats = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                taken = int((folder / used).read_text()) - int(stats.get(droppable, 0))
                found += [max(most - taken, 0)] if most < _NO_LIMIT else []
    return min(found, default=None)


def _folders(controller, root, mine):
    """The folders that limit this process by a controller of version 1, or by version 2, whose name is empty: of its own group and
    of those around it. In a container the path may be that of the host, and its own group is at the root.
    """
    path = _path_of(controller, mine)
    top = root / controller if controller else root
    if path is None or not top.is_dir():
        return [top] if top.is_dir() else []
    inner = top / path.strip("/")
    return [folder for folder in (inner, *inner.parents) if folder == top or top in folder.parents]


def _path_of(controller, mine):
    """The path of this process's group: lines are `number:controllers:path`."""
    with suppress(OSError, ValueError):
        for line in mine.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(",") and bool(controllers) is bool(controller):
                return path
    return None
