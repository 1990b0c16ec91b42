"""Steps of an optimizer as machine code, once there have been so many that compiling pays."""

import weakref
from importlib import import_module

import numpy as np

from ..compiler.backends import chosen
from ..core import writes
from ..core.mode import current
from ..errors import RetrogradeError
from ..tensor.rows import RowGradient
from ..tensor.tensor import Tensor
from .traced import trace_step

#: Elements that NumPy updates in about the time that compiling takes. Counted by what the state of the optimizer says, so
#: that training that was saved and goes on is compiled at the same step as training that was never interrupted.
_WORTH = 50_000_000
#: After so many changes of options, or of which parameters have gradients, no step is compiled any more.
_PATIENCE = 3


class CompiledSteps:
    """What is compiled for one optimizer. Copies and pickles of it are empty."""

    def __init__(self):
        self._step, self._known, self._changes = None, None, 0

    def __reduce__(self):
        return CompiledSteps, ()

    def run(self, optimizer):
        """Make a step, if there is code for it or it pays to compile some; whether it was made."""
        if not optimizer.counts_steps or self._changes > _PATIENCE or current() is not None:
            return False
        if self._step is None:
            if not _is_worth(optimizer):
                return False
            if not chosen().is_faster:
                self._changes = _PATIENCE + 1
                return False
        members = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not all([_is_common(p, p.grad, optimizer.state.get(p)) for p in members]):
            return False
        known = _signature(optimizer, members)
        if self._step is not None and known != self._known:
            self._step, self._changes = None, self._changes + 1
            return False
        return self._made(optimizer, members, known)

    def _made(self, optimizer, members, known):
        for tensor in (*members, *[tensor for p in members for tensor in optimizer.state[p].values()]):
            writes.before(tensor.algebra, tensor.raw)
        gradients = [p.grad for p in members]
        try:
            step = self._step or import_module("..transforms.jit", __package__).jit(_recorded(optimizer, members))
            step(*gradients)
        except RetrogradeError:
            if self._step is not None:
                raise
            self._changes = _PATIENCE + 1  # a formula that cannot be traced; the trace has taken everything back
            return False
        self._step, self._known = step, known
        for p in members:
            writes.stamp(p.algebra, p.raw)
        return True


def _recorded(optimizer, members):
    """The step as a function of the gradients of `members`, which nobody holds after the call; nor does it hold the optimizer."""
    optimizer, members = weakref.ref(optimizer), [weakref.ref(p) for p in members]

    def step(*gradients):
        trace_step(optimizer(), current().tracer, {p(): g for p, g in zip(members, gradients, strict=True)})

    return step


def _is_worth(optimizer):
    """Whether NumPy has spent as much time on this optimizer as compiling would take."""
    counts = [(p.size, state.get("step")) for p, state in optimizer.state.items()]
    return sum([size * int(count) for size, count in counts if count is not None]) >= _WORTH


def _signature(optimizer, members):
    """What the code depends on: the options but for the learning rate, and the memory that it reads and writes."""
    others = ("params", "param_names", "lr", "initial_lr")
    options = [[value for name, value in group.items() if name not in others] for group in optimizer.param_groups]
    return options, [(id(p), *map(id, optimizer.state[p].values())) for p in members]


def _is_common(parameter, gradient, state):
    """Whether a parameter is such as code is written for: its numbers, those of its gradient and its state are in plain arrays."""
    if not state or isinstance(gradient, RowGradient) or gradient.record is not None:
        return False
    if (gradient.shape, gradient.dtype) != (parameter.shape, parameter.dtype):
        return False
    return all([isinstance(t, Tensor) and t.raw.__class__ is np.ndarray and t.raw.flags.c_contiguous
                and t.raw.dtype.char in "fdFD" for t in (parameter, gradient, *state.values())])
