"""Sweep: one function at many points of a space, by several processes; what is done is kept, so that a sweep goes on."""

import json
import math
import os
import sys
import tempfile
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import writing
from ..compiler.backends import get_num_threads, set_num_threads
from ..errors import ArgumentError, CheckpointError
from ..workers import results
from . import by_optuna
from .space import checked, drawn, grid, is_finite

_FILE, _FACTS = "trials.jsonl", "sweep.json"


class Trial(NamedTuple):
    """One run: its number, the point, what the function gave (None if it failed or was pruned), why it failed, how long it took."""

    number: int
    point: dict
    value: float | None
    error: str | None
    seconds: float

    def kept(self):
        """What is written of it, as plain data by name."""
        return {"number": self.number, "point": self.point, "value": self.value, "error": self.error, "seconds": self.seconds}


class Sweep(list[Trial]):
    """The trials of a sweep, in the order of their numbers; `best` is the one with the least value, or the greatest."""

    def __init__(self, trials, mode):
        by_number: dict = {trial.number: trial for trial in trials}
        super().__init__([by_number[number] for number in sorted(by_number)])
        self.mode = mode

    @property
    def best(self):
        """The best trial; an ArgumentError if none has a value."""
        done = {trial.number: trial.value for trial in self if trial.value is not None and not math.isnan(trial.value)}
        if not done:
            why = next((trial.error for trial in self if trial.error is not None), "there are none")
            raise ArgumentError(f"no trial has a value; the first error was: {why}")
        number = (min if self.mode == "min" else max)(done, key=done.__getitem__)
        return next(trial for trial in self if trial.number == number)

    @property
    def failures(self):
        """The trials that raised an error."""
        return [trial for trial in self if trial.error is not None]


class Point(dict):
    """The settings of one trial, by name. `report(value)` tells how far it is, after which it may be given up."""

    def __init__(self, point, report: Any = None):
        super().__init__(point)
        self._report = report

    def report(self, value):
        """Tell the value of a step, such as the validation loss of an epoch; a pruner may end the trial here."""
        if self._report is not None:
            self._report(float(value))

    def __reduce__(self):
        return dict, (dict(self),)


def sweep(function, space, *, trials=None, backend="joblib", workers=None, sampler=None, pruner=None, seed=0, mode="min",
          folder=None, progress=True):
    """Call `function(point)`, which returns a number, for points of a space, and return the trials as a `Sweep`.

    space     a dictionary by name: a list of choices, a range, or `rg.sweeps.between(low, high, log=False)`
    trials    how many points; by default all of a grid. Fewer than that, or of ranges of floats, are drawn at random
    backend   "joblib" or "dask" (the client that there is, or processes of this machine), or None: this process
    workers   how many processes; one for each core by default
    sampler   one of Optuna's samplers, which learns from the trials that are over; `pruner` one of its pruners, which gives up
              trials by what they `point.report(value)`
    mode      "min" or "max": which value is the best
    folder    where trials are kept when they are over; called again with it, a sweep makes those that are missing
    progress  whether a line of each trial is shown

    A trial that raises an error is told in its `error`, and the others go on. Points depend on seed and number alone without
    a sampler.

    >>> found = rg.sweep(lambda p: p["lr"] * p["width"], {"lr": [0.1, 0.2], "width": [1, 2]}, backend=None, progress=False)
    >>> len(found), found.best.point
    (4, {'lr': 0.1, 'width': 1})
    """
    space = checked(space)
    if mode not in ("min", "max"):
        raise ArgumentError(f'mode must be "min" or "max", got {mode!r}')
    if trials is None and not (is_finite(space) and sampler is None):
        raise ArgumentError("trials must be the number of points to try, since the space has no end")
    if trials is not None and (not isinstance(trials, int) or isinstance(trials, bool) or trials < 1):
        raise ArgumentError(f"trials must be an integer of at least 1, got {trials!r}")
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as place:
        place = Path(place)
        place.mkdir(parents=True, exist_ok=True)
        uses_optuna = sampler is not None or pruner is not None
        points = [None] * trials if trials is not None and uses_optuna else _points(space, trials, seed)
        _check_facts(place, {"space": {name: repr(values) for name, values in space.items()}, "seed": seed, "mode": mode,
                             "optuna": uses_optuna})
        done = {trial.number: trial for trial in _read(place) if trial.number < len(points)}
        missing = [(number, point) for number, point in enumerate(points) if number not in done]
        study = by_optuna.Study(place, space, sampler, pruner, mode) if uses_optuna else None
        run = partial(_tried, function, study, _threads(backend, workers))
        with (place / _FILE).open("a", encoding="utf-8") as file:
            file.write("\n" if missing and done else "")  # the last line may have been cut off
            for _, trial in results(run, missing, backend, workers):
                file.write(json.dumps(trial.kept()) + "\n")
                file.flush()
                os.fsync(file.fileno())
                done[trial.number] = trial
                if progress:
                    _show(Sweep(done.values(), mode), trial, len(points))
        return Sweep(done.values(), mode)


def _points(space, trials, seed):
    whole = grid(space) if is_finite(space) else None
    if whole is not None and (trials is None or trials >= len(whole)):
        return whole
    return [drawn(space, number, seed) for number in range(trials)]


def _tried(function, study, threads, numbered):
    """The trial of one point, in whichever process."""
    number, point = numbered
    if threads is not None:
        set_num_threads(threads)
    if study is not None:
        return Trial(*study.tried(number, function, Point))
    start, value, error = time.perf_counter(), None, None
    try:
        value = float(function(Point(point)))
    except Exception as caught:  # noqa: BLE001 - the other trials go on, and it is told with the trial
        error = f"{type(caught).__name__}: {caught}"
    return Trial(number, point, value, error, time.perf_counter() - start)


def _threads(backend, workers):
    """How many threads a worker uses, so that all use the cores once; None in this process."""
    return None if backend is None else max(1, get_num_threads() // (workers or os.cpu_count() or 1))


def _check_facts(place, facts):
    """Raise a CheckpointError if a folder has another sweep."""
    path, text = place / _FACTS, json.dumps(facts, sort_keys=True)
    if not path.exists():
        with writing(path) as part:
            part.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        raise CheckpointError(f"{place} holds a sweep of another space, seed, mode or sampler: {path.read_text(encoding='utf-8')}; "
                              f"this one is {text}. Use another folder")


def _read(place):
    """The trials that are kept in a folder; a line that was cut off, as the last one may be, is none."""
    path = place / _FILE
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            yield Trial(**json.loads(line))
        except (ValueError, TypeError):
            continue


def _show(found, trial, count):
    value = trial.error if trial.error is not None else "pruned" if trial.value is None else f"{trial.value:.6g}"
    best = [t for t in found if t.value is not None]
    told = f"; best {found.best.value:.6g} of trial {found.best.number}" if best else ""
    print(f"trial {trial.number}, {len(found)} of {count}: {value} at {trial.point}{told}", file=sys.stderr)
