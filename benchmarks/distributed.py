"""Training on several processes, one thread each, with batches of one size per process: rows per second beside those of one
process, of as many processes that know nothing of each other, and of PyTorch's DistributedDataParallel with gloo; what a sum over
all processes takes beside one of MPI's own; and how much of a delay between processes is hidden behind the backward pass.

Run `python -m benchmarks.distributed` (options: --processes, --seconds, --rounds, --torch PYTHON, for one that has PyTorch). The
wall clock is what counts, so nothing else should run. Processes that know nothing of each other are what the cores can do at the
same time: they share caches, memory and power.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from retrograde.distributed.launcher import command

ROOT = Path(__file__).parents[1]


def run_ours(kind, count, seconds):
    """What process 0 of `count` tells."""
    words = [sys.executable, "-m", "benchmarks.distributed_ours", kind, str(seconds)]
    return _told(subprocess.run(command(count, words) if count > 1 else words, capture_output=True, text=True, cwd=ROOT,
                                env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True).stdout)


def run_theirs(python, kind, count, seconds):
    """As `run_ours`, of PyTorch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [python, "-m", "benchmarks.distributed_torch", kind, str(seconds)]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}) for rank in range(count)]
    return _told("".join([process.communicate()[0] for process in started]))


def _told(output):
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {**found[0], "share": min(f["share"] for f in found)} if "share" in found[0] else found[0]


def run_apart(kind, count, seconds):
    """Rows per second of `count` processes that know nothing of each other, together."""
    words = [sys.executable, "-m", "benchmarks.distributed_ours", kind, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) for _ in range(count)]
    return {"rows": sum([_told(process.communicate()[0])["rows"] for process in started])}


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement (default: 3)")
    parser.add_argument("--rounds", type=int, default=5, help="how often all is measured, by turns (default: 5)")
    parser.add_argument("--torch", help="a Python that has PyTorch; without one it is left out")
    options = parser.parse_args()
    count, seconds = options.processes, options.seconds
    print(f"rows per second, medians of {options.rounds} rounds, and to those of one process")
    for kind in ("gpt", "conv"):
        ways = {"one": partial(run_ours, kind, 1, seconds), "apart": partial(run_apart, kind, count, seconds),
                "together": partial(run_ours, kind, count, seconds)}
        if options.torch:
            ways |= {f"PyTorch {n}": partial(run_theirs, options.torch, kind, n, seconds) for n in (1, count)}
        found = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                found[name].append(way())
        rates = {name: float(np.median([each["rows"] for each in rounds])) for name, rounds in found.items()}
        for name, rows in rates.items():
            print(f"{kind:5} {name:10} {rows:8.0f}  {rows / rates['PyTorch 1' if 'PyTorch' in name else 'one']:.2f}", flush=True)
        if options.torch:
            print(f"{kind:5} {count} processes to PyTorch's: {rates['together'] / rates[f'PyTorch {count}']:.2f}")
    times = run_ours("sum", count, seconds)["milliseconds"]
    print(f"a sum of 25 MB over {count} processes: {times['ranks']:.1f} ms in the order of ranks, {times['any']:.1f} ms in any, "
          f"{times['MPI']:.1f} ms by MPI alone")
    found = run_ours("hidden", count, seconds)
    plain, delayed = 1000 * found["seconds"], 1000 * found["delayed"]
    print(f"a step that sends {found['buckets']} buckets takes {plain:.0f} ms, and {delayed:.0f} ms with a delay of 20 ms each: "
          f"{found['hidden']:.0%} of it is hidden")


if __name__ == "__main__":
    main()
