"""Cost: how long a training step takes on several processes, predicted from what it takes on one and from the link between them."""

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any

from ..errors import ArgumentError
from .data_parallel import SHARDS
from .network import Link, checked_number
from .sharing import dealt
from .training_step import TrainingStep

#: How many processes `most_processes` tries.
_MOST = 1024


@dataclass(frozen=True)
class TensorGroup:
    """Processes that hold one model together, as with `TensorParallel`.

    processes    how many
    link         the `Link` between them
    activations  bytes of each sum that its layers need in a step, forward and backward, which the step waits for
    share        the share of the work and of the parameters that is cut; the rest is done by each process alike
    """

    processes: int
    link: Link
    activations: Any = ()
    share: float = 1.0

    def __post_init__(self):
        _check_count("processes of a tensor group", self.processes)
        for nbytes in self.activations:
            checked_number("each of the activations of a tensor group", nbytes, "bytes of at least 0", lambda x: 0 <= x < inf)
        checked_number("share of a tensor group", self.share, "at least 0 and at most 1", lambda x: 0 <= x <= 1)

    @property
    def rest(self):
        """What one process of the group does, as a share of the whole."""
        return 1 - self.share + self.share / self.processes


@dataclass(frozen=True)
class Prediction:
    """How long a step takes on several processes.

    processes      how many, of which `data` share out the batches
    seconds        of the whole step
    passes         seconds of the forward and backward pass that a process computes
    update         seconds of its part of the update
    communication  seconds that collectives take together, of which `hidden` lie beside the passes
    alone          seconds of the step on one process
    """

    processes: int
    data: int
    seconds: float
    passes: float
    update: float
    communication: float
    hidden: float
    alone: float

    @property
    def speedup(self):
        """How many rows are trained on in the time of one by one process, where each process has as many rows as one has alone."""
        return self.data * self.alone / self.seconds

    @property
    def efficiency(self):
        """The part of all processes' time that one process alone would have needed."""
        return self.speedup / self.processes

    def __str__(self):
        rows = [(f"{self.processes} process{'es' if self.processes > 1 else ''}", "ms"),
                *[(name, f"{1000 * seconds:.3f}") for name, seconds in (
                    ("forward and backward", self.passes), ("update", self.update), ("communication", self.communication),
                    ("  of it hidden", self.hidden), ("step", self.seconds))],
                ("throughput beside one", f"{self.speedup:.2f}"), ("efficiency", f"{self.efficiency:.2f}")]
        return "\n".join([f"{name:21} {value:>10}" for name, value in rows])


def predict(step, link, processes, *, shard="none", overlap=True, has_spare_core=False, tensor: Any = None):
    """How long a step takes on so many processes, each with a batch of its own of the size that the step was measured with.

    A bucket of gradients begins when it is ready and the one before is over, beside the backward pass; the update begins when the
    last mean is there.

    step            a `TrainingStep` of one process
    link            the `Link` between all processes
    shard           as of `DataParallel`: "optimizer" shares out the update, and gets the parameters of others afterwards
    overlap         whether gradients are sent beside the backward pass, as in a compiled step, or after it, as in an eager one
    has_spare_core  whether a core of each process computes nothing else; if not, what communication works is lost to the passes
    tensor          a `TensorGroup`, if so many of the processes hold one model together

    >>> step = rg.distributed.TrainingStep(passes=0.030, update=0.002, buckets=[(0.015, 2**20), (0.030, 2**20)])
    >>> print(rg.distributed.predict(step, rg.distributed.Link(latency=50e-6, bandwidth=125e6), 2))
    2 processes                   ms
    forward and backward      30.000
    update                     2.000
    communication             17.082
      of it hidden             8.541
    step                      40.541
    throughput beside one       1.58
    efficiency                  0.79
    """
    group = TensorGroup(1, link) if tensor is None else tensor
    _check(step, link, processes, shard, group)
    data, rest = processes // group.processes, group.rest
    _, held = dealt([nbytes * rest for nbytes in step.parameters], data)
    update = step.update * rest * (max(held) / sum(held) if shard == "optimizer" else 1)
    passes = step.passes * rest
    clock, taken = _Clock(has_spare_core), []
    for at, do, cost in _ordered(step, link, data, group, overlap):
        # After the passes the step has come to its update, which may be shorter here than it was there.
        own = at * rest if at <= step.passes else passes + (at - step.passes) / step.update * update
        if at > step.passes:
            clock.work_until(passes)
            clock.finish()
        clock.work_until(own)
        do(clock, cost)
        taken.append(cost)
    clock.work_until(passes)
    clock.finish()
    clock.work_until(passes + update)
    if shard == "optimizer":
        taken.append(link.gather(sum(held), max(held), min(held), data))
        clock.wait(taken[-1])
    communication = sum([cost.seconds for cost in taken])
    hidden = min(max(communication - (clock.now - passes - update), 0.0), communication)
    return Prediction(processes, data, clock.now, passes, update, communication, hidden, step.passes + step.update)


def most_processes(step, link, least=0.8, *, limit=_MOST, **options):
    """The greatest number of processes, up to `limit`, whose efficiency is at `least` that: how many a model and a network pay.

    options  as of `predict`

    >>> step = rg.distributed.TrainingStep(passes=0.030, update=0.002, buckets=[(0.015, 2**20), (0.030, 2**20)])
    >>> rg.distributed.most_processes(step, rg.distributed.Link(latency=20e-6, bandwidth=1.25e9))
    106
    """
    checked_number("the least efficiency", least, "above 0 and at most 1", lambda x: 0 < x <= 1)
    _check_count("the limit of processes", limit)
    size = options["tensor"].processes if isinstance(options.get("tensor"), TensorGroup) else 1
    # From the greatest on: with a shared update a few processes may pay less than many.
    return next((p for p in range(limit // size * size, 0, -size) if predict(step, link, p, **options).efficiency >= least), 1)


class _Clock:
    """The time of a process, and what goes on beside it. Both have one core, unless there is a spare one: what communication works
    comes first, as a thread that has waited does.
    """

    def __init__(self, has_spare_core):
        self.now, self._has_spare_core = 0.0, has_spare_core
        self._done, self._free = 0.0, 0.0
        #: When all is there that was begun in memory that all see, and the work for it that is left.
        self._there, self._left = 0.0, 0.0
        #: (start, seconds) of work beside that takes the core, in order.
        self._lost: deque = deque()

    def work_until(self, own):
        """Compute until the process has worked for so many seconds of its own."""
        self._work(own - self._done)
        self._done = own

    def begin(self, cost):
        """Begin a collective, which is made when those before it are over; in memory that all see it needs nobody until then."""
        if cost.begun is not None:
            self._work(cost.begun)
            self._there = max(self._there, self.now + cost.waiting)
            self._left += cost.work - cost.begun
            return
        start = max(self.now, self._free)
        self._free = start + cost.seconds
        if not self._has_spare_core:
            self._lost.append((start + cost.waiting, cost.work))

    def finish(self):
        """Wait for all that is begun."""
        self.now = max(self.now, self._free, self._there) + self._left
        self._left = 0.0
        self._lost.clear()

    def wait(self, cost):
        """Make a collective after all that is begun, and wait for it."""
        self.finish()
        self.now += cost.seconds

    def meet(self, cost):
        """Make a collective of another group, which does not wait for what is begun."""
        end = self.now + cost.waiting
        while self._lost and self._lost[0][0] < end:
            start, seconds = self._lost.popleft()
            if start + seconds > end:
                self._lost.appendleft((end, start + seconds - end))
                break
        self.now = end
        self._work(cost.work)

    def _work(self, seconds):
        while self._lost and self._lost[0][0] < self.now + seconds:
            start, lost = self._lost.popleft()
            seconds -= start - self.now
            self.now = start + lost
        self.now += seconds


def _ordered(step, link, data, group, overlap):
    """(when, what the clock does, what is taken) of the collectives of a step, in their order."""
    send = _Clock.begin if overlap else _Clock.wait
    costs = {nbytes: link.mean(nbytes * group.rest, data) for _, nbytes in step.buckets}  # most are of one size
    found = [(at if overlap else step.passes, send, costs[nbytes]) for at, nbytes in step.buckets]
    found += [(at, _Clock.wait, link.sum(nbytes, data)) for at, nbytes in step.waits]
    if group.processes > 1:
        # Evenly spread, as the layers are that need them.
        apart = step.passes / (len(group.activations) + 1)
        sums = [group.link.sum(nbytes, group.processes) for nbytes in group.activations]
        found += [((i + 1) * apart, _Clock.meet, cost) for i, cost in enumerate(sums)]
    return sorted(found, key=lambda call: call[0])


def _check(step, link, processes, shard, group):
    for name, value, kind in (("step", step, TrainingStep), ("link", link, Link), ("tensor", group, TensorGroup)):
        if not isinstance(value, kind):
            raise ArgumentError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    _check_count("processes", processes)
    if shard not in SHARDS:
        raise ArgumentError(f"shard must be one of {', '.join(SHARDS)}, got {shard!r}")
    if processes % group.processes:
        raise ArgumentError(f"the processes are a multiple of those of a tensor group, got {processes} and {group.processes}")
    if shard == "optimizer" and not step.parameters:
        raise ArgumentError('shard="optimizer" shares out the parameters of a step, and this one says none')


def _check_count(name, count):
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError(f"{name} must be a number of at least 1, got {count!r}")
