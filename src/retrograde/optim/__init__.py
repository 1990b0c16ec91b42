"""Optimizers, learning-rate schedules and averages of weights, with PyTorch's names, arguments and state."""

from ..nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from . import lr_scheduler, swa_utils
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
