"""A recommender: rows of a large table and a small perceptron, one training step; ours compiled, PyTorch's with sparse gradients.

Run `python -m benchmarks.recommender` (option: --rounds). One thread each, processor time, in turns; the median of the rounds. Each
step has another batch, so that rows come from memory as they do in training.
"""

import argparse
import os
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("RETROGRADE_NUM_THREADS", "1")

import numpy as np

import retrograde as rg

from .workloads import libraries

WIDTH, HIDDEN, BATCH, BATCHES = 64, 64, 1024, 32
ROWS = (20_000, 200_000, 400_000)
#: Names of optimizers of the table, and their options beside the rate.
OPTIMIZERS = {"SparseAdam": {}, "Adagrad": {}, "SGD": {}}


def main():
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(description="A recommender with tables of several sizes.")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    names = ["retrograde", *["torch"] * (find_spec("torch") is not None)]
    print(f"{'':24}" + "".join(f"{name:>12}" for name in names) + "   milliseconds of processor time")
    for optimizer in OPTIMIZERS:
        for rows in ROWS:
            found = medians([epoch(name, optimizer, rows) for name in names], options.rounds)
            ratio = f"{found[1] / found[0]:8.2f} times ours" if len(found) > 1 else ""
            print(f"{optimizer:12}{rows:8} rows" + "".join(f"{seconds * 1e3:12.3f}" for seconds in found) + ratio, flush=True)


def medians(runs, rounds):
    """The median processor time of a step of each of some runs, which take turns."""
    found = [[] for _ in runs]
    for _ in range(rounds + 1):
        for times, run in zip(found, runs, strict=True):
            start = time.process_time()
            run()
            times.append((time.process_time() - start) / BATCHES)
    return [float(np.median(times[1:])) for times in found]


def epoch(name, optimizer, rows):
    """A run of one step on each batch."""
    lib = libraries.modules(name)
    if name == "torch":
        lib.library.set_num_threads(1)
    rng = np.random.default_rng(0)
    made = lib.library.tensor
    batches = [(made(rng.integers(0, rows, (BATCH, 2))), made((rng.random((BATCH, 1)) < 0.5).astype(np.float32)))
               for _ in range(BATCHES)]
    eager: Any = partial(stepped, lib, *_parts(lib, optimizer, rows))
    step: Any = rg.jit(eager) if name == "retrograde" else eager

    def run():
        for batch in batches:
            step(*batch)

    return run


def _parts(lib, optimizer, rows):
    """The table, the perceptron, and their optimizers."""
    nn = lib.nn
    table = nn.Embedding(rows, WIDTH, sparse=True)
    perceptron = nn.Sequential(nn.Linear(2 * WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    of_table = getattr(lib.optim, optimizer)(table.parameters(), lr=0.01, **OPTIMIZERS[optimizer])
    return table, perceptron, (of_table, lib.optim.Adam(perceptron.parameters()))


def stepped(lib, table, perceptron, optimizers, pairs, targets):
    """A training step on pairs of positions, such as those of users and items."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    found = perceptron(table(pairs).reshape(BATCH, 2 * WIDTH))
    loss = lib.nn.functional.binary_cross_entropy_with_logits(found, targets)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return loss


if __name__ == "__main__":
    main()
