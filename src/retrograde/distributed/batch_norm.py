"""Batch norm with the statistics of a batch that is spread over several processes."""

from typing import Any

from ..core.mode import is_repeating, no_grad
from ..nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm
from ..ops.collectives import all_sum
from ..ops.elementary.arithmetic import rsqrt
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from ..tensor.creation import full
from .collectives import order_of_sums


class _Shared(_BatchNorm):
    """A batch norm of all processes of a group, while it is trained; else as that of one."""

    group: Any = None

    def forward(self, x):
        if not self.training and self.running_mean is not None or self.group.size == 1:
            return super().forward(x)
        self._check(x)
        rate = self._rate()
        axes = (0, *range(2, x.ndim))
        shape = (1, self.num_features, *(1,) * (x.ndim - 2))
        count = full((1,), x.size // self.num_features, dtype=x.dtype)
        total = self._summed(concatenate([x.sum(axis=axes), count]))
        count = total[-1:].detach()
        mean = total[:-1] / count
        centred = x - reshape(mean, shape)
        variance = self._summed((centred * centred).sum(axis=axes)) / count
        self._follow(mean.detach(), variance.detach() * (count / (count - 1)), rate)
        found = centred * reshape(rsqrt(variance + self.eps), shape)
        found = found if self.weight is None else found * reshape(self.weight, shape)
        return found if self.bias is None else found + reshape(self.bias, shape)

    def _summed(self, x):
        return all_sum(x, self.group, order_of_sums(), "the statistics of a batch norm")

    def _follow(self, mean, variance, rate):
        if self.running_mean is None or not self.training or is_repeating():
            return
        with no_grad():
            for running, found in ((self.running_mean, mean), (self.running_var, variance)):
                running[...] = running + (found.astype(running.dtype) - running) * rate


class SharedBatchNorm1d(_Shared, BatchNorm1d):
    """`BatchNorm1d` of all processes."""


class SharedBatchNorm2d(_Shared, BatchNorm2d):
    """`BatchNorm2d` of all processes."""


class SharedBatchNorm3d(_Shared, BatchNorm3d):
    """`BatchNorm3d` of all processes."""


_KINDS: dict = {BatchNorm1d: SharedBatchNorm1d, BatchNorm2d: SharedBatchNorm2d, BatchNorm3d: SharedBatchNorm3d}


def shared_batch_norm(model, group):
    """`model` with each batch norm inside it as one of all processes of a group; it is changed in place."""
    for module in list(model.modules()):
        if type(module) in _KINDS:
            object.__setattr__(module, "group", group)
            module.__class__ = _KINDS[type(module)]
    return model

