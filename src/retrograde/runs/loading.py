"""Loading a run: what is handed over is restored in place, and the rest is returned by name."""

from pathlib import Path

from ..errors import ArgumentError, CheckpointError
from .files import read_files
from .folder import chosen
from .parts import process_generators, restore
from .values import bare

#: How often a run is looked at anew, because its checkpoint was deleted for newer ones while it was read.
_ATTEMPTS = 20


def load_run(path, /, *, which="last", mode=None, generators=True, **parts):
    """Restore the parts that are handed over from a checkpoint of the run in the folder `path`, and return the others by name.

    which       "last", or "best" by the metric; `path` may also be the folder of one checkpoint
    mode        whether the least ("min") or the greatest ("max") metric is best; None: as it was when the run was saved
    generators  whether the generators of the process go on from where they were

    Everything is read and checked before anything is changed: a CheckpointError says which part is of another model, optimizer,
    schedule or data, and which file or tensor is damaged. What had a state and is not handed over is returned as that.

    >>> model = rg.nn.Linear(2, 1)
    >>> _ = rg.save_run("run", model=model, losses=[0.5, 0.25], step=2)
    >>> rg.load_run("run", model=model)
    {'losses': [0.5, 0.25], 'step': 2}
    >>> sorted(rg.load_run("run")["model"])
    ['bias', 'weight']
    """
    if which not in ("last", "best") or mode not in (None, "min", "max"):
        raise ArgumentError(f'which must be "last" or "best", and mode "min" or "max"; got {which!r} and {mode!r}')
    saved, of_process = _read(path, which, mode)
    targets, given = dict(parts), dict(saved)
    if generators:
        known = process_generators()
        targets |= {f"the generator {name}": known[name] for name in of_process if name in known}
        given |= {f"the generator {name}": state for name, state in of_process.items()}
    restore(targets, given)
    return {name: bare(value) for name, value in saved.items() if name not in parts}


def _read(path, which, mode):
    for attempt in range(_ATTEMPTS):
        folder = chosen(path, which, mode)
        try:
            return read_files(folder)
        except CheckpointError:
            # Whoever saves meanwhile may have deleted it.
            if folder == Path(path) or folder.exists() or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError
