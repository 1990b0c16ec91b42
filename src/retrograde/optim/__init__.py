"""Optimizers, learning-rate schedules and gradient clipping, with PyTorch's names, arguments and state."""

from . import schedule as lr_scheduler
from .adam import Adam, AdamW
from .clip import clip_grad_norm_, clip_grad_value_
from .optimizer import Optimizer
from .schedule import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from .sgd import SGD
