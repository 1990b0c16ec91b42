"""Least squares, with robust losses."""

import numpy as np

from ...extras import optional
from ...ops.axes.reductions import sum
from ...ops.elementary.arithmetic import sqrt
from ...ops.elementary.comparisons import where
from ...ops.elementary.exponential import log1p
from ...ops.elementary.trigonometric import atan
from ...transforms.grad import grad, jacobian
from .._given import Attempted, Given, Start, array, check_outside, inputs, parted, unlinked, vector
from .._implicit import Solution, solution_of
from ._bounds import Held

_scipy = optional("scipy.optimize", "scipy")

#: What SciPy's losses make of squares.
_LOSSES = {
    "linear": lambda z: z, "soft_l1": lambda z: 2 * (sqrt(1 + z) - 1), "cauchy": log1p, "arctan": atan,
    "huber": lambda z: where(z <= 1, z, 2 * sqrt(where(z <= 1, 1.0, z)) - 1),
}


def least_squares(fun, x0, jac=None, bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8, x_scale=None,
                  loss="linear", f_scale=1.0, args=(), kwargs=None, *, compiled=True, **options):
    """The x where the sum of squares of `fun(x, *args, **kwargs)` is least; as `scipy.optimize.least_squares`.

    The Jacobian is ours, unless `jac` is given. `x`, `fun` and `cost` of the result have derivatives in the tensors among `args`
    and `kwargs`; variables that are held by bounds stay there. Other `options` are SciPy's.

    >>> t = np.array([0.0, 1.0, 2.0])
    >>> fitted = lambda y: rg.scipy.optimize.least_squares(lambda x, y: x[0] + x[1] * t - y, [0.0, 0.0], args=(y,)).x
    >>> rg.jacobian(fitted)(np.array([1.0, 2.0, 4.0])).round(4)
    array([[ 0.8333,  0.3333, -0.1667],
           [-0.5   ,  0.    ,  0.5   ]])
    """
    given, start = Given("least_squares", (tuple(args), dict(kwargs or {}))), Start(x0)
    fun, jac = parted(fun, jac)
    function = lambda x, args, kwargs: vector(fun(start.built(x), *args, **kwargs))
    plain, quick = given.plain, Attempted(jacobian(function), compiled)
    check_outside("least_squares", fun(start.built(start.vector), *plain[0], **plain[1]))
    given_jac = jac
    if jac is None:
        jac = lambda x: array(quick(np.asarray(x, np.float64), *inputs(plain)))
    elif callable(given_jac):
        jac = lambda x: unlinked(given_jac(start.built(x), *plain[0], **plain[1]))
    if x_scale is not None:
        options["x_scale"] = x_scale
    options |= {"ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale}
    found = _scipy.least_squares(lambda x: array(function(x, *plain)), start.vector, jac, bounds, method, **options)
    if given.has_tensors:
        return _linked(found, function, given, start, bounds, loss, f_scale)
    found.x = start.built(found.x)
    return found


def _linked(found, function, given, start, bounds, loss, f_scale):
    """The result with `x`, `fun` and `cost` as functions of the tensors among the arguments."""
    x = np.asarray(found.x, np.float64)

    def cost(x, values):
        squares = (function(x, *given.rebuilt(values)) / f_scale) ** 2
        return 0.5 * f_scale**2 * sum(_LOSSES[loss](squares))

    fault = None if found.success else f"it has not converged ({found.message})"
    if loss not in _LOSSES:
        fault = "its loss is a function of the user's, of which SciPy knows numbers only; write it into fun"
        solution = Solution("least_squares", x, None, fault)
    else:
        lower, upper = (np.broadcast_to(np.asarray(limit, np.float64), x.shape) for limit in _pair(bounds))
        plain = tuple([array(value) for value in given.values])
        slopes = lambda x: grad(cost)(x, plain)
        held = Held(x, lower, upper, array(slopes(x)), np.diagonal(array(jacobian(slopes)(x))))
        residual = lambda x, values: where(held.free, grad(cost)(x, values), x - held.at)
        solution = Solution("least_squares", x, residual, fault or held.fault)
    x = solution_of(solution, given.values)
    found.x, found.fun = start.built(x), function(x, *given.rebuilt(given.values))
    if loss in _LOSSES:
        found.cost = cost(x, given.values)
    return found


def _pair(bounds):
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
