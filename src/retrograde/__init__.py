"""retrograde: automatic differentiation for numbers and text."""

from . import dtypes, errors, ops, shapes, tree
from .core.function import Function
from .core.mode import detect_anomaly, enable_grad, inference_mode, no_grad, set_grad_enabled
from .dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .ops.activation import log_softmax, relu, sigmoid, softmax
from .ops.trigonometric import cos, sin, tan, tanh
from .tensor.creation import arange, asarray, full, ones, tensor, zeros
from .tensor.tensor import Tensor
from .transforms.checkpoint import checkpoint
from .transforms.grad import grad, hessian, jacobian, stop_gradient, value_and_grad, vjp
