"""Layers, losses and models, with PyTorch's names, arguments and state."""

from . import functional, init, utils
from .activation import (
    ELU,
    GELU,
    SELU,
    Hardswish,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from .cells import GRUCell, LSTMCell, RNNCell
from .container import Flatten, Identity, ModuleDict, ModuleList, Sequential
from .convolution import AdaptiveAvgPool2d, AvgPool2d, Conv2d, MaxPool2d
from .dropout import Dropout, Dropout2d
from .linear import Linear
from .loss import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss
from .module import Module
from .parameter import Parameter
from .recurrent import GRU, LSTM, RNN
