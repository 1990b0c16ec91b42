"""Minima of functions of several variables."""

from typing import Any

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError
from ...extras import optional
from ...misc.flatten import flatten
from ...ops.axes.reductions import sum
from ...ops.elementary.comparisons import where
from ...ops.manipulation.joins import concatenate
from ...transforms.grad import grad, jacobian, value_and_grad, vjp
from .._given import Attempted, Given, Start, array, check_outside, inputs, number, parted, unlinked
from .._implicit import Solution, solution_of
from ._bounds import Held, limits
from ._constraints import Active, Constraint, listed

_scipy = optional("scipy.optimize", "scipy")

#: SciPy's methods that take a gradient, those that take products with the Hessian, and those that take all of it.
_WITHOUT_GRADIENT = frozenset(["nelder-mead", "powell", "cobyla", "cobyqa"])
_WITH_PRODUCTS = frozenset(["newton-cg", "trust-ncg", "trust-krylov", "trust-constr"])
_WITH_HESSIAN = frozenset(["dogleg", "trust-exact"])


def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None, callback=None,
             options=None, *, compiled=True):
    """The x where the number `fun(x, *args)` is least; as `scipy.optimize.minimize`.

    Methods get the gradient that they take, and Hessians or products with them, unless `jac`, `hess` or `hessp` is given;
    constraints get their Jacobians. `x0` may also be a tree of arrays, or an array of any shape, which `fun` is then called with;
    a callback is shown vectors. With `compiled=False` nothing is compiled, such as for a function that prints.

    `x` and `fun` of the result have derivatives in the tensors among `args`, and among the args of constraints: variables that are
    held by bounds stay there, constraints that are active are kept. Where there is no derivative, because the method has not
    converged, or a bound holds by accident, asking for it is an error.

    >>> rosen = lambda x, a: (a - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> rg.jacobian(lambda a: rg.scipy.optimize.minimize(rosen, [0.0, 0.0], (a,)).x)(1.5)
    array([1., 3.])
    """
    args = args if isinstance(args, tuple) else (args,)
    given, start = Given("minimize", args), Start(x0)
    fun, jac = parted(fun, jac)
    objective = lambda x, *args: number(fun(start.built(x), *args))
    check_outside("minimize", fun(start.built(start.vector), *given.plain))
    if any([isinstance(leaf, Value) for leaf in _bound_leaves(bounds)]):
        raise ArgumentError("bounds of minimize are numbers; a solution has no derivative in them")
    own = [Constraint(constraint, start, compiled) for constraint in listed(constraints)]
    call, derivatives = _derivatives(objective, fun, given, start, method, jac, hess, hessp, compiled)
    found = _scipy.minimize(call, start.vector, method=method, bounds=bounds, tol=tol, callback=callback, options=options,
                            constraints=[constraint.handed_over(method) for constraint in own], **derivatives)
    if not (given.has_tensors or any([c.given.has_tensors for c in own])):
        found.x = start.built(found.x)
        return found
    return _linked(found, objective, given, start, bounds, own)


def _bound_leaves(bounds):
    if bounds is None:
        return []
    return [bounds.lb, bounds.ub] if hasattr(bounds, "lb") else [limit for pair in bounds for limit in pair]


def _derivatives(objective, fun, given, start, method, jac, hess, hessp, compiled):
    """What SciPy calls, and the derivatives that it gets, by their names."""
    name, plain = method.lower() if isinstance(method, str) else method, inputs(given.plain)
    call: Any = lambda x: float(array(number(fun(start.built(x), *given.plain))))
    if name in _WITHOUT_GRADIENT:
        return call, {}
    found: dict[str, Any] = {}
    if jac is None:
        both = Attempted(value_and_grad(objective), compiled)

        def together(x):
            value, slopes = both(x, *plain)
            return float(array(value)), np.asarray(slopes, np.float64)

        call, found["jac"] = together, True
    else:
        found["jac"] = _of_vectors(jac, start, given)
    slopes = grad(objective)
    if hess is not None or hessp is not None:
        found |= {"hess": _of_vectors(hess, start, given), "hessp": _of_vectors(hessp, start, given)}
    elif name in _WITH_PRODUCTS:
        products = Attempted(lambda x, p, *args: vjp(lambda x: slopes(x, *args), x)[1](p)[0], compiled)
        found["hessp"] = lambda x, p: array(products(np.asarray(x, np.float64), np.asarray(p, np.float64), *plain))
    elif name in _WITH_HESSIAN:
        whole = Attempted(jacobian(slopes), compiled)
        found["hess"] = lambda x: array(whole(np.asarray(x, np.float64), *plain))
    return call, found


def _of_vectors(function, start, given):
    """A derivative of the user's as a function of vectors; what is no function is for SciPy."""
    if not callable(function):
        return function

    def of_vectors(x, *direction):
        found = unlinked(function(start.built(x), *map(start.built, direction), *given.plain))
        return found if start.is_vector else flatten(found)[0]

    return of_vectors


def _linked(found, objective, given, start, bounds, own):
    """The result with `x` and `fun` as functions of the tensors among the arguments."""
    x, every = np.asarray(found.x, np.float64), [given, *[constraint.given for constraint in own]]
    size, values = x.size, tuple([value for part in every for value in part.values])
    slopes, (lower, upper) = grad(objective), limits(bounds, size)
    at_x = array(slopes(x, *given.plain))
    is_bounded = own or (np.isfinite(lower) | np.isfinite(upper)).any()
    bends = array(jacobian(slopes)(x, *given.plain)) if is_bounded else np.eye(size)
    held = Held(x, lower, upper, at_x, np.diagonal(bends))
    active = Active(own, x, at_x, bends, held.free)
    fault = None if found.success else f"it has not converged ({found.message})"

    def residual(z, values):
        x, multipliers = z[:size], z[size:]
        ours, *arguments = _dealt(every, values)
        theirs = {id(constraint): found for constraint, found in zip(own, arguments, strict=True)}

        def lagrangian(x):
            kept = active.residual(x, theirs)
            value = objective(x, *ours)
            return value - sum(concatenate(kept) * multipliers) if kept else value

        equations = where(held.free, grad(lagrangian)(x), x - held.at)
        return concatenate([equations, *active.residual(x, theirs)])

    solution = Solution("minimize", np.concatenate([x, active.multipliers]), residual, fault or held.fault or active.fault)
    x = solution_of(solution, values)[:size]
    found.x, found.fun = start.built(x), objective(x, *given.rebuilt(given.values))
    return found


def _dealt(every, values):
    """The arguments of each function, from the values of all of them."""
    found, start = [], 0
    for part in every:
        end = start + len(part.values)
        found.append(part.rebuilt(values[start:end]))
        start = end
    return found
