"""`torch.amp`: autocast by PyTorch's lists of ops on the CPU, and GradScaler.

>>> import retrograde.torch as torch
>>> with torch.autocast("cpu"):
...     y = torch.ones(2, 3) @ torch.ones(3, 2)
...     loss = torch.nn.functional.mse_loss(y, y)
>>> y.dtype, loss.dtype
(dtype(bfloat16), dtype('float32'))
"""

from contextlib import ContextDecorator
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from ..core.mode import changed, current
from ..core.value import Value
from ..dtypes import as_dtype, bfloat16, float16, float32
from ..errors import ArgumentError, DTypeError
from ..ops.conversions import astype
from . import creation, kinds
from .absent import absent_from
from .devices import KINDS

#: Ops that autocast computes in low precision: products.
LOW = frozenset(["contract", "conv2d", "conv2d_input", "conv3d", "linear", "matmul"])
#: Ops that it computes in float32. Others follow their operands, softmax and norms among them, as on PyTorch's CPU.
WHOLE = frozenset([
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky", "cross_entropy", "eigh_pair", "eigvals",
    "eigvalsh", "eig_pair", "huber_loss", "inv", "l1_loss", "lu_solve", "mse_loss", "nanquantile", "nll_loss", "pinv", "prod",
    "qr_pair", "quantile", "solve", "solve_triangular", "svd_triple", "svdvals",
])
#: Functions that are made of ops here and are one in PyTorch: those that autocast computes in low precision,
LOW_FUNCTIONS = frozenset(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu", "scaled_dot_product_attention"])
#: those in float32,
WHOLE_FUNCTIONS = frozenset([
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool3d", "cosine_embedding_loss",
    "ctc_loss", "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "grid_sample", "hinge_embedding_loss", "kl_div", "lstsq", "lu_solve_with",
    "margin_ranking_loss", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "multi_margin_loss", "multilabel_margin_loss", "pad_reflect", "pad_replicate", "poisson_nll_loss", "soft_margin_loss", "trace",
    "triplet_margin_loss",
])
#: and those that follow their operands, though a product or a loss is inside.
FOLLOWING = frozenset(["addmv", "mv"])
_DTYPE = {"cpu": bfloat16}


class _Settling:
    """Brings operands to the dtype that autocast computes an op in, where that is not theirs; `dtype` is that of products."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, op, args):
        wanted = self.dtype if op.name in LOW else float32 if op.name in WHOLE else None
        if wanted is None or op.name == "contract" and _sums_nothing(args[1]):
            return args
        if op.is_variadic:
            return (tuple([_cast(x, wanted) for x in args[0]]), *args[1:])
        return tuple([_cast(x, wanted) if i in op.operands else x for i, x in enumerate(args)])

    def whole(self, name, args, kwargs):
        """The arguments of the function of a name, which is computed as one; None for one that is the ops that it is made of."""
        if name in FOLLOWING:
            return args, kwargs
        wanted = self.dtype if name in LOW_FUNCTIONS else float32 if name in WHOLE_FUNCTIONS else None
        if wanted is None:
            return None
        return [_cast(x, wanted) for x in args], {key: _cast(x, wanted) for key, x in kwargs.items()}


_settling = lru_cache(_Settling)


def _sums_nothing(subscripts):
    """Whether a contraction is a product of elements alone."""
    inputs, _, output = subscripts.partition("->")
    return "->" in subscripts and set(inputs) - set(", ") <= set(output)


def _cast(x, wanted):
    """An operand as numbers of another dtype, if they are floats, of no more than four bytes."""
    return astype(x, wanted) if isinstance(x, Value) and x.dtype != wanted and x.dtype in (float32, float16, bfloat16) else x


def lowered(function):
    """`function`, whose tensors are brought to the dtype of products: one that is an op only inside."""

    @wraps(function)
    def called(*args, **kwargs):
        mode = current()
        if mode is None or mode.settles is None:
            return function(*args, **kwargs)
        wanted = mode.settles.dtype
        return function(*[_cast(x, wanted) for x in args], **{name: _cast(x, wanted) for name, x in kwargs.items()})

    return called


class autocast(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Within it, products are computed in `dtype`, and losses and others that need it in float32. Also a decorator.

    Functions that were compiled run as they are within it; enter it in the function to compile what it does.
    """

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        if str(device_type).partition(":")[0] not in KINDS:
            raise ArgumentError(f'device_type must be the kind of a device, such as "cpu", got {device_type!r}')
        self.device = str(device_type)
        self.fast_dtype = _DTYPE["cpu"] if dtype is None else as_dtype(dtype)
        if self.fast_dtype not in (bfloat16, float16):
            raise DTypeError(f"autocast computes in torch.bfloat16 or torch.float16, got {self.fast_dtype}")
        # One for a device that is not there changes nothing on this one.
        self._is_here, self.enabled = self.device == "cpu", enabled
        self._outer: list[Any] = []

    def _recreate_cm(self):
        return autocast(self.device, self.fast_dtype, self.enabled)

    def __enter__(self):
        fields: Any = {}
        if self._is_here:
            fields = {"settles": _settling(self.fast_dtype), "runs_compiled": False} if self.enabled else {"settles": None}
        self._outer.append(changed(**fields))
        self._outer[-1].__enter__()
        return self

    def __exit__(self, *error):
        self._outer.pop().__exit__(*error)


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
