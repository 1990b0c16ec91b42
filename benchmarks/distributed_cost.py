"""What the model of cost predicts for a step on several processes, beside what the step takes; and how many machines pay.

Run `python -m benchmarks.distributed_cost` (options: --processes, --seconds, --kinds) to compare, where nothing else runs and each
process has a core, or `--table` for what the model says of typical models and networks, which are assumed and not measured.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from retrograde.distributed import Link, TrainingStep, predict
from retrograde.distributed.launcher import command

from . import distributed_typical

ROOT = Path(__file__).parents[1]
#: Of the runs that are compared: bytes of a bucket, seconds of delay that are put in, and shardings.
BUCKETS, DELAYS, SHARDS = (4 * 2**20, 2**17), (0.0, 0.005, 0.02), ("none", "optimizer")


def started(kind, count, seconds):
    """What process 0 of `count` tells."""
    words = [sys.executable, "-m", "benchmarks.distributed_steps", kind, str(seconds)]
    done = subprocess.run(command(count, words) if count > 1 else words, capture_output=True, text=True, cwd=ROOT, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compared(kind, count, seconds):
    """(what ran, seconds that are predicted from one process alone, and from each of all at once, measured seconds) of each run."""
    alone, several = ([*started(kind, number, seconds)] for number in (1, count))
    steps = [{row["bucket"]: TrainingStep(**row["step"]) for row in rows if "step" in row} for rows in (alone, several)]
    links = {row["delay"]: Link(**row["link"]) for row in several if "link" in row}
    print(*links.values(), sep="\n", flush=True)
    first = next(row for row in alone if "seconds" in row)
    yield f"{kind} 1 process", 2 * [predict(steps[0][first["bucket"]], links[0.0], 1).seconds], first["seconds"]
    for row in several:
        if "seconds" in row:
            found = [predict(each[row["bucket"]], links[row["delay"]], count, shard=row["shard"]).seconds for each in steps]
            name = f"{kind} {count} processes, {_size(row['bucket'])}, shard={row['shard']}, {1000 * row['delay']:.0f} ms"
            yield name, found, row["seconds"]


def _size(nbytes):
    return f"{nbytes // 2**10} KiB"


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement (default: 1.5)")
    parser.add_argument("--kinds", nargs="+", default=["mlp", "conv", "gpt"])
    parser.add_argument("--table", action="store_true", help="print what the model says of typical models and networks")
    options = parser.parse_args()
    if options.table:
        print(distributed_typical.table())
        return
    ratios = []
    print("milliseconds of a step: predicted from one process alone, and from all at once, measured, ratios")
    for kind in options.kinds:
        for name, expected, measured in compared(kind, options.processes, options.seconds):
            ratios.append([seconds / measured for seconds in expected])
            columns = [*[f"{1000 * seconds:8.2f}" for seconds in (*expected, measured)], *[f"{ratio:6.2f}" for ratio in ratios[-1]]]
            print(f"{name:56} {' '.join(columns)}", flush=True)
    for name, off in zip(("one alone", "all at once"), np.abs(np.array(ratios).T - 1), strict=True):
        print(f"from {name}: {np.sum(off <= 0.15)} of {off.size} within 15 %, the median {np.median(off):.1%} off, the worst "
              f"{off.max():.1%}")


if __name__ == "__main__":
    main()
