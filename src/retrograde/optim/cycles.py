"""Schedules that go up and down: one cycle, cosines that begin anew, and triangles."""

from math import cos, floor, pi
from numbers import Integral, Real

from ..errors import ArgumentError
from .schedule import Schedule, check_eager, of_each_group, put


class CosineAnnealingWarmRestarts(Schedule):
    """Down to `eta_min` along half a cosine in `T_0` steps, then anew from the top, each time `T_mult` times as long.

    `step(epoch)` goes to any step, which may lie between two: `schedule.step(epoch + i / len(minibatches))`.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0 or not isinstance(T_mult, int) or T_mult < 1:
            raise ArgumentError(f"T_0 and T_mult must be integers of at least 1, got {T_0!r} and {T_mult!r}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        part = (1 + cos(pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self._bases()]

    def step(self, epoch=None):
        """Go on by one, or to step `epoch`, a number of at least 0, and set the learning rates of the optimizer."""
        check_eager(self)
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._go_to(epoch)
        self._set(self.get_lr())

    def _go_to(self, epoch):
        """Find the cycle that `epoch` lies in."""
        if not epoch >= 0:
            raise ArgumentError(f"epoch must be at least 0, got {epoch!r}")
        self.last_epoch, self.T_cur, self.T_i = floor(epoch), epoch, self.T_0
        if self.T_mult == 1:
            self.T_cur %= self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult


class _WithMomentum(Schedule):
    """A schedule that moves the momentum as well (for optimizers of Adam's kind the first beta), against the learning rate.

    Compiled steps are compiled anew when the momentum changes: there, leave it as it is with `cycle_momentum=False`.
    """

    def _cycle(self, optimizer, cycle_momentum, last_epoch, base_momentum, max_momentum):
        """Begin with the highest momentum in each group, which keeps how far it is to go."""
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return
        if not all("momentum" in g or "betas" in g for g in optimizer.param_groups):
            raise ArgumentError("cycle_momentum needs an optimizer with momentum or betas; pass cycle_momentum=False")
        self.use_beta1 = all("betas" in g for g in optimizer.param_groups)
        self.base_momentums = of_each_group("base_momentum", optimizer, base_momentum)
        self.max_momentums = of_each_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, lowest, highest in zip(optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                group["base_momentum"], group["max_momentum"] = lowest, highest

    def _move(self, momenta):
        """Let the groups have these momenta."""
        for group, momentum in zip(self.optimizer.param_groups, momenta, strict=True):
            if self.use_beta1:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum


#: How each phase of one cycle begins and ends: the names of what groups have of learning rates and momenta.
_PHASES = {
    "up": ("initial_lr", "max_lr", "max_momentum", "base_momentum"),
    "back": ("max_lr", "initial_lr", "base_momentum", "max_momentum"),
    "out": ("initial_lr", "min_lr", "max_momentum", "max_momentum"),
    "down": ("max_lr", "min_lr", "base_momentum", "max_momentum"),
}


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` and down to nearly nothing in `total_steps`, the momentum the other way round (Smith and Topin, 2018).

    It starts at `max_lr / div_factor`, is at the top after the part `pct_start` of all steps, and ends at the start divided by
    `final_div_factor`; `three_phase` comes down to the start in as many steps as it went up. `anneal_strategy` is "cos" or
    "linear". `max_lr` and both momenta may be lists, of one number for each group.

    In a training step under `rg.jit` pass `cycle_momentum=False`: another momentum is another program, compiled at each step.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'anneal_strategy must be "cos" or "linear", got {anneal_strategy!r}')
        if not isinstance(pct_start, Real) or not 0 <= pct_start <= 1:
            raise ArgumentError(f"pct_start must be a number between 0 and 1, got {pct_start!r}")
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._anneal_func_type = anneal_strategy
        last, up = self.total_steps - 1, float(pct_start * self.total_steps)
        ends = {"up": up - 1, "back": 2 * up - 2, "out": last} if three_phase else {"up": up - 1, "down": last}
        names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases = [{"end_step": end, **dict(zip(names, _PHASES[phase], strict=True))} for phase, end in ends.items()]
        highest = of_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                first = rate / div_factor
                group.update(initial_lr=first, max_lr=rate, min_lr=first / final_div_factor)
        self._cycle(optimizer, cycle_momentum, last_epoch, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        t = self.last_epoch
        if t > self.total_steps:
            raise ArgumentError(f"OneCycleLR has {self.total_steps} steps, and this is step {t}; make total_steps larger")
        self._check_groups(self.base_lrs)
        phase, part = self._phase(t)
        if self.cycle_momentum:
            self._move(self._between(phase["start_momentum"], phase["end_momentum"], part))
        return self._between(phase["start_lr"], phase["end_lr"], part)

    def _phase(self, t):
        """The phase that step `t` lies in, and the part of it that is over."""
        begin = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if t <= end or phase is self._schedule_phases[-1]:
                break
            begin = end
        if begin == end:
            raise ArgumentError(f"a phase of OneCycleLR has no steps; change pct_start, or total_steps={self.total_steps}")
        return phase, (t - begin) / (end - begin)

    def _between(self, start, end, part):
        """What lies between two entries of each group."""
        groups = self.optimizer.param_groups
        missing = {name for group in groups for name in (start, end) if name not in group}
        if missing:
            raise ArgumentError(f"OneCycleLR needs {', '.join(sorted(missing))} in each group to go on; load the state of the "
                                "optimizer first")
        if self._anneal_func_type == "linear":
            return [(group[end] - group[start]) * part + group[start] for group in groups]
        return [group[end] + (group[start] - group[end]) / 2 * (cos(pi * part) + 1) for group in groups]


def _total_steps(total_steps, epochs, steps_per_epoch):
    """How many steps a cycle has, of what was given."""
    given = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    count = 1
    for name, value in given.items():
        if value is None:
            raise ArgumentError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        if not isinstance(value, Integral) or value <= 0:
            raise ArgumentError(f"{name} must be an integer of at least 1, got {value!r}")
        count *= int(value)
    return count


class CyclicLR(_WithMomentum):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps, down in `step_size_down`, and so on (Smith, 2017).

    The height is the same in each cycle ("triangular"), half that of the one before ("triangular2"), or shrinks by `gamma` in each
    step ("exp_range"); or `scale_fn` gives its part, of the number of the cycle, from 1 on, or of that of steps, as `scale_mode`
    says ("cycle" or "iterations"). Learning rates and momenta may be lists, of one number for each group.
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        modes = ("triangular", "triangular2", "exp_range")
        if scale_fn is None and mode not in modes:
            raise ArgumentError(f"mode must be one of {', '.join(modes)}, got {mode!r}")
        lowest = of_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                put(group, rate)
        self.max_lrs = of_each_group("max_lr", optimizer, max_lr)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        if not (up > 0 and down >= 0):
            raise ArgumentError(f"step_size_up must be above 0 and step_size_down at least 0, got {step_size_up!r} and "
                                f"{step_size_down!r}")
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self._cycle(optimizer, cycle_momentum, last_epoch, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x):
        """The part of the height in cycle, or at step, `x`."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 0.5 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self):
        height = self._height()
        rates = [low + (high - low) * height for low, high in zip(self._bases(), self.max_lrs, strict=True)]
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            self._move([high - (high - low) * height for low, high in pairs])
        return rates

    def _height(self):
        """How far up it is: 1 at the top of the first cycle."""
        cycle = floor(1 + self.last_epoch / self.total_size)
        done = 1.0 + self.last_epoch / self.total_size - cycle
        height = done / self.step_ratio if done <= self.step_ratio else (done - 1) / (self.step_ratio - 1)
        return height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
