"""ReduceLROnPlateau: the learning rate goes down when a loss or a score no longer improves."""

from math import inf
from numbers import Real

from ..errors import ArgumentError
from .schedule import Schedule, check_eager, check_optimizer, of_each_group, put, rates_of


class ReduceLROnPlateau(Schedule):
    """Times `factor` when the number given to `step` has not improved for more than `patience` steps.

    `threshold` is what counts as an improvement, relative ("rel") or absolute ("abs"); after a reduction `cooldown` steps are
    not counted. `min_lr` may be a list, one for each group.
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0.0, eps=1e-8):
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f'mode must be "min" or "max" and threshold_mode "rel" or "abs", got {mode!r} and '
                                f"{threshold_mode!r}")
        check_optimizer(optimizer)
        if not isinstance(factor, Real) or not factor < 1:  # not NaN either
            raise ArgumentError(f"factor must be a number below 1, got {factor!r}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs, self.eps = of_each_group("min_lr", optimizer, min_lr), eps
        #: What holds for groups that are added later, if it is one number for all.
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.mode_worse = inf if mode == "min" else -inf
        self.best, self.num_bad_epochs, self.cooldown_counter = self.mode_worse, 0, 0
        self.last_epoch = 0
        self._keep_last()

    def step(self, metrics, epoch=None):
        """Take in a loss or a score, and reduce the learning rates if it is time."""
        check_eager(self)
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._keep_last()

    def _is_better(self, metric):
        sign = -1 if self.mode == "min" else 1
        is_relative = self.threshold_mode == "rel"
        bar = self.best * (1 + sign * self.threshold) if is_relative else self.best + sign * self.threshold
        return metric * sign > bar * sign

    def _reduce(self):
        groups = self.optimizer.param_groups
        if self.default_min_lr is not None and len(groups) != len(self.min_lrs):
            self.min_lrs = [self.default_min_lr] * len(groups)
        self._check_groups(self.min_lrs)
        for group, rate, least in zip(groups, rates_of(self.optimizer), self.min_lrs, strict=True):
            lower = max(rate * self.factor, least)
            if rate - lower > self.eps:
                put(group, lower)
