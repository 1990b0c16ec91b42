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


def rehearsed(kind, seconds):
    """The step as each process makes it by itself, by size of buckets; all at once, as they share memory."""
    for bucket in BUCKETS:
        rehearsal = distributed.Rehearsal()
        step, _ = compiled_step(kind, group=rehearsal, bucket=bucket)
        step()
        distributed.barrier()
        yield {"bucket": bucket, "step": asdict(rehearsal.measured(step, seconds))}


def trained(kind, seconds):
    """What steps take, by size of buckets, sharding and delay; and the link between several processes with each delay."""
    if distributed.size() > 1:
        for delay in DELAYS:
            with distributed.link_delay(delay):
                yield {"delay": delay, "link": asdict(distributed.measure_link())}
    for bucket in BUCKETS:
        for shard in SHARDS:
            step, _ = compiled_step(kind, bucket=bucket, shard=shard)
            for delay in DELAYS:
                with distributed.link_delay(delay):
                    yield {"bucket": bucket, "shard": shard, "delay": delay, "seconds": median(step, seconds)}


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
    for rows in (rehearsed, trained):
        for row in rows(sys.argv[1], float(sys.argv[2])):
            if distributed.rank() == 0:
                print(json.dumps(row), flush=True)
