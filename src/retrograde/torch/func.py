"""`torch.func`: transforms of functions, with PyTorch's arguments."""

from functools import partial

from .. import tree
from ..errors import ArgumentError
from ..nn import functional_call
from ..ops.manipulation.joins import stack
from ..transforms import forward
from ..transforms import grad as grads
from ..transforms import vmap as maps

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "stack_module_state", "vjp", "vmap"]

functionalize = partial(lambda func, **_: func)
jvp, vjp, linearize = forward.jvp, grads.vjp, forward.linearize


def grad(func, argnums=0, has_aux=False):
    """The function that computes the gradient of `func`, which returns one number."""
    return grads.grad(func, argnums, has_aux=has_aux)


def grad_and_value(func, argnums=0, has_aux=False):
    """The function that computes the gradient of `func`, and its value."""
    both = grads.value_and_grad(func, argnums, has_aux=has_aux)

    def swapped(*args, **kwargs):
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return swapped


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The function that computes the Jacobian of `func`, by rows."""
    _check_aux(has_aux)
    return grads.jacobian(func, argnums)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The function that computes the Jacobian of `func`, by columns."""
    _check_aux(has_aux)
    return forward.jacfwd(func, argnums)


def _check_aux(has_aux):
    if has_aux:
        raise ArgumentError("has_aux=True is not supported for Jacobians; call the function once more for what it returns beside")


def hessian(func, argnums=0):
    """The function that computes the second derivatives of `func`."""
    return grads.hessian(func, argnums)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that calls `func` for each example along an axis of its arguments, all at once."""
    return maps.vmap(func, in_dims, out_dims)


def stack_module_state(models):
    """Parameters and buffers of equal models, stacked: two dictionaries."""
    def stacked(named):
        rows = [dict(named(model)) for model in models]
        return {name: tree.map(lambda *parts: stack(list(parts)), *[row[name] for row in rows]).detach() for name in rows[0]}

    parameters = {name: x.requires_grad_() for name, x in stacked(lambda m: m.named_parameters()).items()}
    return parameters, stacked(lambda m: m.named_buffers())
