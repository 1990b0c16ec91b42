"""Sharing: each process keeps the optimizer's state of a part of the parameters, and updates these (ZeRO, stage 1).

Rajbhandari et al., "ZeRO: Memory optimizations toward training trillion parameter models" (2020).
"""

import weakref
from functools import partial

import numpy as np

from ..core.mode import is_tracing, no_grad
from ..errors import ArgumentError
from ..ops.collectives import from_owners
from ..optim.optimizer import Optimizer
from .whole_states import keep_in_parts, members


class Sharing:
    """Who owns which parameter of a model: the largest first, each to the process that has least. Optimizers that are made of these
    parameters join by themselves (`Optimizer.add_param_group`).
    """

    def __init__(self, parameters, group):
        self.group, self.owner = group, dict.fromkeys(map(id, parameters), 0)
        self._parameters, self._joined = parameters, weakref.WeakSet()
        held = [0] * group.size
        for p in sorted(parameters, key=_size, reverse=True):
            self.owner[id(p)] = owner = held.index(min(held))
            held[owner] += p.size * p.dtype.itemsize
        for p in parameters:
            p.sharing = self

    def join(self, optimizer):
        """Let an optimizer update what this process owns alone, and get the rest."""
        if optimizer in self._joined:
            return
        if type(optimizer).update is Optimizer.update:
            raise ArgumentError(f'{type(optimizer).__name__} updates all parameters together, which shard="optimizer" cannot share'
                                ' out; use shard="none"')
        self._joined.add(optimizer)
        if self.group.size == 1:
            return
        kept: list = []
        optimizer.register_step_pre_hook(partial(self._before, kept))
        optimizer.register_step_post_hook(partial(self._after, kept))
        keep_in_parts(optimizer)

    def _is_theirs(self, p):
        return self.owner.get(id(p), self.group.rank) != self.group.rank

    def _before(self, kept, optimizer, args, _kwargs):
        """Hide the gradients of what others own."""
        if args and args[0] is not None:
            raise ArgumentError('an optimizer under shard="optimizer" takes no closure; call backward before step')
        kept.clear()
        for p in members(optimizer):
            if self._is_theirs(p):
                if not is_tracing():
                    optimizer.state.pop(p, None)  # as it is after a whole state was loaded
                kept.append((p, p.grad))
                p.grad = None

    def _after(self, kept, optimizer, _args, _kwargs):
        """Get what others have updated, and show the gradients again."""
        gradients = {id(p): g for p, g in kept}
        for p, g in kept:
            p.grad = g
        kept.clear()
        updated = [p for p in members(optimizer) if gradients.get(id(p), p.grad) is not None and id(p) in self.owner]
        by_dtype: dict = {}
        for p in updated:
            by_dtype.setdefault(np.dtype(p.dtype), []).append(p)
        with no_grad():
            for group in by_dtype.values():
                owners = tuple([self.owner[id(p)] for p in group])
                for p, new in zip(group, from_owners(group, owners, self.group), strict=True):
                    if self._is_theirs(p):
                        p[...] = new


def _size(parameter):
    return parameter.size

