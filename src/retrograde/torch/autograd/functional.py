"""`torch.autograd.functional`: Jacobians, Hessians and products with them."""

from ...core.value import Value
from ...transforms import forward
from ...transforms import grad as grads
from .. import creation

__all__ = ["hessian", "jacobian", "jvp", "vjp"]


def _tupled(inputs):
    return (inputs,) if isinstance(inputs, Value) else tuple(inputs)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of all results of `func` in all of `inputs`."""
    given = _tupled(inputs)
    found = grads.jacobian(func, tuple(range(len(given))))(*given)
    return found[0] if isinstance(inputs, Value) else found


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of `func`, which returns one number."""
    given = _tupled(inputs)
    found = grads.hessian(func, tuple(range(len(given))))(*given)
    return found[0][0] if isinstance(inputs, Value) else found


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of `func`, and what its derivative takes `v` back to."""
    given = _tupled(inputs)
    value, pull = grads.vjp(func, *given)
    found = pull(creation.ones_like(value) if v is None else v)
    return value, found[0] if isinstance(inputs, Value) else found


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of `func`, and its change as the inputs move by `v`."""
    given = _tupled(inputs)
    tangents = tuple([creation.ones_like(x) for x in given]) if v is None else _tupled(v)
    return forward.jvp(func, given, tangents)
