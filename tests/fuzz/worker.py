"""A process that runs seeds one after another, and writes a line of JSON before and after each."""

import faulthandler
import json
import signal
import sys
import time

import numpy as np

from . import scripts
from .checks import check, fits
from .drawing import drawn
from .forms import FORMS

#: Seconds after which a seed counts as one that hangs.
PATIENCE = 120


def forms_of(program, seed):
    """The forms that a seed runs: `jit` and one or two drawn ones."""
    rng = np.random.default_rng([seed, 1])
    names = [name for name in FORMS if FORMS[name].weight and fits(program, name)]
    weights = np.array([FORMS[name].weight for name in names])
    return ["jit", *map(str, rng.choice(names, 1 + (rng.random() < 0.15), replace=False, p=weights / weights.sum()))]


def checked(kind, seed, form=None):
    """(form, outcome) of each check of a seed."""
    if kind == "stateful":
        return [("stateful", scripts.check(scripts.drawn(seed)))]
    program = drawn(seed)
    forms = forms_of(program, seed) if form is None else [form] if fits(program, form) else []
    return [(name, check(program, name)) for name in forms]


def _give_up(*_):
    raise TimeoutError(f"no result after {PATIENCE} s")


def work(kind, first, count, form=None):
    """Run the seeds from `first` on."""
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _give_up)
    for seed in range(first, first + count):
        _write({"begun": seed})
        signal.alarm(PATIENCE)
        before = time.process_time()
        try:
            found = [(name, outcome.kind, outcome.detail) for name, outcome in checked(kind, seed, form)]
        except Exception as error:  # noqa: BLE001 - a fault of the fuzzer, or a hang, is told as such
            found = [(form or "drawing", "crashed", f"{type(error).__name__}: {str(error)[:300]}")]
        signal.alarm(0)
        _write({"seed": seed, "seconds": time.process_time() - before, "found": found})


def _write(record):
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
