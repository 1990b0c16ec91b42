"""`torch.autograd`: Function, grad, gradcheck and the functional interface."""

from contextlib import contextmanager, nullcontext
from functools import wraps

import numpy as np

from ...core.function import Function as _Function
from ...core.gradient import backward as _backward
from ...core.gradient import gradient
from ...core.mode import detect_anomaly, enable_grad, inference_mode, no_grad, set_grad_enabled
from ...core.value import Value
from ...errors import GraphError
from ...testing.gradients import check_gradients
from .. import creation
from ..kinds import operand, tensor_of
from . import functional

__all__ = ["Function", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad", "gradcheck", "gradgradcheck",
           "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled"]


class Function(_Function):
    """Base of functions with a derivative of their own, with `forward` and `backward` in PyTorch's manner."""


def once_differentiable(function):
    """`function`, a `backward` that is not to be differentiated again."""

    @wraps(function)
    def once(ctx, *cotangents):
        with no_grad():
            return function(ctx, *cotangents)

    return once


def Variable(data, requires_grad=False, volatile=False):  # noqa: N802 - PyTorch's name
    """The tensor itself: a tensor has its own history."""
    return operand(data).requires_grad_(requires_grad) if requires_grad else operand(data)


def _listed(values):
    return [values] if isinstance(values, Value) else list(values)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of the sum of `outputs` in `inputs`, a tuple; nothing is added to `.grad`."""
    outputs, inputs = _listed(outputs), _listed(inputs)
    seeds = None if grad_outputs is None else _listed(grad_outputs)
    for x in inputs:
        if x.record is None:
            raise GraphError("grad needs inputs with requires_grad=True, got one without; call requires_grad_() before it is used")
    keeps = create_graph if retain_graph is None else retain_graph
    found = gradient(outputs, inputs, seeds, retain_graph=keeps, create_graph=create_graph)
    if None in [None if g is None else 0 for g in found] and not allow_unused and not materialize_grads:
        raise GraphError("an input was not used for the outputs; pass allow_unused=True to get None for it, or "
                         "materialize_grads=True to get zeros")
    return tuple([_given(g, x, materialize_grads) for g, x in zip(found, inputs, strict=True)])


def _given(g, x, materialises):
    if g is None:
        return creation.zeros_like(x) if materialises else None
    return tensor_of(g) if isinstance(g, Value) else creation.from_numpy(np.asarray(g))


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the derivatives of `tensors` to the `.grad` of the leaves that they depend on."""
    _backward(_listed(tensors), None if grad_tensors is None else _listed(grad_tensors), bool(retain_graph), create_graph,
              None if inputs is None else _listed(inputs))


def gradcheck(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_):
    """Whether the gradients of `func` at `inputs`, of float64, are those of finite differences; raises if they are not."""
    return _checked(func, inputs, 1, raise_exception)


def gradgradcheck(func, inputs, *_, raise_exception=True, **__):
    """As `gradcheck`, of the second derivatives."""
    return _checked(func, inputs, 2, raise_exception)


def _checked(func, inputs, order, raises):
    inputs = (inputs,) if isinstance(inputs, Value) else tuple(inputs)
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Value) and x.requires_grad]

    def of_wanted(*given):
        given = iter(given)
        return func(*[tensor_of(next(given)) if i in wanted else x for i, x in enumerate(inputs)])

    try:
        check_gradients(of_wanted, tuple([inputs[i].detach().numpy() for i in wanted]), order=order)
    except Exception:
        if raises:
            raise
        return False
    return True


@contextmanager
def set_detect_anomaly(mode, check_nan=True):
    """`detect_anomaly`, if `mode` says so."""
    with detect_anomaly() if mode else nullcontext():
        yield
