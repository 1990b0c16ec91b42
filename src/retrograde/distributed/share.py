"""Share: which part of a parameter a process holds, of which the others of its group hold the rest."""

import pickle
from typing import Any

import numpy as np

from ..errors import ArgumentError, CheckpointError, ShapeError
from ..optim.optimizer import Optimizer
from ..tensor.tensor import Tensor


class Share:
    """One of as many equal parts along an axis as a group has processes.

    shape   that of the whole
    blocks  how many pieces along the axis are cut each for itself, as the projections of queries, keys and values are that lie in
            one matrix
    keeper  what optimizers save and load their states by
    """

    wholes: Any

    def __init__(self, name, shape, axis, group, blocks=1, keeper=None):
        self.keeper, self.name, self.shape, self.axis, self.group, self.blocks = keeper, name, tuple(shape), axis, group, blocks
        if self.shape[axis] % (blocks * group.size):
            raise ShapeError(f"axis {axis} of {name} is cut into {blocks * group.size} equal parts, got shape {self.shape}; pad "
                             "it, or use another number of processes")

    def __eq__(self, other):
        return isinstance(other, Share) and self._facts() == other._facts()

    def __hash__(self):
        return hash(self._facts()[:-1])

    def _facts(self):
        return self.shape, self.axis, self.blocks, self.group

    def __deepcopy__(self, memo):
        return self

    def of(self, whole):
        """The part of an array that this process holds, a copy."""
        if tuple(whole.shape) != self.shape:
            raise CheckpointError(f"{self.name} has shape {tuple(whole.shape)}, and the whole of it has shape {self.shape}")
        pieces = [np.split(block, self.group.size, self.axis)[self.group.rank] for block in self._blocks(whole)]
        return np.ascontiguousarray(np.concatenate(pieces, self.axis))

    def joined(self, parts):
        """The whole of the parts of all processes of the group, in their order."""
        cut = [self._blocks(part) for part in parts]
        return np.concatenate([pieces[i] for i in range(self.blocks) for pieces in cut], self.axis)

    def _blocks(self, array):
        return np.split(array, self.blocks, self.axis)

    def join(self, optimizer):
        """Let an optimizer, which holds moments of the part, save and load those of the whole."""
        if type(optimizer).update is Optimizer.update or not optimizer.is_elementwise:
            raise ArgumentError(f"{type(optimizer).__name__} needs the whole of {self.name}, of which each process holds a part; "
                                "use an optimizer that updates each number by itself")
        optimizer.keeper = self.keeper


def wholes(parts, what):
    """{key: whole} of {key: (share, part)}, which all processes of the groups of the shares call; `what` names the calls."""
    found, by_group = {}, {}
    for key, (share, part) in parts.items():
        by_group.setdefault(share.group, {})[key] = part
    for group, mine in by_group.items():
        everywhere = [pickle.loads(content) for content in group.contents(pickle.dumps(mine), what)]  # noqa: S301 - of our own
        found |= {key: Tensor(parts[key][0].joined([theirs[key] for theirs in everywhere])) for key in mine}
    return found


Share.wholes = staticmethod(wholes)
