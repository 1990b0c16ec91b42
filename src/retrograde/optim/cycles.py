"""Schedules that go up and down: one cycle, cosines that begin anew, and triangles."""

from math import cos, pi

from ..errors import ArgumentError
from .schedule import Schedule


class CosineAnnealingWarmRestarts(Schedule):
    """Down to `eta_min` along half a cosine in `T_0` steps, then anew from the top, each time `T_mult` times as long."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0 or not isinstance(T_mult, int) or T_mult < 1:
            raise ArgumentError(f"T_0 and T_mult must be integers of at least 1, got {T_0!r} and {T_mult!r}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base, t):
        length = self.T_0
        if self.T_mult == 1:
            t %= length
        while t >= length:
            t, length = t - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + cos(pi * t / length)) / 2


class _WithMomentum(Schedule):
    """A schedule that moves the momentum as well (for optimizers of Adam's kind the first beta), against the learning rate.

    Compiled steps are compiled anew when the momentum changes: there, leave it as it is with `cycle_momentum=False`.
    """

    def __init__(self, optimizer, cycle_momentum, last_epoch):
        if cycle_momentum and not all("momentum" in g or "betas" in g for g in optimizer.param_groups):
            raise ArgumentError("cycle_momentum needs an optimizer with momentum or betas; pass cycle_momentum=False")
        self.cycle_momentum = cycle_momentum
        super().__init__(optimizer, last_epoch)

    def momentum(self, t):
        """The momentum after `t` steps."""
        raise NotImplementedError(f"{type(self).__name__} needs a method momentum")

    def _set(self):
        super()._set()
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            if "betas" in group:
                group["betas"] = (self.momentum(self.last_epoch), *group["betas"][1:])
            else:
                group["momentum"] = self.momentum(self.last_epoch)


def _start_at(optimizer, rates):
    """Let the groups of `optimizer` start with `rates`: one, or one for each."""
    groups = optimizer.param_groups
    rates = list(rates) if isinstance(rates, (list, tuple)) else [rates] * len(groups)
    if len(rates) != len(groups):
        raise ArgumentError(f"there must be one learning rate for each of {len(groups)} groups, got {len(rates)}")
    for group, rate in zip(groups, rates, strict=True):
        group["initial_lr"] = rate


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` and down to nearly nothing in `total_steps`, the momentum the other way round (Smith and Topin, 2018).

    It starts at `max_lr / div_factor`, is at the top after the part `pct_start` of all steps, and ends at the start divided by
    `final_div_factor`; `three_phase` comes down to the start in as many steps as it went up. `anneal_strategy` is "cos" or
    "linear".

    In a training step under `rg.jit` pass `cycle_momentum=False`: another momentum is another program, compiled at each step.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'anneal_strategy must be "cos" or "linear", got {anneal_strategy!r}')
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        self.total_steps = total_steps
        self.anneal_strategy, self.div_factor, self.final_div_factor = anneal_strategy, div_factor, final_div_factor
        self.base_momentum, self.max_momentum = base_momentum, max_momentum
        last, up = self.total_steps - 1, pct_start * self.total_steps
        #: Where each phase ends, and whether that is at the top, where it started, or at the end.
        self._phases = [(up - 1, "top"), (2 * up - 2, "start"), (last, "end")] if three_phase else [(up - 1, "top"), (last, "end")]
        rates = max_lr if isinstance(max_lr, (list, tuple)) else [max_lr] * len(optimizer.param_groups)
        _start_at(optimizer, [rate / div_factor for rate in rates])
        super().__init__(optimizer, cycle_momentum, last_epoch)

    def rate(self, base, t):
        return self._at(t, {"start": base, "top": base * self.div_factor, "end": base / self.final_div_factor})

    def momentum(self, t):
        return self._at(t, {"start": self.max_momentum, "top": self.base_momentum, "end": self.max_momentum})

    def _at(self, t, values):
        """What has come after `t` steps of something that has `values` where phases end."""
        if t > self.total_steps:
            raise ArgumentError(f"OneCycleLR has {self.total_steps} steps, and this is step {t}; make total_steps larger")
        begin, first = 0, values["start"]
        for end, name in self._phases:
            if t <= end or name == "end":
                part = (t - begin) / (end - begin)
                done = (1 - cos(pi * part)) / 2 if self.anneal_strategy == "cos" else part
                return first + (values[name] - first) * done
            begin, first = end, values[name]
        return first


class CyclicLR(_WithMomentum):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps, down in `step_size_down`, and so on (Smith, 2017).

    The height is the same in each cycle ("triangular"), half that of the one before ("triangular2"), or shrinks by `gamma` in each
    step ("exp_range"); or `scale_fn` gives its part, of the number of the cycle, from 1 on, or of that of steps, as `scale_mode`
    says ("cycle" or "iterations").
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        scales = {"triangular": (lambda _: 1.0, "cycle"), "triangular2": (lambda cycle: 0.5 ** (cycle - 1), "cycle"),
                  "exp_range": (lambda t: gamma**t, "iterations")}
        if scale_fn is None and mode not in scales:
            raise ArgumentError(f"mode must be one of {', '.join(scales)}, got {mode!r}")
        self._scale, self._scale_mode = scales[mode] if scale_fn is None else (scale_fn, scale_mode)
        self.max_lr, self.base_momentum, self.max_momentum = max_lr, base_momentum, max_momentum
        self._up, self._length = step_size_up, step_size_up + (step_size_up if step_size_down is None else step_size_down)
        _start_at(optimizer, base_lr)
        super().__init__(optimizer, cycle_momentum, last_epoch)

    def rate(self, base, t):
        return base + (self.max_lr - base) * self._height(t)

    def momentum(self, t):
        return self.max_momentum - (self.max_momentum - self.base_momentum) * self._height(t)

    def _height(self, t):
        """How far up it is after `t` steps: 1 at the top of the first cycle."""
        cycle, done = divmod(t, self._length)
        height = done / self._up if done <= self._up else (self._length - done) / (self._length - self._up)
        return height * self._scale(cycle + 1 if self._scale_mode == "cycle" else t)
