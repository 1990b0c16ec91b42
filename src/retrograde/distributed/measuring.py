"""Measuring: the link between the processes that run, as `predict` takes it."""

import time
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import DistributedError
from .data_parallel import BUCKET
from .links import link_delay, seconds_of_delay
from .network import Link, shared_passes
from .processes import Processes
from .world import world

#: The bytes of the messages that are sent. Those of the first half are short: what they take is the latency.
_SIZES = (1, 64, 512, 4096, 2**16, 2**19, 2**21, 2**22)
#: How often each is sent, how many are sent at the same time to see what one more takes, and how many means in a row.
_REPEATS, _SEVERAL, _FEW = 15, 16, 4


def measure_link(group: Any = None):
    """The `Link` between the processes of a group, all by default, which all have to call; the same at each of them.

    Each process sends messages to the next one and gets as many from the one before, as they do in collectives; what is slowest
    between two of them counts. It takes about a second, in which the processes should do nothing else. A delay that is put in by
    `link_delay` is told apart from what the link itself takes; it then takes some two hundred of them more.
    """
    group = group or world()
    if not isinstance(group, Processes):
        raise DistributedError("a link is measured between several processes, and this is one; start more, as with: retrograde run "
                               "-n 2 program.py")
    name = "the measurement of a link"
    with link_delay(0):
        group.sum(np.zeros(_SIZES[-1], np.uint8), "ranks", name)  # what is set up once is not counted
        seconds = [_circulated(group, size, 1, name) for size in _SIZES]
        latency, bandwidth = fitted(_SIZES, seconds)
        more = (_circulated(group, 1, _SEVERAL, name) - seconds[0]) / (_SEVERAL - 1)
    # With the delay, as a process that has slept works more slowly for a while.
    means = [_median(lambda: _sent(group, size, 1, name)) for size in _SIZES]
    copying = shared_passes(1, group.size) * fitted(_SIZES, means)[1] if group.shares_memory() else _copied()
    link = Link(latency, bandwidth, max(more, 0.0), copying=copying, delay=seconds_of_delay())
    each = _median(lambda: _sent(group, _SIZES[0], _FEW, name)) / _FEW
    call = max(each - link.mean(_SIZES[0], group.size).seconds, 0.0)
    mine = np.array([latency, link.overhead, call, -bandwidth, -link.copying])
    with link_delay(0):
        latency, overhead, call, bandwidth, copying = np.abs(group.stack(mine, name).max(axis=0)).tolist()
    return Link(latency, bandwidth, overhead, call, copying, link.delay, group.shares_memory())


def fitted(sizes, seconds):
    """(latency, bandwidth) of messages of so many bytes that took so long, at least four sizes in order.

    The slope is the median of those of all pairs (Theil, 1950; Sen, 1968), and the latency that of the shorter half: so a
    few that were held up count for nothing.
    """
    slopes = [(b - a) / (n - m) for (m, a), (n, b) in combinations(zip(sizes, seconds, strict=True), 2) if n > 2 * m and n > 4096]
    # Times that do not grow with the size are those of a clock that is too coarse: what is left is a very fast link.
    slope = max(float(np.median(slopes)), 1e-15)
    short = [second - size * slope for size, second in zip(sizes, seconds, strict=True)][: len(sizes) // 2]
    return max(float(np.median(short)), 0.0), 1 / slope


def _circulated(group, nbytes, count, name):
    sent, received = ([np.zeros(nbytes, np.uint8) for _ in range(count)] for _ in range(2))
    return _median(lambda: group.circulate(sent, received, name))


def _sent(group, nbytes, count, name):
    """Begin so many means of so many bytes, and finish them, as a step does with its buckets."""
    arrays = [np.zeros(max(nbytes // 4, 1), np.float32)]
    begun = [group.begin_means(arrays, "ranks", name) for _ in range(count)]
    for number in begun:
        group.finish_means(number, arrays, "ranks", name, arrays)


def _copied():
    """Bytes per second of what a sum does to a bucket: it is written elsewhere, added to another, and read from there."""
    mine, theirs, there = (np.zeros(BUCKET // 4, np.float32) for _ in range(3))

    def summed():
        there[...] = mine
        np.add(there, theirs, out=there)
        np.concatenate([there])

    return 3 * BUCKET / _median(summed)


def _median(run):
    found = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return float(np.median(found[2:]))
