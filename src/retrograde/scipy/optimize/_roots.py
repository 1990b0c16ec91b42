"""Roots and fixed points."""

import numpy as np

from ...extras import optional
from ...ops.manipulation.movements import reshape
from ...transforms.grad import grad, jacobian
from .._given import Attempted, Given, Start, array, check_outside, inputs, number, parted, vector
from .._implicit import Solution, solution_of

_scipy = optional("scipy.optimize", "scipy")

#: Those of SciPy's methods for systems that take a Jacobian.
_WITH_JACOBIAN = frozenset(["hybr", "lm"])


def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None, *, compiled=True):
    """The x where all of `fun(x, *args)` is 0; as `scipy.optimize.root`.

    Methods that take a Jacobian get it, unless `jac` is given. `x` of the result has derivatives in the tensors among `args`. With
    `compiled=False` nothing is compiled.

    >>> cube = lambda a: rg.scipy.optimize.root(lambda x, a: x**3 - a, [1.0], (a,)).x[0]
    >>> rg.grad(cube)(8.0)
    array(0.08333333)
    """
    args = args if isinstance(args, tuple) else (args,)
    given, start = Given("root", args), Start(x0)
    fun, jac = parted(fun, jac)
    function = lambda x, *args: vector(fun(start.built(x), *args))
    plain, quick = inputs(given.plain), Attempted(jacobian(function), compiled)
    _check("root", fun, start.built(start.vector), given)
    if jac is None and method in _WITH_JACOBIAN:
        jac = lambda x: array(quick(x, *plain))
    elif callable(jac):
        theirs = jac
        jac = lambda x: array(theirs(start.built(x), *given.plain))
    call = lambda x: array(function(x, *given.plain))
    found = _scipy.root(call, start.vector, method=method, jac=jac, tol=tol, callback=callback, options=options)
    found.x = _solved("root", found.x, lambda x, values: function(x, *given.rebuilt(values)), given, start, _fault(found))
    return found


def root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None,
                maxiter=None, options=None, *, compiled=True):
    """The number where `f(x, *args)` is 0; as `scipy.optimize.root_scalar`.

    The methods "newton" and "halley" get the derivatives that they take, and "newton" is chosen where there is `x0` alone. `root`
    of the result has derivatives in the tensors among `args`.

    >>> half = lambda a: rg.scipy.optimize.root_scalar(lambda x, a: rg.cos(x) - a * x, (a,), bracket=(0, 2)).root
    >>> rg.grad(half)(1.0)
    array(-0.44161057)
    """
    args = args if isinstance(args, tuple) else (args,)
    given = Given("root_scalar", args)
    function = lambda x, *args: number(f(x, *args))
    plain = inputs(given.plain)
    _check("root_scalar", f, np.float64(next(x for x in (x0, *(bracket or ()), 0.0) if x is not None)), given)
    if method is None and bracket is None and x1 is None and x0 is not None and fprime is None:
        method = "newton"
    slope, bend = grad(function), grad(grad(function))
    fprime = _handed_over(fprime, slope, method in ("newton", "halley"), plain, given, compiled)
    fprime2 = _handed_over(fprime2, bend, method == "halley", plain, given, compiled)
    found = _scipy.root_scalar(lambda x: float(array(f(x, *given.plain))), method=method, bracket=bracket, fprime=fprime,
                               fprime2=fprime2, x0=x0, x1=x1, xtol=xtol, rtol=rtol, maxiter=maxiter, options=options)
    if given.has_tensors:
        residual = lambda x, values: reshape(function(x[0], *given.rebuilt(values)), (1,))
        fault = None if found.converged else f"it has not converged ({found.flag})"
        found.root = solution_of(Solution("root_scalar", np.array([found.root], np.float64), residual, fault), given.values)[0]
    return found


def _handed_over(theirs, ours, is_wanted, plain, given, compiled):
    """The derivative that SciPy gets: that of the user, or ours where the method takes one."""
    if callable(theirs):
        return lambda x: float(array(theirs(x, *given.plain)))
    if theirs is None and is_wanted:
        quick = Attempted(ours, compiled)
        return lambda x: float(array(quick(np.float64(x), *plain)))
    return theirs


def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    """The x with `func(x, *args)` = x; as `scipy.optimize.fixed_point`. It has derivatives in the tensors among `args`.

    >>> rg.grad(lambda a: rg.scipy.optimize.fixed_point(lambda x, a: rg.cos(a * x), 0.7, (a,)))(1.0)
    array(-0.29747434)
    """
    args = args if isinstance(args, tuple) else (args,)
    given, shape = Given("fixed_point", args), np.shape(x0)
    _check("fixed_point", func, np.asarray(x0, np.float64), given)
    found = _scipy.fixed_point(lambda x: array(func(x, *given.plain)), np.asarray(x0, np.float64), (), xtol, maxiter, method)
    if not given.has_tensors:
        return found

    def residual(x, values):
        return vector(func(reshape(x, shape), *given.rebuilt(values))) - x

    solution = Solution("fixed_point", np.asarray(found, np.float64).reshape(-1), residual)
    return reshape(solution_of(solution, given.values), shape)


def _check(solver, function, x, given):
    check_outside(solver, function(x, *given.plain))


def _fault(found):
    return None if found.success else f"it has not converged ({found.message})"


def _solved(solver, x, residual, given, start, fault):
    """The solution in the form of the start; with a history, if there are tensors that it depends on."""
    x = np.asarray(x, np.float64)
    return start.built(solution_of(Solution(solver, x, residual, fault), given.values) if given.has_tensors else x)
