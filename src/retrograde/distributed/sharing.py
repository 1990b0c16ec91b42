"""Sharing: each process keeps the optimizer's state of a part of the parameters, and updates these (ZeRO, stage 1).

Rajbhandari et al., "ZeRO: Memory optimizations toward training trillion parameter models" (2020).
"""

import heapq
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
        owners, _ = dealt([p.size * p.dtype.itemsize for p in parameters], group.size)
        self.group, self.owner = group, dict(zip(map(id, parameters), owners, strict=True))
        self._parameters, self._joined = parameters, weakref.WeakSet()
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


def dealt(nbytes, count):
    """(owner of each, bytes of each owner) of parameters of so many bytes each: the largest first, each to the one of `count`
    processes that has least.
    """
    owners, heap = [0] * len(nbytes), [(0, r) for r in range(count)]
    for i in sorted(range(len(nbytes)), key=nbytes.__getitem__, reverse=True):
        held, owners[i] = heap[0]
        heapq.heapreplace(heap, (held + nbytes[i], owners[i]))
    return owners, [held for held, _ in sorted(heap, key=lambda pair: pair[1])]
