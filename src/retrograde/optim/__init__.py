"""Optimizers, learning-rate schedules and gradient clipping, with PyTorch's names, arguments and state."""

from . import lr_scheduler
from .adam import Adam, AdamW
from .adaptive import Adadelta, Adagrad, Adamax, NAdam, RAdam, RMSprop
from .clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .lbfgs import LBFGS
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
