"""Trainings are killed at random moments and go on, until they end: `python -m tests.train.kills --count 500`.

Each has shuffled data with augmentation, dropout, batch norm, a schedule, averages of weights, and checkpoints that are written behind
it. It must end with the bits of one that was never stopped, in whatever state the kills left the folder.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import nn, optim, train

#: Workers that make batches, and whether they are processes.
CREWS = {"none": {}, "2 threads": {"workers": 2}, "2 processes": {"workers": 2, "processes": True}}
FIGURES = ("kills", "runs", "left by a kill", "left behind", "different")
EPOCHS, ROWS, BATCH = 6, 391, 8
_ROOT = Path(__file__).parents[2]


def shaken(row, generator):
    """A row with noise of its own."""
    x, y = row
    return x + generator.normal(scale=0.1, size=x.shape).astype(np.float32), y


class Began(train.Callback):
    """Says on the standard output that the first step of a process is done."""

    def after_step(self, trainer):
        if not getattr(self, "is_said", False):
            print("began", flush=True)
            self.is_said = True


def work(folder, crew, epochs=EPOCHS, accumulate=2):
    """Train to the end, or go on from where the folder is."""
    rg.manual_seed(3)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(ROWS, 6)).astype(np.float32)
    rows = rg.data.source((x, (x.sum(axis=1) > 0).astype(np.int64))).augment(shaken)
    data = rg.data.Loader(rows, BATCH, shuffle=True, seed=1, **CREWS[crew])
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * 25)
    trainer = train.Trainer(
        model, optimizer, nn.functional.cross_entropy, metrics=[train.Accuracy()], schedule=schedule, accumulate=accumulate,
        clip_norm=1.0, ema=0.95, checkpoint=folder, save_every=4, keep_last=2, progress=False,
        callbacks=[Began(), train.EarlyStopping("loss", patience=50)])
    trainer.fit(data, epochs=epochs, validation=(x[:64], (x[:64].sum(axis=1) > 0).astype(np.int64)))
    data.close()


def started(folder, crew):
    """A process that trains in a folder."""
    command = [sys.executable, "-m", "tests.train.kills", "--work", str(folder), "--crew", crew]
    return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)


def state_of(folder):
    """All that a run holds in the end, as text that shows each bit; times are left out."""
    found = rg.load_run(folder, generators=False)
    found["trainer"] = found["trainer"] | {"seconds": 0, "history": [logs | {"seconds": 0} for logs in found["trainer"]["history"]]}
    return repr(rg.tree.map(
        lambda x: np.asarray(x.detach() if isinstance(x, rg.Tensor) else x).tobytes() if hasattr(x, "shape") else x, found))


def ended(draw, crew, folder, expected, figures, limit):
    """Kill a training until it ends, or has been killed `limit` times; it ends without a kill then. False if it ended otherwise."""
    kills = 0
    while True:
        process = started(folder, crew)
        process.stdout.readline()
        if kills < limit:
            # Some soon after the first step, most anywhere in what is left.
            try:
                process.wait(draw.expovariate(1 / 0.1) if draw.random() < 0.3 else draw.random() * 0.8)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
        process.wait()
        process.stdout.close()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, f"it ended with {process.returncode}"
        found = rg.runs.checkpoints(folder) if folder.exists() else []
        if found:
            rg.load_run(folder)  # whole, whatever was killed
        figures["left by a kill"] += sum(p.name.startswith(".") for p in folder.iterdir()) if folder.exists() else 0
    figures["kills"] += kills
    figures["runs"] += 1
    left = [p.name for p in folder.iterdir() if not p.name.startswith("checkpoint-")]
    figures["left behind"] += len(left)
    figures["different"] += state_of(folder) != expected
    return not left and state_of(folder) == expected


def main():
    """Kill as often as the command line says, and tell how many runs ended as they should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="how many kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--crew", choices=CREWS, help="only with these workers")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.crew)
        return 0
    draw, figures, start = random.Random(options.seed), Counter(), time.perf_counter()
    crews = [options.crew] if options.crew else list(CREWS)
    with tempfile.TemporaryDirectory() as folder:
        started(Path(folder) / "whole", crews[0]).communicate()
        expected, good = state_of(Path(folder) / "whole"), True
        while figures["kills"] < options.count:
            crew = crews[figures["runs"] % len(crews)]
            limit = min(10, options.count - figures["kills"])
            good &= ended(draw, crew, Path(folder) / f"run {figures['runs']}", expected, figures, limit)
            print(", ".join(f"{name}: {figures[name]}" for name in FIGURES), flush=True)
    seconds = time.perf_counter() - start
    print(f"{seconds:.0f} s, {figures['kills'] / seconds * 60:.0f} kills in a minute")
    return int(not good)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
