"""DataParallel: a model that all processes hold, each of which computes the gradients of its part of a batch."""

from contextlib import contextmanager
from typing import Any

from ..core.edits import edited
from ..core.mode import current, no_grad
from ..errors import ArgumentError
from ..nn.module import Module
from ..nn.stateless import functional_call
from ..ops.collectives import means, replicated
from .alike import check_alike
from .around import Around
from .batch_norm import shared_batch_norm
from .collectives import order_of_sums
from .sharing import Sharing
from .world import world

#: Up to so many bytes, gradients are sent together.
BUCKET = 4 * 2**20
SHARDS = ("none", "optimizer")


class DataParallel(Around):
    """A model whose gradients are means over all processes, each of which is given its own part of a batch.

    model       what each process holds, `module`; all must have the same weights, which is checked. `state_dict`, parameters and
                their names are those of the model
    shard       "none", or "optimizer": each process keeps the optimizer's state of a part of the parameters, updates these, and
                gets the others from theirs. Any optimizer that is made of the parameters afterwards does so
    batch_norm  "shared": batch norm has the statistics of the whole batch, of all processes; "own": of the part
    bucket      up to how many bytes gradients are sent together
    group       the processes, all by default; `mesh.data` for a model that is a `TensorParallel` of `mesh.tensor`

    With parts of one size, and a loss that is the mean over the rows, the gradients are those of the whole batch.

    >>> model = rg.distributed.DataParallel(rg.nn.Linear(2, 1))
    >>> optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
    >>> model(rg.ones(4, 2)).mean().backward()
    >>> optimizer.step()
    >>> sorted(model.state_dict())
    ['bias', 'weight']
    """

    def __init__(self, model, shard="none", *, batch_norm="shared", bucket=BUCKET, group: Any = None):
        for name, value, known in (("shard", shard, SHARDS), ("batch_norm", batch_norm, ("shared", "own"))):
            if value not in known:
                raise ArgumentError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if isinstance(model, DataParallel) or not isinstance(model, Module):
            raise ArgumentError(f"DataParallel takes a model that is a Module and is not parallel yet, got {type(model).__name__}")
        if not isinstance(bucket, int) or bucket < 1:
            raise ArgumentError(f"bucket must be a number of bytes of at least 1, got {bucket!r}")
        super().__init__(shared_batch_norm(model, group or world()) if batch_norm == "shared" else model)
        self.group, self.shard, self.bucket, self._reducing = group or world(), shard, bucket, _Reducing()
        check_alike(self.module, self.group)
        if shard == "optimizer":
            Sharing(list(self.module.parameters()), self.group)

    def forward(self, *args, **kwargs):
        self._reducing.watch()
        if not self._reducing.now or self.group.size == 1:
            return self.module(*args, **kwargs)
        names, values = [], []
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad:
                names.append(name)
                values.append(parameter)
        if not values:
            return self.module(*args, **kwargs)
        return functional_call(self.module, dict(zip(names, replicated(values, self.group, self.bucket, order_of_sums()),
                                                     strict=True)), args, kwargs)

    @contextmanager
    def accumulate(self):
        """Within it gradients of several batches add up on each process; at its end they become means over all, once.

        >>> model = rg.distributed.DataParallel(rg.nn.Linear(2, 1))
        >>> with model.accumulate():
        ...     for _ in range(3):
        ...         (model(rg.ones(4, 2)).mean() / 3).backward()
        """
        if not self._reducing.now:
            raise ArgumentError("accumulate() is within another one of the same model; the outer one makes the means")
        self._reducing.set(False)
        try:
            yield
        finally:
            self._reducing.set(True)
        parameters = list(self.module.parameters())
        with no_grad():
            found = means([p.grad for p in parameters], self.group, self.bucket, order_of_sums(), "the mean of gradients")
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None:
                parameter.grad = gradient


class _Reducing:
    """Whether gradients become means in each backward pass; what is compiled serves only as long as it is what it was."""

    def __init__(self):
        self.now = True

    def set(self, now):
        self.now = now
        edited()

    def watch(self):
        mode = current()
        if mode is not None and mode.tracer is not None and not mode.tracer.is_lazy:
            mode.tracer.watch_edits(self, lambda: self.now, "whether gradients are accumulated")


def average(model, group: Any = None):
    """Let all processes have the mean of their weights, and of the buffers that are floats: for models that are trained alone for
    some steps in between (local SGD).

    >>> model = rg.nn.Linear(2, 1)
    >>> rg.distributed.average(model)
    """
    group = group or world()
    tensors = [*model.parameters(), *[b for b in model.buffers() if b.dtype.kind not in "iub"]]
    with no_grad():
        for tensor, mean in zip(tensors, means(tensors, group, None, order_of_sums(), "the mean of weights"), strict=True):
            tensor[...] = mean
