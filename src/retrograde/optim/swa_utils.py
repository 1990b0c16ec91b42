"""Averages of weights over the steps of a training: stochastic weight averaging and exponential moving averages."""

from copy import deepcopy
from math import cos, pi
from numbers import Integral
from typing import Any

from ..core.mode import no_grad
from ..core.value import Value
from ..dtypes import is_float
from ..errors import ArgumentError
from ..nn.module import Module
from ..nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..ops.elementary.comparisons import where
from ..tensor.creation import asarray
from .schedule import Schedule, of_each_group, rates_of


class AveragedModel(Module):
    """A copy of `model` whose parameters are means of those that `update_parameters` has been shown; called, it calls the copy.

    avg_fn        `avg_fn(mean, parameter, n_averaged)` gives the new mean; by default that of all (Izmailov et al., 2018)
    multi_avg_fn  `multi_avg_fn(means, parameters, n_averaged)` writes the new means, as that of `get_ema_multi_avg_fn` does
    use_buffers   whether buffers are averaged as well; otherwise they are copied

    The first update copies. `update_parameters` may be part of a jitted step.

    >>> model = rg.nn.Linear(1, 1)
    >>> averaged = rg.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = rg.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.tolist(), averaged.n_averaged.item()
    ([[2.0]], 2)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("AveragedModel takes avg_fn or multi_avg_fn, got both")
        self.module = deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", asarray(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model):
        """Take in the parameters of `model` as they are now."""
        means, new = list(self.module.parameters()), [p.detach() for p in model.parameters()]
        buffers, seen = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            means, new = [*means, *buffers], [*new, *seen]
        else:
            _write(buffers, seen)
        is_first: Any = self.n_averaged == 0
        if is_first.is_traced:
            self._average(means, new)
            _write(means, [where(is_first, now, mean) for mean, now in zip(means, new, strict=True)])
        elif is_first:
            _write(means, new)
        else:
            self._average(means, new)
        self.n_averaged += 1

    def _average(self, means, new):
        if self.multi_avg_fn is not None:
            self.multi_avg_fn(means, new, self.n_averaged)
        else:
            _in_turn(self.avg_fn or get_swa_avg_fn())(means, new, self.n_averaged)


def get_swa_avg_fn():
    """The function `(mean, parameter, n_averaged)` that gives the mean of one more."""

    def average(averaged, current, num_averaged):
        share = 1 / (num_averaged + 1)
        if isinstance(share, Value) and is_float(averaged.dtype):
            share = share.astype(averaged.dtype)
        return averaged + (current - averaged) * share

    return average


def get_ema_avg_fn(decay=0.999):
    """The function `(mean, parameter, n_averaged)` that gives `decay` times the mean and 1 - `decay` times the parameter."""
    if not 0 <= decay <= 1:
        raise ArgumentError(f"decay must lie between 0 and 1, got {decay!r}")
    return lambda averaged, current, num_averaged: averaged * decay + current * (1 - decay)


def get_swa_multi_avg_fn():
    """The function `(means, parameters, n_averaged)` that makes each mean one of one more, in place."""
    return _in_turn(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay=0.999):
    """The function `(means, parameters, n_averaged)` that brings each mean to its parameter by the part 1 - `decay`, in place."""
    return _in_turn(get_ema_avg_fn(decay))


def _in_turn(average):
    """What `average` does, for lists, in place."""

    @no_grad()
    def update(averaged, current, num_averaged):
        _write(averaged, [average(mean, now, num_averaged) for mean, now in zip(averaged, current, strict=True)])

    return update


def _write(targets, values):
    for target, value in zip(targets, values, strict=True):
        target[...] = value.to(target.device).astype(target.dtype)


@no_grad()
def update_bn(loader, model, device=None):
    """Let the running statistics of all batch norm in `model` be those of the batches of `loader`, on which it is called.

    Of a batch that is a tuple or a list the first entry is taken.
    """
    layers = [m for m in model.modules() if isinstance(m, (BatchNorm1d, BatchNorm2d, BatchNorm3d))]
    if not layers:
        return
    momenta, was_training = [layer.momentum for layer in layers], model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    try:
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(was_training)


#: How far the learning rate has come after a part of the way.
_STRATEGIES = {"cos": lambda part: (1 - cos(pi * part)) / 2, "linear": lambda part: part}


class SWALR(Schedule):
    """From the learning rate as it is to `swa_lr` in `anneal_epochs` steps, along half a cosine ("cos") or a line ("linear").

    What another schedule has set in between is where it starts from. `swa_lr` may be a list, one for each group.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> schedule = rg.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in _STRATEGIES:
            raise ArgumentError(f'anneal_strategy must be "cos" or "linear", got {anneal_strategy!r}')
        if not isinstance(anneal_epochs, Integral) or anneal_epochs < 0:
            raise ArgumentError(f"anneal_epochs must be an integer of at least 0, got {anneal_epochs!r}")
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        for group, end in zip(getattr(optimizer, "param_groups", ()), of_each_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = end
        super().__init__(optimizer, last_epoch)

    def _part(self, t):
        return _STRATEGIES[self._anneal_strategy](max(0, min(1, t / max(1, self.anneal_epochs))))

    def get_lr(self):
        t = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._part(t - 1), self._part(t)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, rates_of(self.optimizer), strict=True):
            end = group.get("swa_lr")
            if end is None:
                raise ArgumentError("SWALR needs a swa_lr in each group; make the schedule after add_param_group")
            start = end if before == 1 else (rate - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
