"""Products with derivatives, and gradients of other forms than `grad` gives, by the names that autograd's users know."""

import inspect
from functools import wraps

import numpy as np

from .. import tree
from ..core.value import Value
from ..errors import DTypeError
from ..ops.axes.reductions import sum
from ..ops.complexes import real
from ..ops.linalg.tensors import tensordot
from ..wrap_util import unary_to_nary
from . import unary
from .grad import grad, jacobian


@unary_to_nary
def make_vjp(function, x):
    """The function that returns (pullback, value): `pullback(g)` is the gradient in argument `argnum` of `g` times the value.

    >>> pullback, value = rg.make_vjp(lambda x, y: x * y)(3.0, 4.0)
    >>> pullback(1.0)
    array(4.)
    """
    return unary.make_vjp(function, x)


@unary_to_nary
def make_jvp(function, x):
    """The function that returns `pushforward`: `pushforward(v)` is (value, change of the value as the argument moves by `v`).

    >>> rg.make_jvp(lambda x: x**3)(2.0)(1.0)
    (array(8.), array(12.))
    """
    return unary.make_jvp(function, x)


make_jvp_reversemode = make_jvp


def make_hvp(function, argnum=0):
    """The function that returns (product, gradient): `product(v)` is the matrix of second derivatives times `v`."""
    return make_vjp(grad(function, argnum), argnum)


def make_ggnvp(function, outer=lambda x: sum(x * x) * 0.5, f_argnum=0):
    """The function that returns `product(v)`, with the generalized Gauss-Newton matrix of `outer` after `function`."""

    @wraps(function)
    def of_arguments(*args, **kwargs):
        pullback, value = make_vjp(function, f_argnum)(*args, **kwargs)
        pushforward = make_jvp(function, f_argnum)(*args, **kwargs)
        curvature, _ = make_hvp(outer)(value)
        return lambda v: pullback(curvature(pushforward(v)[1]))

    return of_arguments


@unary_to_nary
def elementwise_grad(function, x):
    """The function that computes the sum of the rows of the Jacobian: of a function that works element by element, its slope.

    >>> rg.elementwise_grad(lambda x: x**2)(np.array([1.0, 3.0]))
    array([2., 6.])
    """
    pullback, value = unary.make_vjp(function, x)
    if np.dtype(value.dtype).kind == "c":
        raise DTypeError(f"elementwise_grad needs a function with real results, got {value.dtype}")
    return pullback(np.ones(value.shape, value.dtype))


@unary_to_nary
def deriv(function, x):
    """The function that computes the derivative in one number, of a result of any shape."""
    return unary.make_jvp(function, x)(np.ones_like(x, dtype=float))[1]


@unary_to_nary
def holomorphic_grad(function, x):
    """The derivative $f'(z)$ of a holomorphic `function`, of complex arguments.

    It is the conjugate of the gradient of the real part, which points in the direction of ascent.

    >>> rg.holomorphic_grad(lambda z: z**2)(1 + 2j)
    array(2.+4.j)
    """
    return tree.map(lambda g: _array(np.conj(g)), grad(lambda x: real(function(x)))(x))


def grad_named(function, argname):
    """The gradient in the argument of that name, passed by position."""
    return grad(function, list(inspect.signature(function).parameters).index(argname))


def grad_and_aux(function, argnum=0):
    """The function that returns (gradient, anything) of a function that returns (number, anything)."""
    return grad(function, argnum, has_aux=True)


def multigrad_dict(function):
    """The function that computes the gradients in all its arguments, as a dictionary by their names.

    >>> rg.multigrad_dict(lambda x, y=2.0: x * y)(3.0)
    {'x': array(2.), 'y': array(3.)}
    """
    signature = inspect.signature(function)

    def by_name(named):
        bound = inspect.BoundArguments(signature, named)
        return function(*bound.args, **bound.kwargs)

    def gradients_of(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return grad(by_name)(dict(bound.arguments))

    return gradients_of


def hessian_tensor_product(function, argnum=0):
    """The function of (*args, v) that computes the second derivatives of `function` times `v`, without the matrix."""
    slope = grad(function, argnum)

    def along(*args, **kwargs):
        *args, v = args
        return tensordot(slope(*args, **kwargs), _array(v), np.ndim(v))

    return grad(along, argnum)


def tensor_jacobian_product(function, argnum=0):
    """The function of (*args, v) that computes `v` times the Jacobian of `function`."""

    def along(*args, **kwargs):
        *args, v = args
        return tensordot(_array(v), _array(function(*args, **kwargs)), np.ndim(v))

    return jacobian(along, argnum)


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def _array(x):
    return x if isinstance(x, Value) else np.asarray(x)
