"""Rehearsal: a training step made by one process as if there were others, to see when it would talk to them."""

import time

import numpy as np

from ..errors import ArgumentError
from ..ops._alone import Alone, written
from .training_step import TrainingStep

#: Steps that are not counted: the first ones compile, and make what stays.
_WARM = 3


class Rehearsal(Alone):
    """A group of one process that does as if there were others, which all have what this one has, and notes when it would wait for
    them, or begin to send gradients.

    size  as how many processes it does

    A model is given it in place of a group. So the step is the one that several processes run, compiled as theirs is. Processes
    that share a machine take memory bandwidth from each other: to see what a step takes there, let all rehearse at the same time.

    >>> rehearsal = rg.distributed.Rehearsal()
    >>> model = rg.distributed.DataParallel(rg.nn.Linear(2, 1), group=rehearsal)
    >>> optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
    >>> def step():
    ...     optimizer.zero_grad()
    ...     model(rg.ones(4, 2)).mean().backward()
    ...     optimizer.step()
    >>> rehearsal.measured(step, seconds=0.01).parameters
    (4, 8)
    """

    def __init__(self, size=2):
        if not isinstance(size, int) or isinstance(size, bool) or size < 2:
            raise ArgumentError(f"a rehearsal is for at least 2 processes, got {size!r}")
        self.size, self.ranks = size, tuple(range(size))
        #: (kind of call, bytes of each array) and when it came, of one step.
        self._calls, self._times = [], []

    def __repr__(self):
        return f"a rehearsal of {self.size} processes"

    def measured(self, run, seconds=1.0):
        """The `TrainingStep` that `run()` makes, from the medians of as many steps as `seconds` have room for, at least five.

        `run` has to wait for what it computes, as `loss.item()` does, and make the same calls each time.
        """
        steps: list = []
        for _ in range(_WARM):
            run()
        end = time.perf_counter() + seconds
        while len(steps) < 5 or time.perf_counter() < end:
            self._calls, self._times = [], []
            start = time.perf_counter()
            run()
            over = time.perf_counter()
            steps.append((self._calls, [t - start for t in (*self._times, over)]))
        calls = steps[0][0]
        if any([others != calls for others, _ in steps]):
            raise ArgumentError("a step that is measured makes the same calls each time, and this one does not")
        *moments, whole = np.median([times for _, times in steps], axis=0).tolist()
        return _step(list(zip(calls, moments, strict=True)), whole)

    def _note(self, kind, arrays):
        self._times.append(time.perf_counter())
        self._calls.append((kind, tuple([x.nbytes for x in arrays])))

    def sum(self, x, order, name):
        self._note("sum", [x])
        return x * np.asarray(self.size, x.dtype) if x.dtype.kind != "b" else np.array(x)

    def means(self, arrays, order, name):
        self._note("means", arrays)
        return [np.array(x) for x in arrays]

    def begin_means(self, arrays, order, name):
        self._note("begin", arrays)
        return 0

    def finish_means(self, number, arrays, order, name, results):
        self._note("finish", arrays)
        return written(arrays, results)

    def stack(self, x, name):
        self._note("sum", [x])
        return np.stack([x] * self.size)

    def sum_of_parts(self, x, order, name):
        self._note("sum", [x])
        return x[0] * np.asarray(self.size, x.dtype)

    def exchange(self, x, name):
        self._note("sum", [x])
        return np.stack([x[0]] * self.size)

    def contents(self, content, name):
        return [content] * self.size


def _step(calls, whole):
    """The step whose calls came at these moments, and which took so long as a whole."""
    # A compiled step asks for the means that it has begun, all in a row; an eager one waits for each, after its backward pass.
    asked = [at for (kind, _), at in calls if kind == "finish"][:1] or [at for (kind, _), at in calls if kind == "means"][-1:]
    if not asked:
        raise ArgumentError("the step that was measured sent no gradients; give its model this group: DataParallel(model, "
                            "group=rehearsal)")
    passes, sent = asked[0], ("begin", "means")
    parameters = [nbytes for (kind, each), at in calls if kind in sent and at <= passes for nbytes in each]
    buckets = [(at, sum(each)) for (kind, each), at in calls if kind in sent and at <= passes]
    waits = [(at, sum(each)) for (kind, each), at in calls if kind == "sum" or kind == "means" and at > passes]
    return TrainingStep(passes, whole - passes, buckets, parameters, waits)
