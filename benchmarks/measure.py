"""Measuring: rivals take turns, round by round."""

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from . import agreement
from .case import (
    OURS,
    Bytes,
    Compilation,
    Counts,
    Curve,
    Difference,
    Durations,
    Figures,
    FirstCall,
    Growth,
    Launch,
    Peak,
    Quick,
    Steps,
    Timed,
    Tuning,
)
from .process import HOST, ROOT, AbsentRivalError, Worker

BLOCK_SECONDS = 0.2
# Threads of a numeric library spin for a while after their last work: OpenMP's by default for 0.2 seconds.
PAUSE_SECONDS = 0.3
# A prompt takes minutes; more seeds than this tell little more.
LONGEST_SECONDS, MOST_SEEDS = 3600, 3
# Where the libraries keep compiled code: a folder of its own for each, under one that is new.
CACHES = ("RETROGRADE_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME")
# JAX keeps only what took long to compile, unless told otherwise.
CACHES_ALL = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@dataclass(frozen=True)
class Settings:
    """How to measure: the module of the suite, how many turns each rival has, interpreters for some rivals, and the first seed."""

    suite: str
    rounds: int
    pythons: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    def python(self, rival):
        """The interpreter of a rival: its own, or that of its library ("torch" for "torch.compile", "jax" for "jax, 300")."""
        return self.pythons.get(rival) or self.pythons.get(re.split("[ ,.]", rival)[0]) or sys.executable

    def worker(self, case, rival, *size, environment=None, patience=None):
        """A process in which the rival has prepared itself, within `patience` seconds."""
        python = self.pythons.get(case.packages.get(rival, "")) or self.python(rival)
        return Worker([self.suite, case.name, rival, *size], python, environment, patience)


@dataclass
class Result:
    """The samples of a case by rival, one a round, in SI units, and notes on rivals that are missing.

    prompts  of a `Tuning` case, by rival for each round: the seed, the prompt, the calls it took, and a digit for each test item
    """

    case: object
    samples: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    prompts: dict[str, list[dict]] = field(default_factory=dict)

    def add(self, name, value):
        """Take one sample."""
        self.samples.setdefault(name, []).append(value)

    def leave_out(self, rival, reason):
        """Note, once, that a rival takes no part."""
        note = f"{rival} is left out: {reason}"
        if note not in self.notes:
            self.notes.append(note)


def run(case, settings):
    """The result of `case`."""
    return _MEASURES[type(case)](case, settings)


def _timed(case, settings):
    result = Result(case)
    with ExitStack() as stack:
        workers = _ready(stack, result, settings)
        counts = {rival: _count(worker) for rival, worker in workers.items()}
        for number in range(settings.rounds):
            for rival in _rotated(list(workers), number):  # so that nobody is always the one after a certain other
                time.sleep(PAUSE_SECONDS)
                result.add(rival, workers[rival].ask("seconds", counts[rival]))
    return result


def _rotated(names, number):
    number %= len(names) or 1
    return names[number:] + names[:number]


def _ready(stack, result, settings, *size):
    """The workers of those rivals that can take part and compute the same."""
    case, workers, trails = result.case, {}, {}
    steps, tolerance = case.compared or agreement.STEPS, case.tolerance or agreement.TOLERANCE
    for rival in case.rivals:
        try:
            worker = settings.worker(case, rival, *size, patience=case.patience)
            trails[rival] = worker.ask("trail", steps, case.patience)
            workers[rival] = stack.enter_context(worker)
        except AbsentRivalError as error:
            result.leave_out(rival, error)
    trails = {rival: trail for rival, trail in trails.items() if rival not in case.apart}
    for rival, deviation in (agreement.dissenters(trails, tolerance) if trails else {}).items():
        result.leave_out(rival, f"it computes something else; over {steps} steps its results are off by {deviation:.1e} from the "
                                f"median of all, and {tolerance:g} is allowed")
        workers.pop(rival).close()
    return workers


def _steps(case, settings):
    """One number of threads after the other, so that not all processes are there at once."""
    result = Result(case)
    for threads in case.threads:
        with ExitStack() as stack:
            workers = _ready(stack, result, settings, threads)
            counts = {rival: _count_of_one(worker, case) for rival, worker in workers.items()}
            for number in range(settings.rounds):
                for rival in _rotated(list(workers), number):
                    time.sleep(PAUSE_SECONDS)
                    cost = workers[rival].ask("cost", counts[rival], case.patience)
                    for name, value in zip(case.names(rival, threads), cost, strict=True):
                        result.add(name, value / case.parts)
    return result


def _count_of_one(worker, case):
    """As `_count`, of a step that may take many seconds and has run before."""
    return max(1, round(BLOCK_SECONDS / worker.ask("cost", 1, case.patience)[0]))


def _count(worker):
    return max(1, round(BLOCK_SECONDS / worker.ask("seconds", 3)))


def _first_call(case, settings):
    result, present = Result(case), list(case.rivals)
    for _ in range(settings.rounds):
        for rival in tuple(present):
            try:
                _take_first_calls(result, rival, settings)
            except AbsentRivalError as error:
                present.remove(rival)
                result.leave_out(rival, error)
    return result


def _take_first_calls(result, rival, settings):
    """One round of one rival: its turns share a folder for compiled code."""
    case = result.case
    with TemporaryDirectory() as folder:
        environment = {name: str(Path(folder, name.lower())) for name in CACHES} | CACHES_ALL
        for turn in case.turns:
            with settings.worker(case, rival, environment=environment) as worker:
                result.add(f"{rival}, {turn}" if turn else rival, worker.ask("first"))


def _compilation(case, settings):
    result = _first_call(case, settings)
    for rival, samples in result.samples.items():
        result.notes.append(f"{rival}: {median(samples) / case.operations[rival] * 1e3:.3f} ms an op")
    return result


def _curve(case, settings):
    result, present = Result(case), list(case.rivals)
    for size in case.sizes:
        with ExitStack() as stack:
            workers = {}
            for rival in tuple(present):
                try:
                    workers |= {(rival, n): _counted(stack, settings.worker(case, rival, size, n)) for n in case.threads}
                except AbsentRivalError as error:
                    present.remove(rival)
                    result.leave_out(rival, error)
            for _ in range(settings.rounds):
                for (rival, threads), (worker, count) in workers.items():
                    time.sleep(PAUSE_SECONDS)
                    for name, value in zip(case.names(rival, size, threads), worker.ask("cost", count), strict=True):
                        result.add(name, value)
    return result


def _counted(stack, worker):
    """A worker that `stack` will close, and how often it calls its step in a block."""
    stack.enter_context(worker)
    return worker, _count(worker)


def _peak(case, settings):
    result = Result(case)
    for _ in range(min(settings.rounds, 5)):
        for rival in case.rivals:
            try:
                with settings.worker(case, rival) as worker:
                    result.add(rival, worker.ask("peak"))
            except AbsentRivalError as error:
                result.leave_out(rival, error)
    return result


def _launch(case, settings):
    result = Result(case)
    with TemporaryDirectory() as bytecode:
        for i in range(settings.rounds + 1):
            for rival, source in case.rivals.items():
                taken = _seconds_of([settings.python(rival), "-c", source()], bytecode)
                if i > 0:  # The first round compiles to bytecode, as an installation does.
                    result.add(rival, taken)
    base = result.samples.pop(case.baseline)
    for rival, samples in result.samples.items():
        result.samples[rival] = [a - b for a, b in zip(samples, base, strict=True)]
    return result


def _figures(case, settings):
    result = Result(case)
    (rival,) = case.rivals
    with settings.worker(case, rival) as worker:
        for _ in range(settings.rounds):
            for name, value in worker.ask("figures", 4000).items():
                result.add(name, value)
    return result


def _bytes(case, settings):
    result = Result(case)
    for rival in case.rivals:
        try:
            with settings.worker(case, rival, patience=case.patience) as worker:
                result.add(rival, worker.ask(case.request, None, case.patience))
        except AbsentRivalError as error:
            result.leave_out(rival, error)
    return result


def _difference(case, settings):
    result, found = Result(case), {}
    for rival in case.rivals:
        try:
            with settings.worker(case, rival, patience=case.patience) as worker:
                found[rival] = [np.array(numbers) for numbers in worker.ask("numbers", None, case.patience)]
        except AbsentRivalError as error:
            result.leave_out(rival, error)
    ours = found.pop(OURS, None)
    for rival, arrays in found.items() if ours else ():
        result.add(rival, max(float(abs(a - b).max()) for a, b in zip(ours, arrays, strict=True)))
    return result


def _tuning(case, settings):
    """Round by round, each with a seed of its own; notes say what each rival took."""
    result, present, taken = Result(case), list(case.rivals), {}
    with settings.worker(case, HOST, patience=LONGEST_SECONDS) as host:
        for seed in range(settings.seed, settings.seed + min(settings.rounds, MOST_SEEDS)):
            for rival in tuple(present):
                try:
                    _tune(result, host, rival, seed, settings, taken)
                except AbsentRivalError as error:
                    present.remove(rival)
                    result.samples.pop(rival, None)
                    result.prompts.pop(rival, None)
                    result.leave_out(rival, error)
    for rival in result.samples:
        calls, minutes = zip(*taken[rival], strict=True)
        result.notes.append(f"{rival}: {median(calls):.0f} calls and {median(minutes):.1f} minutes a prompt")
    return result


def _tune(result, host, rival, seed, settings, taken):
    """One prompt of one rival."""
    case = result.case
    with settings.worker(case, rival, patience=LONGEST_SECONDS) as worker:
        given = host.ask("figures", {"begin": case.calls})
        start = time.perf_counter()
        prompt = worker.ask("figures", {**given, "calls": case.calls, "seed": seed}, LONGEST_SECONDS)
        minutes = (time.perf_counter() - start) / 60
    found = host.ask("figures", {"prompt": prompt}, LONGEST_SECONDS)
    taken.setdefault(rival, []).append((found["calls"], minutes))
    result.add(rival, found["score"])
    result.prompts.setdefault(rival, []).append(
        {"seed": seed, "calls": found["calls"], "hits": "".join(map(str, found["hits"])), "prompt": prompt})
    print(f"{case.name}, seed {seed}, {rival}: {found['score']:.3f} after {found['calls']} calls and {minutes:.1f} minutes",
          file=sys.stderr, flush=True)


def _seconds_of(command, bytecode):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    return time.perf_counter() - start


_MEASURES = {
    Timed: _timed, Quick: _timed, FirstCall: _first_call, Compilation: _compilation, Peak: _peak, Launch: _launch,
    Figures: _figures, Durations: _figures, Counts: _figures, Curve: _curve, Tuning: _tuning, Steps: _steps, Bytes: _bytes,
    Growth: _bytes, Difference: _difference,
}
