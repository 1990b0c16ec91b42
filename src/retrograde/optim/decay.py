"""Schedules that go one way: by a function, in stages, by a constant factor, along a line, a power or a cosine."""

from bisect import bisect_right
from collections import Counter
from math import cos, pi
from operator import mul

from ..errors import ArgumentError, DTypeError
from .schedule import Schedule, of_each_group, rates_of


class LambdaLR(Schedule):
    """The first learning rate times any function of the number of steps; or one function for each group.

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> schedule = rg.optim.LambdaLR(optimizer, lambda t: 0.5**t)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = of_each_group("lr_lambda", optimizer, lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise DTypeError(f"lr_lambda must be a function of the number of steps, got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return list(map(mul, self._bases(), self._factors()))

    def _factors(self):
        self._check_groups(self.lr_lambdas)
        return [function(self.last_epoch) for function in self.lr_lambdas]


class MultiplicativeLR(LambdaLR):
    """Times what a function of the number of steps gives, at each step; or one function for each group."""

    def get_lr(self):
        rates = rates_of(self.optimizer)
        return rates if self._is_initial else list(map(mul, rates, self._factors()))


class StepLR(Schedule):
    """Times `gamma` every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        if not step_size > 0:
            raise ArgumentError(f"step_size must be at least 1, got {step_size!r}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        is_due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma if is_due else 1)

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self._bases()]


class MultiStepLR(Schedule):
    """Times `gamma` at each of `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma ** self.milestones.get(self.last_epoch, 0))

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self._bases()]


class ExponentialLR(Schedule):
    """Times `gamma` every step.

    Stepped after another schedule, it goes on from what that has left:

    >>> optimizer = rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0)
    >>> schedules = [rg.optim.ExponentialLR(optimizer, 0.5), rg.optim.MultiStepLR(optimizer, [2], 0.1)]
    >>> for _ in range(2):
    ...     for schedule in schedules:
    ...         schedule.step()
    >>> optimizer.param_groups[0]["lr"]
    0.025
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(1 if self._is_initial else self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self._bases()]


class ConstantLR(Schedule):
    """The factor is `factor` for `total_iters` steps, and 1 from there on; of 0 steps it never ends, as in PyTorch."""

    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ArgumentError(f"factor must lie between 0 and 1, got {factor!r}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._scaled(1)
        if self.factor == 0:
            raise ArgumentError("ConstantLR cannot bring back a learning rate that was multiplied by factor=0; use LambdaLR")
        return self._scaled(1 / self.factor)

    def _get_closed_form_lr(self):
        is_over = self.last_epoch >= self.total_iters
        return [base * (self.factor + is_over * (1 - self.factor)) for base in self._bases()]


class LinearLR(Schedule):
    """The factor goes evenly from `start_factor` to `end_factor` in `total_iters` steps: a warm-up."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ArgumentError(f"start_factor must be above 0 and at most 1, got {start_factor!r}")
        if not 0 <= end_factor <= 1:
            raise ArgumentError(f"end_factor must lie between 0 and 1, got {end_factor!r}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        t = self.last_epoch
        if t == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or t > self.total_iters:
            return self._scaled(1)
        height = self.end_factor - self.start_factor
        return self._scaled(1 + height / (self.total_iters * self.start_factor + (t - 1) * height))

    def _get_closed_form_lr(self):
        t, height = self.last_epoch, self.end_factor - self.start_factor
        part = min(self.total_iters, t) / self.total_iters if self.total_iters else 0
        return [base * (self.start_factor + height * part) for base in self._bases()]


class PolynomialLR(Schedule):
    """Down to nothing in `total_iters` steps, along a power of what is left of them."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._scaled(1)
        left, before = (1 - t / self.total_iters for t in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((left / before) ** self.power)

    def _get_closed_form_lr(self):
        part = min(self.total_iters, self.last_epoch) / self.total_iters if self.total_iters else 0
        return [base * (1 - part) ** self.power for base in self._bases()]


class CosineAnnealingLR(Schedule):
    """Down to `eta_min` in `T_max` steps along half a cosine, and up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        if not T_max > 0:
            raise ArgumentError(f"T_max must be above 0, got {T_max!r}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        rates, t, low = rates_of(self.optimizer), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the bottom no factor leads up
            rise = (1 - cos(pi / self.T_max)) / 2
            return [rate + (base - low) * rise for rate, base in zip(rates, self._bases(), strict=True)]
        factor = (1 + cos(pi * t / self.T_max)) / (1 + cos(pi * (t - 1) / self.T_max))
        return [factor * (rate - low) + low for rate in rates]

    def _get_closed_form_lr(self):
        part = (1 + cos(pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self._bases()]
