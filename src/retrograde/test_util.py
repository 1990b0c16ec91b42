"""Checks of derivatives by the names of autograd.test_util: along random directions, against central differences.

`rg.testing.check_gradients` says more of what is wrong, and is the sharper of the two.
"""

from itertools import product

import numpy as np

from . import tree
from .core.value import Value
from .errors import ArgumentError, GradientCheckError
from .spaces import vspace
from .transforms.unary import make_jvp, make_vjp
from .wrap_util import unary_to_nary

#: How far two numbers may lie apart: one of both is enough.
_ABSOLUTE, _RELATIVE = 1e-6, 1e-6
_STEP = 1e-6


def scalar_close(a, b):
    """Whether two numbers differ by less than 1e-6, or than this part of their sum."""
    return abs(a - b) < _ABSOLUTE or abs(a - b) / abs(a + b) < _RELATIVE


def check_equivalent(x, y):
    """Raise a GradientCheckError unless `x` and `y` have one structure, with equal shapes and dtypes, and are close.

    >>> rg.test_util.check_equivalent(np.ones(3), np.full(3, 1.0 + 1e-9))
    """
    if vspace(x) != vspace(y):
        raise GradientCheckError(f"both must lie in one vector space, got {vspace(x)} and {vspace(y)}")
    for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True):
        a, b = _array(a), _array(b)
        if not np.all((np.abs(a - b) < _ABSOLUTE) | (np.abs(a - b) < _RELATIVE * np.abs(a + b))):
            raise GradientCheckError(f"both must be close, got {x} and {y}")


def check_vjp(function, x):
    """Raise a GradientCheckError unless the reverse derivative of `function` at `x` agrees with differences."""
    pullback, value = make_vjp(function, x)
    space, space_of_value = vspace(x), vspace(value)
    v, g = space.randn(), space_of_value.randn()
    pulled = pullback(g)
    if vspace(pulled) != space:
        raise GradientCheckError(f"(VJP) check of {_name(function)} failed: the gradient must lie in the vector space of the "
                                 f"argument, {space}, got {vspace(pulled)}")
    exact = space.inner_prod(v, pulled)
    numeric = space_of_value.inner_prod(g, _difference(function, x, v))
    if not scalar_close(exact, numeric):
        raise GradientCheckError(f"(VJP) check of {_name(function)} failed at {x}: the derivative is {exact}, and {numeric} by "
                                 "finite differences")


def check_jvp(function, x):
    """Raise a GradientCheckError unless the forward derivative of `function` at `x` agrees with differences."""
    v = vspace(x).randn()
    try:
        check_equivalent(make_jvp(function, x)(v)[1], _difference(function, x, v))
    except GradientCheckError as error:
        raise GradientCheckError(f"(JVP) check of {_name(function)} failed at {x}: {error}") from None


@unary_to_nary
def check_grads(function, x, modes=("fwd", "rev"), order=2):
    """The function of the arguments at which derivatives of `function` up to `order` are compared with finite differences.

    argnum  the arguments that are differentiated in: an integer, by default the first, or a tuple of integers
    modes   "fwd" for `make_jvp`, "rev" for `make_vjp`, or both

    >>> rg.test_util.check_grads(lambda x, y: rg.sin(x) * y, (0, 1))(1.0, 2.0)
    """
    checks = {"fwd": (check_jvp, _forward), "rev": (check_vjp, _reverse)}
    for mode in modes:
        if mode not in checks:
            raise ArgumentError(f'modes must be of "fwd" and "rev", got {mode!r}')
        check, derivative = checks[mode]
        check(function, x)
        if order > 1:
            further, v = derivative(function, x)
            check_grads(further, (0, 1), modes, order - 1)(x, v)


def combo_check(function, *args, **kwargs):
    """`check_grads(function, ...)` at all combinations: each argument is a list of those that are tried.

    >>> rg.test_util.combo_check(rg.sum, (0,))([np.ones(2), np.ones((2, 3))], axis=[None, 0])
    """
    check = check_grads(function, *args, **kwargs)

    def check_combinations(*args, **kwargs):
        named = [[(name, x) for x in given] for name, given in kwargs.items()]
        for chosen in product(*args):
            for chosen_named in product(*named):
                check(*chosen, **dict(chosen_named))

    return check_combinations


def _forward(function, x):
    """The forward derivative as a function of the point and the direction, and a random direction."""

    def pushed(x, v):
        return make_jvp(function, x)(v)[1]

    pushed.__name__ = f"jvp_{_name(function)}"
    return pushed, vspace(x).randn()


def _reverse(function, x):
    """The reverse derivative as a function of the point and the cotangent, and a random cotangent."""

    def pulled(x, g):
        return make_vjp(function, x)[0](g)

    pulled.__name__ = f"vjp_{_name(function)}"
    return pulled, vspace(function(x)).randn()


def _difference(function, x, v):
    """The change of `function` as `x` moves along `v`, by central differences."""
    space = vspace(x)
    ahead, behind = (function(space.add(x, space.scalar_mul(v, step))) for step in (_STEP / 2, -_STEP / 2))
    return tree.map(lambda a, b: (_array(a) - _array(b)) / _STEP, ahead, behind)


def _name(function):
    return getattr(function, "__name__", "the function")


def _array(x):
    return x.raw if isinstance(x, Value) else np.asarray(x)
