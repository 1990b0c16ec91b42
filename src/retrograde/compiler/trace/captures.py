"""Captures: what a trace knows of the tensors from outside that it uses, and of gradients."""

import numpy as np

from ...core.mode import changed
from ...core.symbol import Symbol
from ...ops._arrays import arrays


class Capture:
    """A tensor from outside that the trace uses: its symbol at the start, and what it holds at the end.

    `owner` is the tensor whose gradient it was when the trace began, if it was one: gradients are found anew at each
    call, through their owners. `twins` are other tensors from outside that hold the same array.
    """

    def __init__(self, value, owner=None):
        self.value, self.owner, self.record, self.twins = value, owner, value.record, []
        self.start = self.now = Symbol(None, (), value.raw.shape, value.raw.dtype)


class Gradient:
    """The gradient of a tensor in a trace. `is_read` says whether what it was before the trace matters: then it is whole, since it
    may have any number of rows at the next call.
    """

    def __init__(self, value, is_read):
        self.value, self.is_read = value, is_read
        with changed(tracer=None):
            self.start = self.now = arrays.whole_gradient(value) if is_read else value.grad


def gradient_of(owner):
    """The gradient of a tensor as an array, an empty one if it has none."""
    return np.empty(0) if owner.grad is None else owner.grad.raw
