"""Optimizers, learning-rate schedules and averages of weights, with PyTorch's names, arguments and state."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import lr_scheduler
from .adafactor import Adafactor
from .adam import Adam, AdamW
from .adaptive import Adadelta, Adagrad, Adamax, NAdam, RAdam, RMSprop
from .asgd import ASGD
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .rprop import Rprop
from .schedule import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from .sgd import SGD

if TYPE_CHECKING:
    from ..nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
    from . import swa_utils

#: What needs `nn`, and where it is: optimizers of text do without.
_LATE = {
    "swa_utils": ".swa_utils",
    **dict.fromkeys(("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"), "..nn.utils.clip_grad"),
}


def __getattr__(name) -> Any:
    if name not in _LATE:
        raise AttributeError(f"retrograde.optim has no attribute {name!r}")
    module = import_module(_LATE[name], __name__)
    return getattr(module, name, module)


def __dir__():
    return sorted({*globals(), *_LATE})
