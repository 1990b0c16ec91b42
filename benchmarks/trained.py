"""From the start of a process to a trained model: digits, clothes and a table, beside skorch, Keras (JAX) and Lightning.

Run `python -m benchmarks.trained` (options: --tasks, --rounds, --rivals PYTHON, --fashion FOLDER, --cold). Each program is a
process of its own, which reads the data, makes a network, trains it for some epochs with Adam, and says how much of the rows held
out it gets right; programs take turns. Times are those of the process, imports included. With --cold ours have no compiled code
kept on the disk; else there is that of a run before, as for anybody who runs a program twice.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .report import machine
from .workloads.training_programs import TASKS

PROGRAMS = {"Trainer": "retrograde", "NetClassifier": "retrograde", "skorch": "skorch", "Keras": "keras", "Lightning": "lightning"}
ROOT = Path(__file__).parents[1]


def main():
    """Print a table for each task."""
    options = _parser().parse_args()
    print(machine(), flush=True)
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.npz"
            arrays = TASKS[task].rows(options.fashion)
            np.savez(file, **arrays)
            print(f"\n{task}: {len(arrays['y'])} rows, {TASKS[task].epochs} epochs; load {os.getloadavg()[0]:.1f}", flush=True)
            print(f"{'':14} {'CPU':>8} {'wall':>8} {'accuracy':>9} {'CPU ÷ ours':>11} {'wall ÷ ours':>12}")
            _print(_measured(task, file, options, Path(folder)))


def _measured(task, file, options, folder):
    """By program its turns: (CPU seconds, seconds, accuracy) of each."""
    found = {name: [] for name in PROGRAMS}
    for turn in range(options.rounds):
        for name, library in PROGRAMS.items():
            cache = {"RETROGRADE_CACHE_DIR": str(folder / (f"{name} {turn}" if options.cold else name))}
            python = sys.executable if library == "retrograde" else options.rivals
            if library == "retrograde" and not turn and not options.cold:
                _run(name, task, file, python, cache)
            if (one := _run(name, task, file, python, cache)) is not None:
                found[name].append(one)
    return found


def _run(name, task, file, python, environment):
    """One turn of a program; None if it failed, which it has said then."""
    command = [python, "-m", f"{__package__}.workloads.training_programs", name, task, str(file)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "KERAS_BACKEND": "jax", **environment})
    said = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print(f"{name} ended with {process.returncode}", file=sys.stderr)
        return None
    return usage.ru_utime + usage.ru_stime, seconds, json.loads(said.splitlines()[-1])


def _print(found):
    medians = {name: np.median(turns, axis=0) for name, turns in found.items() if turns}
    ours = min((medians[name] for name in ("Trainer", "NetClassifier") if name in medians), key=lambda row: row[0], default=None)
    for name, (cpu, wall, accuracy) in medians.items():
        ratios = "" if ours is None else f"{cpu / ours[0]:11.2f} {wall / ours[1]:12.2f}"
        print(f"{name:14} {cpu:6.2f} s {wall:6.2f} s {accuracy:9.1%} {ratios}", flush=True)


def _parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", choices=[*TASKS], default=["digits", "table"])
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program (default: 5)")
    parser.add_argument("--rivals", default=sys.executable, metavar="PYTHON",
                        help="the interpreter that has skorch, Keras, JAX and Lightning installed (default: this one)")
    parser.add_argument("--fashion", type=Path, default=Path("/usr/share/datasets/fashion-mnist"), metavar="FOLDER",
                        help="the four files of Fashion-MNIST, for the task fashion")
    parser.add_argument("--cold", action="store_true", help="keep no compiled code between turns")
    return parser


if __name__ == "__main__":
    main()
