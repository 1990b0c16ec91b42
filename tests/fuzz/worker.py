"""A process that runs seeds one after another, and writes a line of JSON before and after each."""

import faulthandler
import json
import os
import signal
import sys
import time

import numpy as np

from retrograde.compiler.backends.cpu import engine

from . import scripts
from .checks import check, fits
from .drawing import drawn, drawn_for_rivals
from .forms import FORMS
from .program import names_in

#: Seconds after which a seed counts as one that hangs.
PATIENCE = 120
#: How many of the programs for rivals JAX runs too, which compiles each op for each shape.
BY_JAX = 0.03


def source_of(kind, seed):
    """The program or the script of a seed."""
    return {"programs": drawn, "rivals": drawn_for_rivals, "stateful": scripts.drawn}[kind](seed)


def forms_of(program, seed):
    """The forms that a seed runs: `jit` in three of ten, and a drawn one."""
    rng = np.random.default_rng([seed, 1])
    names = [name for name in FORMS if FORMS[name].weight and fits(program, name)]
    weights = np.array([FORMS[name].weight for name in names])
    drawn_one = str(rng.choice(names, p=weights / weights.sum()))
    return ["jit", drawn_one] if rng.random() < 0.3 else [drawn_one]


def rivals_of(seed):
    """The other libraries that run a program that is drawn for them."""
    return ["torch", "jax"] if np.random.default_rng([seed, 4]).random() < BY_JAX else ["torch"]


def checked(kind, seed, form=None):
    """(form, outcome) of each check of a seed."""
    return checks_of(kind, seed, source_of(kind, seed), form)


def checks_of(kind, seed, source, form=None):
    """(form, outcome) of each check of the program or the script of a seed."""
    if kind == "stateful":
        return [("stateful", scripts.check(source))]
    if form is not None:
        forms = [form] if fits(source, form) else []
    else:
        forms = [name for name in rivals_of(seed) if fits(source, name)] if kind == "rivals" else forms_of(source, seed)
    return [(name, check(source, name)) for name in forms]


def begin(code):
    """Have this process compile as usual, quickly or not at all; before anything is compiled.

    "quick"      LLVM chooses instructions without its slower passes, in a third of the time. All that is ours, graphs, plans and the
                 LLVM code that is written, is as it is for users. No other process may read what it leaves in a cache.
    "reference"  the same plans are run by NumPy, so that four times as many scripts have their state compared.
    """
    if code == "quick":
        machine = engine._machine
        engine._machine = lambda target, _: machine(target, 0)
    if code == "reference":
        os.environ["RETROGRADE_COMPILER"] = "reference"


def _give_up(*_):
    raise TimeoutError(f"no result after {PATIENCE} s")


def work(kind, first, count, code, form=None):
    """Run the seeds from `first` on."""
    begin(code)
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _give_up)
    for seed in range(first, first + count):
        _write({"begun": seed})
        signal.alarm(PATIENCE)
        before, names = time.process_time(), []
        try:
            source = source_of(kind, seed)
            names = names_in(source.text)
            found = [(name, outcome.kind, outcome.detail) for name, outcome in checks_of(kind, seed, source, form)]
        except Exception as error:  # noqa: BLE001 - a fault of the fuzzer, or a hang, is told as such
            found = [(form or "drawing", "crashed", f"{type(error).__name__}: {str(error)[:300]}")]
        signal.alarm(0)
        _write({"seed": seed, "seconds": time.process_time() - before, "found": found, "names": names})


def _write(record):
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
