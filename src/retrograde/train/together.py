"""Together: what a trainer does as one of several processes. Of one it is nothing."""

import pickle
from contextlib import nullcontext
from typing import Any

from .. import distributed as processes
from ..data.loader import Loader
from ..distributed.runs import in_parts
from ..errors import ArgumentError
from .metrics.base import Totals

#: Seconds that the others wait for the process that writes a checkpoint.
_WRITING = 600


class Together:
    """The processes that train one model, each with its part of the data; `kind` is None for one that trains alone, or "data"."""

    def __init__(self, kind):
        if kind not in (None, "data"):
            raise ArgumentError(f'distributed must be None or "data", got {kind!r}')
        self._is_one = kind is None or processes.size() == 1
        self._wraps = kind == "data"
        #: The processes that share out batches: those of the model.
        self._group: Any = None

    def parallel(self, model):
        """`model` as that of all processes."""
        if not self._wraps:
            return model
        model = model if isinstance(model, processes.DataParallel) else processes.DataParallel(model)
        self._group = model.group
        return model

    def shared(self, data):
        """`data`, of which this process takes its part."""
        if self._is_one:
            return data
        if not isinstance(data, Loader):
            raise ArgumentError(f"several processes share the batches of a loader, or arrays (inputs, targets), got "
                                f"{type(data).__name__}")
        shard = self._group.rank, self._group.size
        if data.shard not in (None, shard):
            raise ArgumentError(f"the loader has shard={data.shard}, and this process is {shard[0]} of {shard[1]}; leave it out")
        data.shard = shard
        return data

    def told_here(self, callbacks):
        """Those of the callbacks that are told here: what is for people comes from process 0."""
        return callbacks if self._is_one or processes.rank() == 0 else [c for c in callbacks if not getattr(c, "is_report", False)]

    def mean(self, loss):
        """The loss of a whole batch from that of the part of each process."""
        return loss if self._is_one else processes.all_reduce(loss, "mean", self._group)

    def any(self, came):
        """Whether any process was asked to end; all have to end after the same step."""
        if self._is_one:
            return came
        return max(int(content) for content in processes.world().contents(b"%3d" % came, "whether to end"))

    def accumulated(self, model):
        """What gives a context manager, within which gradients of several batches add up on each process."""
        return nullcontext if self._is_one or not isinstance(model, processes.DataParallel) else model.accumulate

    def totals(self, totals, metrics):
        """What a batch of all processes needs for its results, of the parts of all."""
        if self._is_one:
            return totals
        found = Totals(metrics)
        for content in self._group.contents(pickle.dumps(totals.state_dict()), "the metrics of an epoch"):
            found.merge(pickle.loads(content))  # noqa: S301 - of our own processes
        return found

    @property
    def is_first(self):
        """Whether this is the process that goes on with the totals of all, where a run goes on within an epoch."""
        return self._is_one or self._group.rank == 0

    def alone(self, saver: Any, goes_on):
        """What gives a context manager, within which nobody else trains into a folder."""
        if saver is None or not self._is_one and processes.rank() != 0:
            return nullcontext()
        return saver.alone(goes_on)

    def save(self, save, parts):
        """Let process 0 save the parts of a run; the others hand over what they keep of these."""
        if self._is_one or processes.rank() == 0:
            save(**parts)
        else:
            for part in in_parts(parts):
                part.state_dict()

    def wait(self, wait):
        """Wait until what process 0 writes is written."""
        if self._is_one or processes.rank() == 0:
            wait()
        if not self._is_one:
            with processes.patience(_WRITING):
                processes.barrier()
