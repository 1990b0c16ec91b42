"""Parts of a run: what `save_run` is handed, as it is now, and putting it back into what `load_run` is handed, or nothing of it."""

import random

import numpy as np

from ..core.mode import no_grad
from ..errors import CheckpointError, RetrogradeError
from ..nn.module import Module
from ..ops.random.draws import default_generator
from ..tensor.tensor import Tensor
from .kinds import KINDS, kind_of
from .values import Saved, encode

#: What raises when a saved state is not what an object takes.
_UNFIT = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)


def process_generators():
    """The generators that a process has one of: ours, Python's and NumPy's."""
    return {"retrograde": default_generator, "python": random._inst, "numpy": np.random.mtrand._rand}  # noqa: SLF001 - nothing else gives them


def captured(parts, arrays):
    """The parts of a run, by name, in JSON and `arrays`."""
    names = _parameter_names(parts)

    def stateful(value, name):
        kind = kind_of(value)
        if kind is None:
            return None
        try:
            return kind, KINDS[kind].facts(value, names), KINDS[kind].state(value)
        except RetrogradeError as error:
            error.add_note(f"while {name} was saved")
            raise

    return {name: encode(value, name, arrays, stateful) for name, value in parts.items()}


def _parameter_names(parts):
    """By the identity of a parameter its name in the module among the parts."""
    return {id(p): f"{part}/{name}" for part, value in parts.items() if isinstance(value, Module)
            for name, p in value.named_parameters()}


def restore(targets, saved):
    """Put saved values into the targets of the same names; if anything does not fit, a CheckpointError, and nothing is changed."""
    jobs, names = [], _parameter_names(targets)
    for name, target in targets.items():
        if name not in saved:
            raise CheckpointError(f"the checkpoint has no {name}; it has {', '.join(sorted(saved)) or 'nothing'}")
        _plan(target, saved[name], name, names, jobs)
    for name, job in jobs:
        _guarded(name, job.check)
    undone = []
    try:
        for name, job in jobs:
            undone.append(_guarded(name, job.restore))
    except BaseException:
        for undo in reversed(undone):
            undo()
        raise


class _Job:
    def __init__(self, name, target, saved, kind, names):
        self.check = lambda: kind.check(target, saved, name, names)
        self.restore = lambda: kind.restore(target, saved)


def _plan(target, saved, name, names, jobs):
    """Add what is to be done for a target, or for each in a list, tuple or dictionary."""
    if type(target) in (list, tuple, dict):
        if type(saved) is not type(target) or len(saved) != len(target):
            raise CheckpointError(f"{name} is a {type(target).__name__} of {len(target)}, and what was saved is not")
        for key, part in target.items() if isinstance(target, dict) else enumerate(target):
            if isinstance(target, dict) and key not in saved:
                raise CheckpointError(f"{name} has {key!r}, and what was saved has not")
            _plan(part, saved[key], f"{name}/{key}", names, jobs)
        return
    if isinstance(target, (Tensor, np.ndarray)):
        jobs.append((name, _Tensor(name, target, saved)))
        return
    kind = kind_of(target)
    if kind is None:
        raise CheckpointError(f"{name} is a {type(target).__name__}, which cannot be restored in place; leave it out, and take it "
                              "from what load_run returns")
    if not isinstance(saved, Saved) or saved.kind != kind:
        what = f"a {saved.kind}" if isinstance(saved, Saved) else f"a {type(saved).__name__}"
        raise CheckpointError(f"{name} is a {type(target).__name__}, and what was saved under that name is {what}")
    jobs.append((name, _Job(name, target, saved, KINDS[kind], names)))


class _Tensor:
    """A tensor or an array whose numbers are written in place."""

    def __init__(self, name, target, saved):
        self.name, self.target, self.saved = name, target, saved

    def check(self):
        expected, found = [(str(getattr(x, "dtype", type(x).__name__)), getattr(x, "shape", ())) for x in (self.target, self.saved)]
        if expected != found:
            raise CheckpointError(f"{self.name} is {expected[0]} of shape {expected[1]}, and what was saved is {found[0]} of shape "
                                  f"{found[1]}")
        if isinstance(self.target, np.ndarray) and not self.target.flags.writeable:
            raise CheckpointError(f"{self.name} is an array that is read-only")

    def restore(self):
        before = self.target.detach().clone() if isinstance(self.target, Tensor) else self.target.copy()
        self._write(self.saved)
        return lambda: self._write(before)

    def _write(self, value):
        with no_grad():
            self.target[...] = value


def _guarded(name, function):
    """What `function` returns; what it raises because a state does not fit is a CheckpointError that says of which part."""
    try:
        return function()
    except RetrogradeError as error:
        error.add_note(f"while {name} was restored; nothing was changed")
        raise
    except _UNFIT as error:
        raise CheckpointError(f"{name} does not take what was saved: {type(error).__name__}: {error}") from error
