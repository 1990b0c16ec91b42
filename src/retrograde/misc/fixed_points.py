"""Fixed points, differentiated at the point itself and not through the way there."""

from operator import add

from .. import tree
from ..extend import defvjp, primitive
from ..transforms.grad import vjp


@primitive
def fixed_point(f, a, x0, distance, tol):
    r"""The $x = f(a)(x)$ that repeated steps from `x0` lead to, until `distance` of two in a row is at most `tol`.

    $\bar a$ is what $a \mapsto f(a)(x)$ makes of the cotangent $w = \bar x + w\,\partial f / \partial x$, a fixed point in turn.

    >>> newton = lambda a: lambda x: 0.5 * (x + a / x)
    >>> rg.grad(lambda a: fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12))(2.0)
    array(0.35355339)
    """
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _rule(answer, f, a, x0, distance, tol):
    _, pull_a = vjp(lambda a: f(a)(answer), a)

    def repeated(parameters):
        a, answer, g = parameters
        _, pull_x = vjp(f(a), answer)
        return lambda w: tree.map(add, pull_x(w)[0], g)

    return lambda g: pull_a(fixed_point(repeated, (a, answer, g), tree.map(lambda x: x * 0, x0), distance, tol))[0]


defvjp(fixed_point, None, _rule, None)
