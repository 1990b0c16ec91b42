"""Optimizers, learning-rate schedules and averages of weights, with PyTorch's names, arguments and state."""

from ..nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from . import lr_scheduler, swa_utils
from .adafactor import Adafactor
from .adam import Adam, AdamW, SparseAdam
from .adaptive import Adadelta, Adagrad, Adamax, NAdam, RAdam, RMSprop
from .asgd import ASGD
from .combined import ChainedScheduler, SequentialLR
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .decay import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .rprop import Rprop
from .sgd import SGD
