"""What the model of cost predicts for a step on several processes, beside what the step takes; and how many machines pay.

Run `python -m benchmarks.distributed_cost` (options: --processes, --seconds, --kinds) to compare, where nothing else runs and each
process has a core, or `--table` for what the model says of typical models and networks, which are assumed and not measured.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
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
    """(what ran, predicted seconds, measured seconds) of all runs of a network."""
    alone = {row["bucket"]: row for row in started(kind, 1, seconds)}
    first, *rows = started(kind, count, seconds)
    link, steps = Link(**first["link"]), {bucket: TrainingStep(**row["step"]) for bucket, row in alone.items()}
    print(link, flush=True)
    for bucket, row in alone.items():
        yield f"{kind:4} 1 process, in {_size(bucket)}", predict(steps[bucket], link, 1).seconds, row["seconds"]
    for row in rows:
        expected = predict(steps[row["bucket"]], replace(link, delay=row["delay"]), count, shard=row["shard"])
        yield (f"{kind:4} {count} processes, in {_size(row['bucket'])}, shard {row['shard']}, {1000 * row['delay']:.0f} ms",
               expected.seconds, row["seconds"])


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
    for kind in options.kinds:
        for name, expected, measured in compared(kind, options.processes, options.seconds):
            ratios.append(expected / measured)
            print(f"{name:60} predicted {1000 * expected:8.2f} ms, measured {1000 * measured:8.2f} ms, ratio {ratios[-1]:.2f}",
                  flush=True)
    off = np.abs(np.array(ratios) - 1)
    print(f"{np.mean(off <= 0.15):.0%} of {off.size} within 15 %, the median {np.median(off):.1%} off, the worst {off.max():.1%}")


if __name__ == "__main__":
    main()
