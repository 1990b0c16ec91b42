"""A worker of benchmarks.distributed: retrograde, on as many processes as were started."""

import json
import sys
import time
from importlib import import_module

import numpy as np

import retrograde as rg
from retrograde import distributed
from retrograde.distributed.data_parallel import BUCKET
from retrograde.ops.collectives import buckets

from .distributed_networks import network, timed


def sums():
    """Milliseconds of a sum of 25 MB over all processes, medians of many by turns: ours in each order, and a call of MPI alone."""
    mpi = import_module("mpi4py.MPI")
    x, times = rg.tensor(np.ones(25_000_000 // 4, np.float32)), {}
    mine, out = x.numpy(), np.empty(x.shape, np.float32)
    ways = {order: distributed.sums(order)(distributed.all_reduce) for order in ("ranks", "any")}
    ways["MPI"] = lambda _: mpi.COMM_WORLD.Allreduce(mine, out)
    for _ in range(40):
        for name, way in ways.items():
            distributed.barrier()
            start = time.perf_counter()
            way(x)
            times.setdefault(name, []).append(1000 * (time.perf_counter() - start))
    return {"milliseconds": {name: float(np.median(each)) for name, each in times.items()}}


def hidden(delay=0.02):
    """How much of a delay of each message is hidden in a compiled step whose gradients have 25 MB: medians of seconds of steps with
    and without it, and how many buckets are sent.
    """
    rg.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (rg.nn.Linear(1024, 1024), rg.nn.ReLU())]
    model = distributed.DataParallel(rg.nn.Sequential(*layers, rg.nn.Linear(1024, 10)))
    optimizer = rg.optim.SGD(model.parameters(), lr=0.01)
    x, y = rg.tensor(np.ones((256, 1024), np.float32)), rg.tensor(np.zeros(256, np.int64))

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    times = {0.0: [], delay: []}
    step(x, y)
    for _ in range(15):
        for seconds, each in times.items():
            with distributed.link_delay(seconds):
                distributed.barrier()
                start = time.perf_counter()
                step(x, y).item()
                each.append(time.perf_counter() - start)
    plain, delayed = (float(np.median(each)) for each in times.values())
    count = len(buckets(list(model.parameters()), BUCKET))
    return {"seconds": plain, "delayed": delayed, "buckets": count, "hidden": 1 - (delayed - plain) / (count * delay)}


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
    others = {"sum": sums, "hidden": hidden}
    print(json.dumps(others[sys.argv[1]]() if sys.argv[1] in others else training(sys.argv[1], float(sys.argv[2]))), flush=True)
