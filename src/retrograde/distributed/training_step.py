"""A training step as one process makes it: what it computes, and the collectives that it makes where there are several."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..ops.collectives import buckets as together
from .data_parallel import BUCKET
from .network import checked_number


class Call(NamedTuple):
    """A collective of a step: so many bytes, when the process has worked for so many seconds since the step began."""

    at: float
    nbytes: int


@dataclass(frozen=True)
class TrainingStep:
    """What one process does in a training step, as `Rehearsal` measures it.

    passes      seconds of the forward and backward pass
    update      seconds in which the optimizer updates all parameters
    buckets     (seconds, bytes) of gradients that are sent together, in their order: when they are ready, in seconds of work since
                the step began
    parameters  bytes of each parameter, which `shard="optimizer"` shares out
    waits       (seconds, bytes) of each sum over all processes that the step waits for, such as the statistics of a batch norm
    """

    passes: float
    update: float = 0.0
    buckets: Any = ()
    parameters: Any = ()
    waits: Any = ()

    def __post_init__(self):
        checked_number("passes of a step", self.passes, "seconds above 0", lambda x: 0 < x < inf)
        checked_number("update of a step", self.update, "seconds of at least 0", lambda x: 0 <= x < inf)
        for name, end in (("buckets", self.passes), ("waits", self.passes + self.update)):
            object.__setattr__(self, name, _calls(name, getattr(self, name), end))
        for nbytes in self.parameters:
            checked_number("each of the parameters of a step", nbytes, "bytes above 0", lambda x: 0 < x < inf)
        object.__setattr__(self, "parameters", tuple(self.parameters))

    @classmethod
    def of_layers(cls, layers, update=0.0, bucket=BUCKET):
        """The step of layers that are not measured together.

        layers  (seconds forward, seconds backward, bytes of each parameter) of each, in the order of the forward pass; the
                gradients of a layer are ready when the backward pass has gone through it
        bucket  up to how many bytes are sent together, as `DataParallel` does it

        >>> step = rg.distributed.TrainingStep.of_layers([(0.01, 0.02, [4000, 40]), (0.01, 0.02, [4000, 40])], bucket=4040)
        >>> [(round(ready, 3), nbytes) for ready, nbytes in step.buckets]
        [(0.04, 4040), (0.06, 4040)]
        """
        if not layers:
            raise ArgumentError("a step has at least one layer, got none")
        passes = sum([forward + backward for forward, backward, _ in layers])
        parameters = [nbytes for *_, each in layers for nbytes in each]
        number = [i for i, (*_, each) in enumerate(layers) for _ in each]
        # The backward pass comes to a layer after those behind it, and is over when it has gone through the first.
        ready = [passes - sum([backward for _, backward, _ in layers[:i]]) for i in range(len(layers))]
        groups = together([np.broadcast_to(np.uint8(0), nbytes) for nbytes in parameters], bucket)
        calls = [(max([ready[number[i]] for i in group]), sum([parameters[i] for i in group])) for group in groups]
        return cls(passes, update, calls, parameters)


def _calls(name, pairs, end):
    """The calls of a step, which are checked: in their order, while the step lasts."""
    found = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all([isinstance(x, Real) for x in pair]):
            raise ArgumentError(f"{name} of a step are pairs (seconds, bytes), got {pair!r}")
        call = Call(*pair)
        # What is measured ends at its last call but for rounding.
        if not 0 <= call.at <= end * (1 + 1e-9) or not 0 <= call.nbytes < inf:
            raise ArgumentError(f"{name} of a step are at 0 to {end:g} s and of at least 0 bytes, got {call.nbytes!r} bytes at "
                                f"{call.at!r} s")
        found.append(call._replace(at=min(call.at, end)))
    if any([a.at > b.at for a, b in pairwise(found)]):
        raise ArgumentError(f"{name} of a step come one after the other, got them at {', '.join([f'{c.at:g}' for c in found])} s")
    return tuple(found)
