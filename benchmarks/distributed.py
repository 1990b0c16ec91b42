"""Training on several processes, one thread each, with batches of one size per process: rows per second beside those of one
process, and of PyTorch's DistributedDataParallel with gloo; and what a sum over all processes takes.

Run `python -m benchmarks.distributed` (options: --processes, --seconds, --torch PYTHON, for one that has PyTorch). The wall clock
is what counts, so nothing else should run; the share of a core that each process got is told beside it, and should be 1.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

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


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement (default: 4)")
    parser.add_argument("--torch", default=sys.executable, help="a Python that has PyTorch (default: this one)")
    options = parser.parse_args()
    count = options.processes
    print(f"rows per second: 1 process, {count} processes (share of CPU)")
    for kind in ("gpt", "conv"):
        for name, run in (("retrograde", run_ours), ("PyTorch", partial(run_theirs, options.torch))):
            one, several = run(kind, 1, options.seconds), run(kind, count, options.seconds)
            print(f"{kind:5} {name:11} {one['rows']:8.0f} ({one['share']:.2f})  {several['rows']:8.0f} ({several['share']:.2f})  "
                  f"{several['rows'] / one['rows']:.2f} times", flush=True)
    times = run_ours("sum", count, options.seconds)["milliseconds"]
    print(f"a sum of 25 MB over {count} processes: {times['ranks']:.1f} ms in the order of ranks, {times['any']:.1f} ms by MPI")


if __name__ == "__main__":
    main()
