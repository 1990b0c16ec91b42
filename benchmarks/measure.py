"""Measuring: rivals take turns, round by round."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from .case import Figures, Launch, Peak, Timed
from .process import ROOT, MissingRivalError, Worker

BLOCK_SECONDS = 0.2
# Threads of a numeric library spin for a while after their last work.
PAUSE_SECONDS = 0.05


@dataclass
class Result:
    """The samples of a case by rival, one a round, in SI units, and notes on rivals that are missing."""

    case: object
    samples: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def run(case, rounds, pythons):
    """The result of `case`; `pythons` names interpreters for rivals that have their own."""
    return _MEASURES[type(case)](case, rounds, pythons)


def _timed(case, rounds, pythons):
    result = Result(case)
    with ExitStack() as stack:
        workers = {}
        for rival in case.rivals:
            try:
                workers[rival] = stack.enter_context(_worker(case, rival, pythons))
            except MissingRivalError as error:
                result.notes.append(f"{rival} is left out: {error}")
        counts = {rival: max(1, round(BLOCK_SECONDS / worker.ask("seconds", 3))) for rival, worker in workers.items()}
        for _ in range(rounds):
            for rival, worker in workers.items():
                time.sleep(PAUSE_SECONDS)
                result.samples.setdefault(rival, []).append(worker.ask("seconds", counts[rival]))
    return result


def _peak(case, rounds, pythons):
    result = Result(case)
    for _ in range(min(rounds, 5)):
        for rival in case.rivals:
            try:
                with _worker(case, rival, pythons) as worker:
                    result.samples.setdefault(rival, []).append(worker.ask("peak"))
            except MissingRivalError as error:
                result.notes.append(f"{rival} is left out: {error}")
    result.notes = sorted(set(result.notes))
    return result


def _launch(case, rounds, pythons):
    result = Result(case)
    with TemporaryDirectory() as bytecode:
        for i in range(rounds + 1):
            for rival, source in case.rivals.items():
                taken = _seconds_of([pythons.get(rival, sys.executable), "-c", source()], bytecode)
                if i > 0:  # The first round compiles to bytecode, as an installation does.
                    result.samples.setdefault(rival, []).append(taken)
    base = result.samples.pop(case.baseline)
    for rival, samples in result.samples.items():
        result.samples[rival] = [a - b for a, b in zip(samples, base, strict=True)]
    return result


def _figures(case, rounds, pythons):
    result = Result(case)
    (rival,) = case.rivals
    with _worker(case, rival, pythons) as worker:
        for _ in range(rounds):
            for name, value in worker.ask("figures", 4000).items():
                result.samples.setdefault(name, []).append(value)
    return result


def _worker(case, rival, pythons):
    return Worker(case, rival, pythons.get(rival, sys.executable))


def _seconds_of(command, bytecode):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    return time.perf_counter() - start


_MEASURES = {Timed: _timed, Peak: _peak, Launch: _launch, Figures: _figures}
