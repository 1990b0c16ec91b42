"""Schedule, the base of all that change learning rates from step to step. Call `step()` after the optimizer's.

Each goes on from the learning rates that the groups have, as PyTorch's do: so several can be stepped in turn, and what was set by
hand or by another schedule stays.
"""

from copy import deepcopy
from numbers import Integral
from types import FunctionType

from ..core.mode import is_lazy, is_tracing, no_grad
from ..core.value import Value
from ..errors import ArgumentError, CheckpointError, DTypeError, TraceError


class Schedule:
    """Base: `get_lr()` gives the next learning rate of each group, of those that they have now and of `last_epoch`, the step.

    `_get_closed_form_lr()` gives those of step `last_epoch` whatever has happened before, where there is a formula for them.

    >>> class Halved(rg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [group["lr"] * (0.5 if self.last_epoch else 1) for group in self.optimizer.param_groups]
    >>> schedule = Halved(rg.optim.SGD([rg.nn.Parameter(rg.ones(1))], lr=1.0))
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    #: Whether the first step is being made, which a schedule makes itself.
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        if not isinstance(last_epoch, Integral):
            raise ArgumentError(f"last_epoch must be an integer, got {last_epoch!r}")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentError(f"group {number} of the optimizer must have an initial_lr to go on at last_epoch={last_epoch}; "
                                    "load the state of the optimizer first")
        self.base_lrs = rates_of(optimizer, "initial_lr")
        self.initial_step()

    # What a schedule of schedules asks for.
    def initial_step(self):
        """Make the step that a schedule makes when it is made."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self):
        """The learning rates of step `last_epoch`, one for each group, made of those that the groups have."""
        raise NotImplementedError(f"{type(self).__name__} needs a method get_lr")

    def _get_closed_form_lr(self):
        return self.get_lr()

    def step(self, epoch=None):
        """Go on by one, or to step `epoch`, and set the learning rates of the optimizer."""
        check_eager(self)
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self._get_closed_form_lr()
        self._set(rates)

    def _set(self, rates):
        self._check_groups(rates)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, rate)
        self._keep_last()

    def _keep_last(self):
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    # What subclasses make learning rates of.
    def _scaled(self, factor):
        """Those that the groups have, times `factor`."""
        return [rate * factor for rate in rates_of(self.optimizer)]

    def _bases(self):
        """Those that the groups had first."""
        self._check_groups(self.base_lrs)
        return self.base_lrs

    def _check_groups(self, values):
        """Raise an ArgumentError unless there is one of `values` for each group."""
        count = len(self.optimizer.param_groups)
        if len(values) != count:
            raise ArgumentError(f"{type(self).__name__} was made for {len(values)} groups of parameters and the optimizer has "
                                f"{count} now; make the schedule after add_param_group")

    # What a schedule of schedules asks for, too.
    def undo(self):
        """Take back the first step."""
        self.last_epoch -= 1

    def begin(self):
        """Make the first step anew."""
        self.last_epoch = -1
        self.initial_step()

    def restart(self):
        """Begin anew from the first learning rates."""
        self._update_lr(0)

    def get_last_lr(self):
        """The learning rates that the last step of this schedule left, one for each group."""
        return list(self._last_lr)

    def state_dict(self):
        """What `load_state_dict` needs to go on from here: everything but the optimizer, whose state is saved by itself, and
        functions, of which the attributes of objects that can be called are saved.
        """
        return {name: _saved(value) for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Go on from where another schedule was, with its hyperparameters. The learning rates of the optimizer stay."""
        own = self.__dict__
        unknown = [name for name in state_dict if name not in own and not name.startswith("_")]
        if unknown:
            raise CheckpointError(f"the saved schedule has {', '.join(unknown)}, which {type(self).__name__} has not; load it into "
                                  "a schedule of its own class")
        own.update({name: _restored(own.get(name), value) for name, value in state_dict.items()})


def _saved(value):
    """A copy of an attribute of a schedule, as it is saved."""
    if isinstance(value, list):
        return [_saved(item) for item in value]
    if isinstance(value, Schedule):
        return value.state_dict()
    if callable(value):
        return None if isinstance(value, FunctionType) else deepcopy(getattr(value, "__dict__", None))
    return deepcopy(value)


def _restored(own, saved):
    """What an attribute becomes that was `own`: a copy of what was `saved`, or itself, brought up to date."""
    if isinstance(own, list) and isinstance(saved, list) and len(own) == len(saved):
        return [_restored(*pair) for pair in zip(own, saved, strict=True)]
    if isinstance(own, Schedule):
        own.load_state_dict(saved)
        return own
    if callable(own):
        if saved:
            own.__dict__.update(deepcopy(saved))
        return own
    return deepcopy(saved)


def check_optimizer(optimizer):
    """Raise a DTypeError unless `optimizer` has learning rates."""
    if not hasattr(optimizer, "param_groups"):
        raise DTypeError(f"a schedule takes the optimizer whose learning rate it sets, got {type(optimizer).__name__}")


def check_eager(schedule):
    """Raise a TraceError in a jitted function, where a step would be made once, while tracing."""
    if is_tracing() and not is_lazy():
        raise TraceError(f"{type(schedule).__name__}.step() must be called after the jitted step, not in it: there it would run "
                         "while tracing only")


def rates_of(optimizer, name="lr"):
    """The learning rates of the groups, as numbers."""
    return [float(group[name]) if isinstance(group[name], Value) else group[name] for group in optimizer.param_groups]


def copied(rate):
    """A learning rate that stays when one that is a tensor is written to."""
    return rate.detach().clone() if isinstance(rate, Value) else rate


@no_grad()
def put(group, rate):
    """Let the learning rate of a group be `rate`, in place if it is a tensor."""
    if isinstance(group["lr"], Value):
        group["lr"][...] = rate
    else:
        group["lr"] = rate


def of_each_group(name, optimizer, value):
    """A list of one value for each group: a list or tuple, or one value for all."""
    check_optimizer(optimizer)
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ArgumentError(f"{name} needs one value for each of {count} groups, got {len(value)}")
    return list(value)
