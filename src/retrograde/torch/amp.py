"""`torch.amp`: autocast by PyTorch's lists of ops on the CPU, and GradScaler.

>>> import retrograde.torch as torch
>>> with torch.autocast("cpu"):
...     y = torch.ones(2, 3) @ torch.ones(3, 2)
...     loss = torch.nn.functional.mse_loss(y, y)
>>> y.dtype, loss.dtype
(dtype(bfloat16), dtype('float32'))
"""

from functools import wraps
from typing import Any

import numpy as np

from ..core.mode import current
from ..core.value import Value
from ..dtypes import bfloat16
from ..errors import ArgumentError
from ..transforms import autocast as lists
from . import creation, kinds
from .absent import absent_from
from .devices import KINDS

_DTYPE = {"cpu": bfloat16}


def lowered(function):
    """`function`, whose tensors are brought to the dtype of products: one that is an op only inside."""

    @wraps(function)
    def called(*args, **kwargs):
        mode = current()
        if mode is None or mode.settles is None:
            return function(*args, **kwargs)
        wanted = mode.settles.dtype
        return function(*[lists.cast(x, wanted) for x in args], **{name: lists.cast(x, wanted) for name, x in kwargs.items()})

    return called


class autocast(lists.autocast):  # noqa: N801 - PyTorch's name
    """Within it, products are computed in `dtype`, and losses and others that need it in float32. Also a decorator.

    Functions that were compiled run as they are within it; enter it in the function to compile what it does.
    """

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        if str(device_type).partition(":")[0] not in KINDS:
            raise ArgumentError(f'device_type must be the kind of a device, such as "cpu", got {device_type!r}')
        super().__init__(_DTYPE["cpu"] if dtype is None else dtype, enabled)
        self.device = str(device_type)

    def _recreate_cm(self):
        return autocast(self.device, self.fast_dtype, self.enabled)

    def _fields(self):
        # One for a device that is not there changes nothing on this one.
        return super()._fields() if self.device == "cpu" else {}


def is_autocast_enabled(device_type="cpu"):
    """Whether autocast is on for a device."""
    mode = current()
    return device_type == "cpu" and mode is not None and mode.settles is not None


def get_autocast_dtype(device_type="cpu"):
    """The dtype in which autocast computes products."""
    mode = current()
    return mode.settles.dtype if mode is not None and mode.settles is not None else _DTYPE["cpu"]


def is_autocast_available(device_type):
    """Whether there is autocast for a device."""
    return device_type == "cpu"


class GradScaler:
    """Scales a loss, so that gradients in float16 do not vanish, and steps with gradients scaled back, if they are finite."""

    def __init__(self, device="cuda", init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        # PyTorch turns it off, with a warning, for a device that is not there.
        self._enabled = enabled and str(device).partition(":")[0] == "cpu"
        if growth_factor <= 1 or not 0 < backoff_factor < 1:
            raise ArgumentError(f"growth_factor must be above 1 and backoff_factor between 0 and 1, got "
                                f"{growth_factor} and {backoff_factor}")
        self._scale, self._growth, self._backoff = float(init_scale), growth_factor, backoff_factor
        self._interval, self._good_steps = growth_interval, 0
        self._found: dict[int, Any] = {}

    def is_enabled(self):
        """Whether it scales."""
        return self._enabled

    def get_scale(self):
        """What losses are multiplied by."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs):
        """A loss, or a list of some, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Value):
            return kinds.operand(outputs) * creation.tensor(self._scale)
        return type(outputs)(map(self.scale, outputs))

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale, in place; once before each step."""
        if not self._enabled:
            return
        if self._found.get(id(optimizer)) is not None:
            raise ArgumentError("unscale_() was called for this optimizer since the last update(); call update() after each step")
        is_finite = True
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    is_finite &= bool(np.isfinite(np.asarray(parameter.grad.raw, np.float64)).all())
                    parameter.grad *= 1 / self._scale
        self._found[id(optimizer)] = is_finite

    def step(self, optimizer, *args, **kwargs):
        """The step of an optimizer, unless a gradient is infinite or unknown."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return optimizer.step(*args, **kwargs) if self._found[id(optimizer)] else None

    def update(self, new_scale=None):
        """Lower the scale after steps that were left out; raise it after many that were not."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise ArgumentError("update() needs a step() or unscale_() before it")
        elif not all(self._found.values()):
            self._scale, self._good_steps = self._scale * self._backoff, 0
        else:
            self._good_steps += 1
            if self._good_steps == self._interval:
                self._scale, self._good_steps = self._scale * self._growth, 0
        self._found = {}

    def state_dict(self):
        """What `load_state_dict` takes."""
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff,
                "growth_interval": self._interval, "_growth_tracker": self._good_steps}

    def load_state_dict(self, state_dict):
        """Go on from where another one was."""
        if self._enabled:
            self._scale, self._growth, self._backoff = (state_dict[n] for n in ("scale", "growth_factor", "backoff_factor"))
            self._interval, self._good_steps = state_dict["growth_interval"], state_dict["_growth_tracker"]


__all__ = ["GradScaler", "autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]
__getattr__ = absent_from("torch.amp", lambda: __all__)
