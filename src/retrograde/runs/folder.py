"""The folder of a run: checkpoints by number, of which those that are not to be kept are deleted.

A checkpoint is a folder with two files. It is made under a name that begins with a dot, and renamed when it is on the disk.
"""

import os
import re
import shutil
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import flush_folder, locked
from ..errors import CheckpointError, StorageError
from .files import DESCRIPTION, described

_NAME = re.compile(r"checkpoint-(\d{6,18})")
_PART = re.compile(r"\.checkpoint-[0-9a-z-]+\.part")
#: Seconds to wait for another process that is saving into the same folder, and between looks.
_WAIT, _LOOK = 600, 0.02
#: Where folders cannot be locked, what is older than this was left by a process that died.
_ABANDONED = 3600


class Checkpoint(NamedTuple):
    """One checkpoint of a run: its folder, its number, the step at which it was made, and its metric."""

    path: Path
    number: int
    step: Any
    metric: float | None


def checkpoints(path):
    """The checkpoints in the folder of a run, oldest first.

    >>> rg.save_run("run", step=10, metric=0.5, note="a"), rg.save_run("run", step=20, metric=0.7, note="b")
    (PosixPath('run/checkpoint-000001'), PosixPath('run/checkpoint-000002'))
    >>> [(checkpoint.step, checkpoint.metric) for checkpoint in rg.runs.checkpoints("run")]
    [(10, 0.5), (20, 0.7)]
    """
    found = []
    for number, folder in numbered(path):
        try:
            found.append(Checkpoint(folder, number, *_summary(folder)))
        except CheckpointError:
            if folder.exists():  # else whoever saves meanwhile has deleted it
                raise
    return found


def _summary(folder):
    content = described(folder)
    return content["step"], content["metric"]


def numbered(path):
    """(number, folder) of the checkpoints of a run, oldest first."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as entries:
        found = [(int(match[1]), Path(entry.path)) for entry in entries if (match := _NAME.fullmatch(entry.name))]
    return sorted(found)


def newest(path):
    """The number of the newest checkpoint of a run; 0 if there is none."""
    return max([number for number, _ in numbered(path)], default=0)


def number_of(folder):
    """The number of a checkpoint."""
    return int(folder.name.rpartition("-")[2])


@contextmanager
def claimed(path):
    """Within it nobody else saves into the folder of a run, which is made if need be; what dead processes left is deleted."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise StorageError(f"{path} is a file, and a run is saved in a folder: name another place")
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        flush_folder(path.parent)
    deadline = time.monotonic() + _WAIT
    while True:
        with locked(path, waits=False) as is_mine:
            if is_mine is not False:
                _sweep(path, 0 if is_mine else _ABANDONED)
                yield
                return
        if time.monotonic() > deadline:
            raise CheckpointError(f"another process has been saving into {path} for {_WAIT} seconds")
        time.sleep(_LOOK)


def _sweep(path, age):
    """Delete what was not finished `age` seconds ago."""
    with os.scandir(path) as entries:
        for entry in entries:
            if _PART.fullmatch(entry.name) and (not age or time.time() - entry.stat().st_mtime > age):
                shutil.rmtree(entry.path, ignore_errors=True)


def try_to_write(path):
    """Make the folder of a run, and see that something can be made in it."""
    with claimed(path):
        part = Path(path) / f".checkpoint-{os.urandom(8).hex()}.part"
        part.mkdir()
        part.rmdir()


def add(path, fill):
    """Make the next checkpoint of a run that is claimed; `fill` is called with its empty folder. Returns its folder."""
    number = newest(path) + 1
    part = Path(path) / f".checkpoint-{os.urandom(8).hex()}.part"
    part.mkdir()
    try:
        fill(part)
        flush_folder(part)
        final = Path(path) / f"checkpoint-{number:06}"
        part.rename(final)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    flush_folder(path)
    return final


def prune(path, last, best, mode):
    """Delete all checkpoints but the `last` ones and the `best` by their metric, whose least or greatest (`mode`) is best."""
    found = numbered(path)
    if last is None or len(found) <= last + best:
        return
    kept = {folder for _, folder in found[len(found) - last:]}
    if best:
        sign = -1 if mode == "max" else 1
        scored = [(sign * metric, -number, folder) for number, folder in found if (metric := _metric(folder)) is not None]
        kept |= {folder for *_, folder in sorted(scored)[:best]}
    for _, folder in found:
        if folder not in kept:
            _delete(folder)


def _metric(folder):
    try:
        return _summary(folder)[1]
    except CheckpointError:
        return None  # damaged: nobody can say that it is the best


def _delete(folder):
    """Delete a checkpoint, which nobody sees half deleted."""
    part = folder.with_name(f".checkpoint-{os.urandom(8).hex()}.part")
    folder.rename(part)
    shutil.rmtree(part, ignore_errors=True)


def chosen(path, which, mode):
    """The folder of a checkpoint: `path` itself if it is one, or the last or the best of a run."""
    path = Path(path)
    if (path / DESCRIPTION).exists():
        return path
    found = numbered(path)
    if not found:
        raise CheckpointError(f"there is no checkpoint in {path}")
    if which == "last":
        return found[-1][1]
    scored = [(metric, number, folder) for number, folder in found if (metric := _metric(folder)) is not None]
    if not scored:
        raise CheckpointError(f"no checkpoint in {path} was saved with a metric")
    if mode is None:
        mode = described(scored[-1][2]).get("mode", "min")
    return min(scored, key=lambda s: (-s[0] if mode == "max" else s[0], -s[1]))[2]
