"""A worker of benchmarks.distributed_cost: what steps take, on as many processes as were started, each with one thread."""

import json
import sys
import time
from dataclasses import asdict

import numpy as np

import retrograde as rg
from retrograde import distributed

from .distributed_cost import BUCKETS, DELAYS, SHARDS
from .distributed_ours import agreed, compiled_step


def alone(kind, seconds):
    """What a process alone takes for a step, by the size of buckets, and the step as it would be among others."""
    for bucket in BUCKETS:
        rehearsal = distributed.Rehearsal()
        step, _ = compiled_step(kind, group=rehearsal, bucket=bucket)
        found = asdict(rehearsal.measured(step, seconds))
        yield {"bucket": bucket, "step": found, "seconds": median(compiled_step(kind)[0], seconds)}


def several(kind, seconds):
    """What steps of several processes take, by delay, sharding and size of buckets; and the link between them."""
    yield {"link": asdict(distributed.measure_link())}
    for bucket in BUCKETS:
        for shard in SHARDS:
            step, _ = compiled_step(kind, bucket=bucket, shard=shard)
            for delay in DELAYS:
                with distributed.link_delay(delay):
                    found = median(step, seconds)
                yield {"bucket": bucket, "shard": shard, "delay": delay, "seconds": found}


def median(step, seconds):
    """Seconds of a step, the median of many, after some that are not counted."""
    for _ in range(4):
        step()
    times, end, is_over = [], time.perf_counter() + seconds, False
    while not is_over:
        for _ in range(5):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        with distributed.link_delay(0):
            is_over = agreed(time.perf_counter() > end)
    return float(np.median(times))


if __name__ == "__main__":
    distributed.size()
    rg.set_num_threads(1)
    measured = alone if distributed.size() == 1 else several
    for row in measured(sys.argv[1], float(sys.argv[2])):
        if distributed.rank() == 0:
            print(json.dumps(row), flush=True)
