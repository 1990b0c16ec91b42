"""Schedules: learning rates that change from step to step. Call `step()` after the optimizer's.

Each is a formula of the number of steps, so that a schedule can be resumed or looked up anywhere.
"""

from bisect import bisect_right
from math import cos, inf, pi, prod
from numbers import Integral, Real

from ..errors import ArgumentError, DTypeError


class Schedule:
    """Base: `factor(t)` gives what the first learning rate is multiplied by after `t` steps."""

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        if not isinstance(last_epoch, Integral):
            raise ArgumentError(f"last_epoch must be an integer, got {last_epoch!r}")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def factor(self, t):
        """What the first learning rate is multiplied by after `t` steps."""
        raise NotImplementedError(f"{type(self).__name__} needs a method factor")

    def rate(self, base, t):
        """The learning rate after `t` steps if the first was `base`."""
        return base * self.factor(t)

    def step(self):
        """Go on by one, and set the learning rates of the optimizer."""
        self.last_epoch += 1
        self._set()

    def _set(self):
        for i, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(self.base_lrs[i], self.last_epoch)

    def get_last_lr(self):
        """The learning rates now, one for each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """What `load_state_dict` needs to go on from here."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict):
        """Go on from where another schedule was."""
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])
        self._set()


def _check_optimizer(optimizer):
    if not hasattr(optimizer, "param_groups"):
        raise DTypeError(f"a schedule takes the optimizer whose learning rate it sets, got {type(optimizer).__name__}")


class LambdaLR(Schedule):
    """The factor is any function of the number of steps; or one function for each group.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> schedule = rg.optim.LambdaLR(optimizer, lambda t: 0.5**t)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        _check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        self._factors = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self._factors) != count:
            raise ArgumentError(f"LambdaLR needs one function for each of {count} groups, got {len(self._factors)}")
        super().__init__(optimizer, last_epoch)

    def _set(self):
        for group, base, factor in zip(self.optimizer.param_groups, self.base_lrs, self._factors, strict=True):
            group["lr"] = base * factor(self.last_epoch)


class StepLR(Schedule):
    """Times `gamma` every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, t):
        return self.gamma ** (t // self.step_size)


class MultiStepLR(Schedule):
    """Times `gamma` at each of `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, t):
        return self.gamma ** bisect_right(self.milestones, t)


class ExponentialLR(StepLR):
    """Times `gamma` every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        super().__init__(optimizer, 1, gamma, last_epoch)


class LinearLR(Schedule):
    """The factor goes evenly from `start_factor` to `end_factor` in `total_iters` steps: a warm-up."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, t):
        done = min(t, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ConstantLR(LinearLR):
    """The factor is `factor` for `total_iters` steps, and 1 from there on."""

    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        super().__init__(optimizer, factor, 1.0, total_iters, last_epoch)

    def factor(self, t):
        return self.start_factor if t < self.total_iters else 1.0


class PolynomialLR(Schedule):
    """Down to nothing in `total_iters` steps, along a power of what is left of them."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, t):
        return (1 - min(t, self.total_iters) / self.total_iters) ** self.power


class MultiplicativeLR(LambdaLR):
    """Times what a function of the number of steps gives, at each step; or one function for each group."""

    def _set(self):
        steps = range(1, self.last_epoch + 1)
        for group, base, factor in zip(self.optimizer.param_groups, self.base_lrs, self._factors, strict=True):
            group["lr"] = base * prod(map(factor, steps))


class CosineAnnealingLR(Schedule):
    """Down to `eta_min` in `T_max` steps along half a cosine, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base, t):
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * t / self.T_max)) / 2


class SequentialLR(Schedule):
    """One schedule after another: each begins anew at its milestone, as in a warm-up followed by a decay."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(f"SequentialLR needs a milestone between every two schedules, got {len(milestones)} "
                                f"for {len(schedulers)}")
        self._schedules, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def rate(self, base, t):
        which = bisect_right(self.milestones, t)
        start = self.milestones[which - 1] if which else 0
        return self._schedules[which].rate(base, t - start)


class ChainedScheduler(Schedule):
    """Several schedules at once: the learning rate is multiplied by the factors of all.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> lr = rg.optim.lr_scheduler
    >>> schedule = lr.ChainedScheduler([lr.ConstantLR(optimizer, 0.5, 10), lr.ExponentialLR(optimizer, 0.9)])
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.45]
    """

    def __init__(self, schedulers, optimizer=None):
        self._schedules = list(schedulers)
        if not self._schedules or not all([isinstance(s, Schedule) for s in self._schedules]):
            raise ArgumentError(f"ChainedScheduler needs a list of schedules, got {schedulers!r}")
        optimizer = self._schedules[0].optimizer if optimizer is None else optimizer
        if any([s.optimizer is not optimizer for s in self._schedules]):
            raise ArgumentError("ChainedScheduler needs schedules of one optimizer, got those of several")
        super().__init__(optimizer)

    def rate(self, base, t):
        return base * prod([s.rate(base, t) / base for s in self._schedules]) if base else base


class ReduceLROnPlateau:
    """Times `factor` when the number given to `step` has not improved for more than `patience` steps.

    `threshold` is what counts as an improvement, relative ("rel") or absolute ("abs"); after a reduction `cooldown` steps are
    not counted.
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0.0, eps=1e-8):
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f'mode must be "min" or "max" and threshold_mode "rel" or "abs", got {mode!r} and '
                                f"{threshold_mode!r}")
        _check_optimizer(optimizer)
        if not isinstance(factor, Real) or not factor < 1:  # not NaN either
            raise ArgumentError(f"factor must be a number below 1, got {factor!r}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.best, self.num_bad_epochs, self.cooldown_counter = inf if mode == "min" else -inf, 0, 0

    def step(self, metrics):
        """Take in a loss or a score, and reduce the learning rates if it is time."""
        metric = float(metrics)
        if self._is_better(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def _is_better(self, metric):
        sign = -1 if self.mode == "min" else 1
        is_relative = self.threshold_mode == "rel"
        bar = self.best * (1 + sign * self.threshold) if is_relative else self.best + sign * self.threshold
        return metric * sign > bar * sign

    def _reduce(self):
        for group in self.optimizer.param_groups:
            lower = max(group["lr"] * self.factor, self.min_lr)
            if group["lr"] - lower > self.eps:
                group["lr"] = lower

    def get_last_lr(self):
        """The learning rates now, one for each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    _SAVED = ("best", "num_bad_epochs", "cooldown_counter")

    def state_dict(self):
        """What `load_state_dict` needs to go on from here."""
        return {name: getattr(self, name) for name in self._SAVED}

    def load_state_dict(self, state_dict):
        """Go on from where another schedule was."""
        for name in self._SAVED:
            setattr(self, name, state_dict[name])
