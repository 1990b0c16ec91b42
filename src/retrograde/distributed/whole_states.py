"""Whole states: what optimizers save and load of parameters whose moments several processes keep, each a part."""

import pickle
from itertools import chain

import numpy as np

from ..errors import CheckpointError
from ..nn.state import share_of
from .share import wholes


def keep_in_parts(optimizer):
    """Let the state of an optimizer be put together when it is saved, which all processes have to do, and cut when it is loaded."""
    optimizer.keeper = WHOLE


def members(optimizer):
    """The parameters of an optimizer, in the order of their numbers."""
    return list(chain.from_iterable(group["params"] for group in optimizer.param_groups))


class _Whole:
    """What stands between the state of an optimizer on one process and that of whole parameters."""

    def saved(self, optimizer, state):
        """A state with the parts of all processes: first of those that hold one model, then of those that share out the moments."""
        whole, parts, sharing = {}, {}, None
        for number, p in enumerate(members(optimizer)):
            sharing = sharing or getattr(p, "sharing", None)
            is_mine = sharing is None or sharing.owner.get(id(p), sharing.group.rank) == sharing.group.rank
            if is_mine and number in state["state"]:
                whole[number] = dict(state["state"][number])
                share = share_of(p)
                for name, value in whole[number].items() if share is not None else ():
                    if _shape(value) == p.shape:
                        parts[number, name] = share, value.numpy()
        for (number, name), value in wholes(parts, "the state of an optimizer, in parts").items():
            whole[number][name] = value
        if sharing is not None and sharing.group.size > 1:
            contents = sharing.group.contents(pickle.dumps(whole), "the state of an optimizer")
            for content in contents:
                whole.update(pickle.loads(content))  # noqa: S301 - from our own processes
        return {**state, "state": {number: whole[number] for number in sorted(whole)}}

    def loaded(self, optimizer, state):
        """Of a state of whole parameters, what this process holds."""
        found = dict(state["state"])
        for number, p in enumerate(members(optimizer)):
            if number in found and share_of(p) is not None:
                found[number] = {name: _cut(p, name, value) for name, value in found[number].items()}
        return {**state, "state": found}

    def __deepcopy__(self, memo):
        return self


WHOLE = _Whole()


def _cut(p, name, value):
    """What this process holds of one saved entry: a part of what has the shape of the parameter; of a number, that."""
    if not _shape(value):
        return value
    if _shape(value) != p.share.shape:
        raise CheckpointError(f"the saved {name} has shape {_shape(value)} and its parameter {p.share.name} {p.share.shape}")
    return p.share.of(np.asarray(value))


def _shape(value):
    return tuple(getattr(value, "shape", ()))
