"""What distributions share: parameters of one shape, and probabilities and logits of one another."""

from numbers import Number
from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError
from ...tensor import random as draws
from ...tensor.namespace import finfo
from ..creation import tensor
from ..kinds import default_dtype, operand, tensor_of
from ..nn import functional


def broadcast_all(*values):
    """Tensors and numbers as tensors of one shape; numbers have the dtype of the first tensor."""
    if not all(isinstance(v, (Value, Number, np.generic)) for v in values):
        raise ArgumentError(f"parameters must be tensors or numbers, got {[type(v).__name__ for v in values]}")
    dtype = next((v.dtype for v in values if isinstance(v, Value)), default_dtype())
    found = [operand(v) if isinstance(v, Value) else tensor(v, dtype=dtype) for v in values]
    shape = np.broadcast_shapes(*[tuple(x.shape) for x in found])
    return [x if tuple(x.shape) == shape else x.expand(shape) for x in found]


def evenly(shape, dtype) -> Any:
    """Numbers spread evenly over [0, 1)."""
    return tensor_of(draws.rand(shape, dtype=dtype))


def normally(shape, dtype) -> Any:
    """Normally distributed numbers of mean 0 and variance 1."""
    return tensor_of(draws.randn(shape, dtype=dtype))


def sum_rightmost(value, count):
    """The sum over the last `count` axes."""
    return value.sum(tuple(range(-count, 0))) if count else value


def softplus(x):
    r"""$\ln(1 + e^x)$, exact also where `x` is great."""
    return -functional.logsigmoid(-x)


def clamp_probs(probs):
    """Probabilities that are neither 0 nor 1, by the least number that changes 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """Probabilities: of log-odds, or along the last axis of logarithms of any scale."""
    return logits.sigmoid() if is_binary else functional.softmax(logits, dim=-1)


def probs_to_logits(probs, is_binary=False):
    """The logarithms of probabilities, or log-odds; of 0 and 1 the nearest finite ones."""
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


def one_of(what, first, second):
    """Whether the first of two arguments is given; raises unless one is."""
    if (first is None) == (second is None):
        raise ArgumentError(f"{what} must be given, and not both")
    return first is not None


def is_true(condition: Any):
    """Whether a condition holds everywhere, or cannot be known since it is being traced."""
    # NumPy's own `all` takes a tenth of the time of the op.
    return condition.is_traced or bool(np.asarray(condition.raw).all())
