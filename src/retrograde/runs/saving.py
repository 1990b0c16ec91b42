"""Saving a run: its parts are copied at once, and written now or by a thread while the training goes on."""

import atexit
import math
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CheckpointError
from ..io.bounded import refused
from ..once import forkable
from .files import write_files
from .folder import add, claimed, newest, number_of, prune, try_to_write
from .lock import RunLock
from .parts import captured, process_generators
from .values import Arrays

#: Seconds between looks whether a writer has come to its end.
_LOOK = 0.1


def save_run(path, /, *, step=None, metric=None, keep_last=None, keep_best=0, mode="min", wait=True, **parts):
    """Save the parts of a run (`model=`, `optimizer=`, `data=`, whatever there is) as the next checkpoint in the folder `path`.

    A part is a module, an optimizer, a schedule, a generator (of `rg`, NumPy or Python), anything with `state_dict()` and
    `load_state_dict()` such as a loader, a tensor, an array, a number, a text, or lists, tuples and dictionaries of these. The
    generators of the process are saved too. Nothing is pickled.

    step       the number of the step, which `load_run` returns
    metric     how good the model is, by which `keep_best` chooses; `mode` says whether the least ("min") or the greatest ("max") is
               best
    keep_last  how many of the latest checkpoints are kept, None: all
    keep_best  how many of the best ones are kept beside these
    wait       whether to return when the checkpoint is on the disk; otherwise what is saved is copied, and a thread writes it

    A checkpoint is complete or absent, whatever happens meanwhile. Returns its folder, or None if it is written later: what goes
    wrong then is raised by the next save into the same folder, or told on stderr when the process ends; `rg.runs.RunSaver` can
    wait.

    >>> model = rg.nn.Linear(2, 1)
    >>> optimizer = rg.optim.AdamW(model.parameters())
    >>> rg.save_run("run", model=model, optimizer=optimizer, step=3, keep_last=2)
    PosixPath('run/checkpoint-000001')
    >>> rg.load_run("run", model=model, optimizer=optimizer)
    {'step': 3}
    """
    saver = _saver_of(path)
    return saver.save(step=step, metric=metric, keep=_Keep(keep_last, keep_best, mode), wait=wait, **parts)


class RunSaver:
    """Saves a run into one folder, as `save_run` does, and while the training goes on: at most one checkpoint waits for the disk.

    If the next one is saved before, it takes the place of the one that waits, unless that has a better metric than all since.

    >>> saver = rg.runs.RunSaver("run", keep_last=2)
    >>> for step in range(5):
    ...     saver.save(step=step, state=np.full(3, step))
    >>> saver.wait()
    >>> rg.load_run("run")["state"]
    array([4, 4, 4])
    """

    def __init__(self, path, keep_last=3, keep_best=0, mode="min"):
        self.path, self._keep, self._held = Path(path), _Keep(keep_last, keep_best, mode), RunLock(path)
        #: The number of the newest checkpoint, where nobody else is to save.
        self._newest: int | None = None
        self._begin()

    def _begin(self):
        self._lock, self._waiting, self._thread = threading.Lock(), [], None
        #: What went wrong behind, and was not raised yet.
        self._error: BaseException | None = None
        #: The folder, once a training into it is over.
        self._left: str | None = None
        self._process = os.getpid()

    @contextmanager
    def alone(self, goes_on):
        """Within it this saver alone saves into the folder, and nobody else trains there. A CheckpointError says who does
        already, or, if its training `goes_on`, that others have saved since.
        """
        self._renew()
        self.wait()
        self.check()
        place, self._left = os.path.realpath(self.path), None
        if (leaving := _LEAVING.get(place)) is not None:
            leaving._settle()  # noqa: SLF001 - it is one of us, and trains no more
        try:
            with _refused(self.path):
                self._held.acquire()
            if not goes_on or self._newest is None:
                self._newest = newest(self.path)
            _check_newest(self.path, self._newest)
            yield
        finally:
            with self._lock:
                if self._thread is None:
                    self._held.release()
                else:  # what waits for the disk is still to be written
                    self._left = place
                    _LEAVING[place] = self

    def save(self, *, step=None, metric=None, wait=False, keep=None, **parts):
        """Save what the parts are now; with `wait` it is on the disk on return, and the folder of the checkpoint is returned."""
        self._renew()
        self._raise()
        snapshot = _Snapshot(step, metric, parts, keep or self._keep, copies=not wait)
        if wait:
            self.wait()
            return self._written(snapshot, self.path)
        snapshot.path = self.path.absolute()  # also if the process goes to another folder meanwhile
        with self._lock:
            self._waiting = [*_worth_keeping(self._waiting, snapshot), snapshot]
            if self._thread is None:
                self._start()
        if self._thread is None:  # none can be started, or it is done
            self._write()
            self._raise()
        return None

    def check(self):
        """Raise a StorageError now if no checkpoint could be written."""
        with _refused(self.path):
            try_to_write(self.path)

    def _renew(self):
        if self._process != os.getpid():
            self._begin()  # a forked child has no thread, and nothing of its own to write

    def _start(self):
        self._thread = threading.Thread(target=self._write, name=f"saving {self.path}")
        try:
            self._thread.start()  # not a daemon: the process ends when it is done
        except RuntimeError:
            self._thread = None

    def _write(self):
        while True:
            with self._lock:
                if not self._waiting:
                    if self._left is not None:
                        self._held.release()
                        _LEAVING.pop(self._left, None)
                    self._thread = None  # last: whoever waits for it finds the folder free
                    return
                snapshot = self._waiting.pop(0)
            try:
                self._written(snapshot, snapshot.path)
            except BaseException as error:  # noqa: BLE001 - raised by the next call, in the thread that saves
                self._error = error
                atexit.register(self._tell)  # or told, if there is none
            del snapshot

    def _written(self, snapshot, path):
        """Write a snapshot; the folder of its checkpoint."""
        made = snapshot.write(path, self._newest)
        if self._newest is not None:
            self._newest = number_of(made)
        return made

    def wait(self):
        """Wait until everything that was saved is on the disk; an error that came up meanwhile is raised."""
        self._settle()
        self._raise()

    def _settle(self):
        while (thread := self._thread) is not None and self._process == os.getpid():
            thread.join(_LOOK)  # so that Ctrl-C is heard

    def _raise(self):
        error, self._error = self._error, None
        if error is not None:
            atexit.unregister(self._tell)
            raise error

    def _tell(self):
        error, self._error = self._error, None
        if error is not None and self._process == os.getpid():
            print(f"a checkpoint was not saved: {type(error).__name__}: {error}", file=sys.stderr)


class _Keep:
    """Which checkpoints are kept."""

    def __init__(self, last, best, mode):
        for name, value, least in (("keep_last", last, 1), ("keep_best", best, 0)):
            if (value is not None or name == "keep_best") and (type(value) is not int or value < least):
                raise ArgumentError(f"{name} must be an integer of at least {least}, got {value!r}")
        if mode not in ("min", "max"):
            raise ArgumentError(f'mode must be "min" or "max", got {mode!r}')
        self.last, self.best, self.mode = last, best, mode


class _Snapshot:
    """The parts of a run as they were, ready to be written."""

    def __init__(self, step, metric, parts, keep, copies):
        self.keep, self.arrays = keep, Arrays(copies)
        self.path: Any = None
        self.metric = None if metric is None or not math.isfinite(metric) else float(metric)
        step = step if step is None or type(step) is int else int(step)
        self.content = {
            "step": step, "metric": self.metric, "mode": keep.mode,
            "parts": captured(parts | ({} if step is None else {"step": step}), self.arrays),
            "generators": captured(process_generators(), _Prefixed(self.arrays))}
        self.arrays = self.arrays.by_name

    def write(self, path, last=None):
        """Write them as the next checkpoint, after number `last` if that is given, and delete those that are not to be kept."""
        with _refused(path), claimed(path):
            if last is not None:
                _check_newest(path, last)
            made = add(path, lambda folder: write_files(folder, self.content, self.arrays))
            prune(path, self.keep.last, self.keep.best, self.keep.mode)
        return made


@contextmanager
def _refused(path):
    """Within it what the system refuses is a StorageError that names the folder of the run."""
    try:
        yield
    except OSError as error:
        if isinstance(error, CheckpointError):
            raise
        raise refused(path, "written", error) from error


def _check_newest(path, last):
    """Raise a CheckpointError if there are checkpoints after number `last`."""
    if (found := newest(path)) > last:
        raise CheckpointError(f"{path} has a checkpoint {found}, and this training has saved up to {last}: others save there too. "
                              "To go on from theirs, make everything anew; to go on from here, save into another folder")


class _Prefixed:
    """The arrays of the generators of the process, apart from those of parts."""

    def __init__(self, arrays):
        self._arrays = arrays

    def add(self, name, array):
        return self._arrays.add(f"the process/{name}", array)


def _worth_keeping(waiting, new):
    """Of the snapshots that wait, the one that is better than all others and than the new one, if that is asked for."""
    sign = -1 if new.keep.mode == "max" else 1
    scored = [s for s in waiting if s.metric is not None] if new.keep.best else []
    best = min(scored, key=lambda s: sign * s.metric, default=None)
    is_best = best is not None and (new.metric is None or sign * best.metric < sign * new.metric)
    return [best] if is_best else []


#: By folder, whose training has ended, while the last of it may still be on its way to the disk.
_LEAVING: dict[str, RunSaver] = {}
_SAVERS: dict[str, RunSaver] = {}
_MAKING = forkable()


def _saver_of(path):
    """The saver of a folder: one for all calls, so that checkpoints are written in their order."""
    place = os.path.realpath(path)
    with _MAKING:
        idle = [known for known, saver in _SAVERS.items() if known != place and saver._thread is None and saver._error is None]  # noqa: SLF001
        for known in idle:
            del _SAVERS[known]
        saver = _SAVERS.setdefault(place, RunSaver(path))
        saver.path = Path(path)
        return saver
