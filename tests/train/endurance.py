"""Memory over long runs: `python -m tests.train.endurance` takes a million compiled steps, 500 shapes, and 100,000 batches by workers.

After its first tenth, in which programs are made and arenas grow, each run must not grow by more than `ALLOWANCE` bytes.
"""

import argparse
import gc
import sys
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import data, nn, optim

#: What an allocator may keep or give back between two looks.
ALLOWANCE = 8 << 20


def resident():
    """The bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def steps(count):
    """Compiled training steps, one after the other."""
    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.Adam(model.parameters())

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x, y = rg.randn(16, 4), rg.randn(16, 1)
    for _ in range(count):
        yield step(x, y)


def shapes(count):
    """Calls of one compiled function with a new shape each, of which it keeps ten programs."""
    function = rg.jit(lambda x: (rg.tanh(x) @ x.T).sum(), max_programs=10)
    for i in range(count):
        yield function(np.ones((300 + i * 7919 % count, 200), np.float32))


def batches(count):
    """Batches that two workers make, epoch after epoch."""
    rows = data.source(range(4000)).map(lambda i: np.full(64, i, np.float32))
    loader = data.Loader(rows, 8, shuffle=True, seed=0, workers=2)
    try:
        yield from islice(chain.from_iterable(repeat(loader)), count)
    finally:
        loader.close()


RUNS = {"steps": (steps, 1_000_000), "shapes": (shapes, 500), "batches": (batches, 100_000)}


def growth(name, count):
    """By how many bytes the process grows after the first tenth of a run."""
    made, start = RUNS[name][0], 0
    for number, _ in enumerate(made(count), 1):
        if number == count // 10:
            start = resident()
    return resident() - start


def main():
    """Runs what is asked for, and tells by how much each has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--share", type=float, default=1.0, help="of the numbers of calls")
    options = parser.parse_args()
    found = {name: growth(name, int(RUNS[name][1] * options.share)) for name in options.runs}
    for name, grown in found.items():
        print(f"{name}: {int(RUNS[name][1] * options.share):,} calls, grown by {grown / 1e6:.1f} MB", flush=True)
    return int(max(found.values()) > ALLOWANCE)


if __name__ == "__main__":
    sys.exit(main())
