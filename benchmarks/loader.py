"""What a loader costs a compiled training step of a convolutional network: with no workers, threads and processes.

Run `python -m benchmarks.loader` (options: --seconds, --threads). Steps on data that lie ready and steps on batches of a loader
take turns, A B A B. CPU is that of this process, without its workers. On a machine that does nothing else the wall clock tells the
same.
"""

import argparse
import os
import time

import numpy as np

import retrograde as rg
from retrograde.data import Loader, source

from .workloads import images

WAYS = {"no workers": {}, "1 thread": {"workers": 1}, "2 threads": {"workers": 2}, "1 process": {"workers": 1, "processes": True},
        "2 processes": {"workers": 2, "processes": True}}


def rows(count):
    """Images and labels, as many batches of the benchmark as `count`."""
    rng, size = np.random.default_rng(1), count * images.DIGITS[0]
    return rng.standard_normal((size, *images.DIGITS[1:]), np.float32), rng.integers(0, 10, size)


def compared(bare, step, loader, seconds):
    """Seconds of (CPU, wall) of each bare step and of each step with its batch, taking turns."""
    found, until = ([], []), time.perf_counter() + seconds
    while time.perf_counter() < until:
        batches = iter(loader)
        for _ in range(len(loader)):
            for call, times in zip((bare, lambda: step(*next(batches))), found, strict=True):
                cpu, wall = time.process_time(), time.perf_counter()
                call()
                times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return [np.array(times) for times in found]


def alone(loader):
    """Seconds of CPU for a batch of which nothing is made."""
    start, count = time.process_time(), 0
    for _ in loader:
        count += 1
        time.sleep(0.001)  # as long as workers need to keep ahead
    return (time.process_time() - start) / count


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each row (default: 8)")
    parser.add_argument("--threads", type=int, default=1, help="of the compiled step (default: 1)")
    options = parser.parse_args()
    rg.set_num_threads(options.threads)
    bare = images.NETWORKS["retrograde"]()
    for _ in range(20):
        bare()
    data = source(*rows(50))
    print(f"load {os.getloadavg()[0]:.1f}; speed of the step with its batch, of the step on data that lie ready")
    print(f"{'':12} {'CPU of a step':>15} {'loader alone':>14} {'speed (CPU)':>12} {'speed (wall)':>13} steps")
    for name, way in WAYS.items():
        loader = Loader(data, images.DIGITS[0], shuffle=True, **way)
        list(loader)
        own = min(alone(loader) for _ in range(3))
        one, other = compared(bare, bare.func, loader, options.seconds)
        cpu, wall = one[:, 0].mean() / other[:, 0].mean(), np.median(one[:, 1]) / np.median(other[:, 1])
        print(f"{name:12} {one[:, 0].mean() * 1e3:12.2f} ms {own * 1e3:11.3f} ms {cpu:12.3f} {wall:13.3f} {len(one)}", flush=True)


if __name__ == "__main__":
    main()
