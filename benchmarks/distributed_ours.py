"""A worker of benchmarks.distributed: retrograde, on as many processes as were started."""

import json
import sys
import time

import numpy as np

import retrograde as rg
from retrograde import distributed

from .distributed_networks import network, timed


def sums():
    """Milliseconds of a sum of 25 MB over all processes, the least of many, by the order of sums."""
    x, found = rg.tensor(np.ones(25_000_000 // 4, np.float32)), {}
    for order in ("ranks", "any") * 2:
        with distributed.sums(order):
            for _ in range(20):
                distributed.barrier()
                start = time.perf_counter()
                distributed.all_reduce(x)
                found[order] = min(found.get(order, np.inf), 1000 * (time.perf_counter() - start))
    return {"milliseconds": found}


def compiled_step(kind, **options):
    """A compiled step of a network on a batch of one process, and how many rows that has; `options` are those of DataParallel."""
    rg.manual_seed(0)
    inner, x, y = network(rg.nn, kind)
    model = distributed.DataParallel(inner, **options)
    optimizer = rg.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(model(x).reshape(len(y), -1), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = rg.tensor(x), rg.tensor(y)
    return lambda: step(x, y).item(), x.shape[0]


def agreed(here):
    """Whether any process says so."""
    return bool(distributed.all_reduce(rg.tensor(float(here)), "max").item())


def training(kind, seconds):
    """Rows per second of a compiled step."""
    step, rows = compiled_step(kind)
    rate, share = timed(step, seconds, agreed)
    return {"rows": rate * rows * distributed.size(), "share": share}


if __name__ == "__main__":
    distributed.size()
    rg.set_num_threads(1)
    print(json.dumps(sums() if sys.argv[1] == "sum" else training(sys.argv[1], float(sys.argv[2]))), flush=True)
