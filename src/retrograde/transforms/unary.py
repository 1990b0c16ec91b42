"""Unary: derivatives of functions of one argument, by the names of autograd.core, on which those in any argument are built."""

from .. import tree
from .grad import vjp
from .plain import pushed


def make_vjp(function, x):
    """(pullback, value) of a `function` of one argument: `pullback(g)` is the gradient at `x` of `g` times the value.

    >>> pullback, value = rg.core.make_vjp(lambda x: x**2, 3.0)
    >>> pullback(1.0)
    array(6.)
    """
    value, pullback = vjp(function, x)
    return (lambda g: pullback(g)[0]), value


def make_jvp(function, x):
    """`pushforward` of a `function` of one argument: `pushforward(v)` is (value, its change as `x` moves by `v`).

    Two reverse passes: what the reverse pass gives is linear in its cotangent, and is differentiated in that.

    >>> rg.core.make_jvp(lambda x: x**3, 2.0)(1.0)
    (array(8.), array(12.))
    """
    value, pullback = vjp(function, x)
    _, transposed = vjp(lambda g: pullback(g)[0], tree.map(lambda x: x * 0, value))

    def pushforward(v):
        given = tree.leaves(x), tree.leaves(v)
        return value, tree.map(lambda c: pushed(c, *given, pullback.handed_out), transposed(v)[0])

    return pushforward
