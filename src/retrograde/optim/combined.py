"""Schedules of schedules: one after another, or all at once."""

from bisect import bisect_right

from ..errors import ArgumentError, DTypeError
from .plateau import ReduceLROnPlateau
from .schedule import Schedule, check_eager, put, rates_of


class SequentialLR(Schedule):
    """One schedule after another: each begins anew at its milestone, as in a warm-up followed by a decay.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> lr = rg.optim.lr_scheduler
    >>> schedule = lr.SequentialLR(optimizer, [lr.LinearLR(optimizer, 0.5, 1.0, 2), lr.ExponentialLR(optimizer, 0.5)], [2])
    >>> [(schedule.get_last_lr()[0], schedule.step())[0] for _ in range(5)]
    [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._schedulers, self._milestones = _checked(self, schedulers, optimizer), list(milestones)
        if len(self._milestones) != len(self._schedulers) - 1:
            raise ArgumentError(f"SequentialLR needs a milestone between every two schedules, got {len(self._milestones)} "
                                f"for {len(self._schedulers)}")
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        _reset(optimizer)
        self.undo()
        self._at(0).initial_step()
        self._keep_last()

    def _at(self, t):
        """The schedule whose turn it is at step `t`."""
        return self._schedulers[bisect_right(self._milestones, t)]

    def step(self):
        """Go on by one, with the schedule whose turn it is."""
        check_eager(self)
        self.last_epoch += 1
        if self.last_epoch in self._milestones:
            self._at(self.last_epoch).restart()
        else:
            self._at(self.last_epoch).step()
        self._keep_last()

    def undo(self):
        for schedule in self._schedulers:
            schedule.undo()

    def begin(self):
        self.last_epoch = 0
        self._at(0).begin()
        self._keep_last()

    def restart(self):
        _reset(self.optimizer)
        self.begin()


class ChainedScheduler(Schedule):
    """Several schedules at once: each goes on from what the one before it has left.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> lr = rg.optim.lr_scheduler
    >>> schedule = lr.ChainedScheduler([lr.ConstantLR(optimizer, 0.5, 10), lr.ExponentialLR(optimizer, 0.9)])
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.45]
    """

    def __init__(self, schedulers, optimizer=None):
        self._schedulers = _checked(self, schedulers, optimizer)
        self.optimizer = self._schedulers[0].optimizer
        self._keep_last()

    def step(self):
        """Go on by one, with each in turn."""
        for schedule in self._schedulers:
            schedule.step()
        self._keep_last()

    def undo(self):
        for schedule in self._schedulers:
            schedule.undo()

    def begin(self):
        for schedule in self._schedulers:
            schedule.begin()
        self._keep_last()

    def restart(self):
        _reset(self.optimizer)
        self.begin()


def _checked(owner, schedulers, optimizer):
    """A list of `schedulers` that can be stepped without being told anything, all of `optimizer`, or of one."""
    name, schedulers = type(owner).__name__, list(schedulers)
    if not schedulers or not all([isinstance(s, Schedule) for s in schedulers]):
        raise DTypeError(f"{name} needs a list of schedules, got {schedulers!r}")
    if any([isinstance(s, ReduceLROnPlateau) for s in schedulers]):
        raise ArgumentError(f"{name} cannot step ReduceLROnPlateau, which must be given a number; step it by itself")
    optimizer = schedulers[0].optimizer if optimizer is None else optimizer
    if any([s.optimizer is not optimizer for s in schedulers]):
        raise ArgumentError(f"{name} needs schedules of one optimizer, got those of several")
    return schedulers


def _reset(optimizer):
    """Set the learning rates to the first ones."""
    for group, rate in zip(optimizer.param_groups, rates_of(optimizer, "initial_lr"), strict=True):
        put(group, rate)
