"""Ordinary differential equations, solved by SciPy and differentiated by the adjoint equation."""

import numpy as np

from .. import tree
from ..core.mode import is_lazy
from ..core.value import Value
from ..errors import ArgumentError
from ..extend import defvjp_argnums, primitive
from ..extras import optional
from ..misc.flatten import flatten
from ..ops.joins import concatenate, stack
from ..ops.movements import reshape
from ..ops.reductions import sum
from ..transforms.grad import vjp

_solve_by_scipy = optional("scipy.integrate", "scipy").odeint
#: The options of SciPy's function in order.
_OPTIONS = ("Dfun", "col_deriv", "full_output", "ml", "mu", "rtol", "atol", "tcrit", "h0", "hmax", "hmin", "ixpr", "mxstep",
            "mxhnil", "mxordn", "mxords", "printmessg", "tfirst")
#: Those that say something of `func` or of the way there, and nothing of the way back.
_FORWARD_ONLY = frozenset(["Dfun", "col_deriv", "full_output", "ml", "mu", "h0", "ixpr", "printmessg"])


def odeint(func, y0, t, args=(), *positional, **options):
    """The solutions at the times `t` of $\\dot y = $ `func(y, t, *args)` that are `y0` at `t[0]`; as `scipy.integrate.odeint`.

    Differentiable, any number of times, in `y0`, `t` and the tensors in `args`, which may be nested. `func` may not read other
    tensors that are being differentiated: it is called with arrays.

    >>> rg.grad(lambda a: rg.scipy.integrate.odeint(lambda y, t, a: -a * y, 1.0, [0.0, 1.0], (a,))[1, 0])(0.0)
    array(-1.)
    """
    if not isinstance(args, tuple):
        raise ArgumentError(f"args must be a tuple of what func takes after y and t, got {type(args).__name__}")
    options = {**dict(zip(_OPTIONS, positional, strict=False)), **options}
    leaves, build = tree.flatten(args)
    _check_outside(func, y0, t, args, options)
    if not any(isinstance(leaf, Value) for leaf in [*leaves, *tree.leaves(y0), *tree.leaves(t)]):
        return _solve_by_scipy(func, y0, t, args, **options)
    values = tuple([leaf for leaf in leaves if isinstance(leaf, Value)])
    is_first = options.get("tfirst")

    def slope(y, t, *values):
        values = iter(values)
        others = build([next(values) if isinstance(leaf, Value) else leaf for leaf in leaves])
        found = func(t, y, *others) if is_first else func(y, t, *others)
        return flatten(found)[0] if isinstance(found, (list, tuple)) else found

    solver = {name: value for name, value in options.items() if name not in _FORWARD_ONLY and name != "tfirst"}
    y0, t = (flatten(x)[0] if isinstance(x, (list, tuple)) or not np.ndim(x) else x for x in (y0, t))
    states = _solve(slope, y0, t, values, **solver)
    if not options.get("full_output"):
        return states
    given = tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, Value) else leaf, (y0, t, args))
    return states, _solve_by_scipy(func, *given, **options)[1]


def _check_outside(func, y0, t, args, options):
    """Raise an ArgumentError if `func` reads a tensor that it was not given, whose gradient would be lost."""
    y, times, others = tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, Value) else leaf, (y0, t, args))
    y, first = np.atleast_1d(np.asarray(y, np.float64)), float(np.ravel(times)[0])
    found = func(first, y, *others) if options.get("tfirst") else func(y, first, *others)
    for leaf in tree.leaves(found):
        if isinstance(leaf, Value) and (leaf.record is not None or leaf.is_traced and not is_lazy()):
            raise ArgumentError("func of odeint reads a tensor from outside that is being differentiated or traced; hand it "
                                "over in args")


_solve = primitive(_solve_by_scipy)


def _adjoint(argnums, answer, args, kwargs):
    r"""The rule of `_solve(slope, y0, t, values)`.

    Backwards in time the cotangent $w$ of the state $y$ obeys $\dot w = -w\,\partial f / \partial y$, while those of time and of
    the other arguments gather $-w\,\partial f / \partial t$ and $-w\,\partial f / \partial \theta$ (Pontryagin, 1962).
    """
    function, _, t, values = args
    parameters, unflatten = flatten(values)
    size = answer.shape[1]
    # Tolerances of each part of the state are not those of its cotangent.
    solver = {name: np.min(value) if name in ("rtol", "atol") and value is not None else value for name, value in kwargs.items()}

    def slope(y, t, parameters):
        return reshape(function(y, t, *unflatten(parameters)), (size,))

    def backwards(state, t, parameters):
        value, pullback = vjp(slope, state[:size], t, parameters)
        of_y, of_t, of_parameters = pullback(-state[size : 2 * size])
        return concatenate([value, of_y, reshape(of_t, (1,)), of_parameters])

    def pull(g):
        w, of_parameters, of_start, of_times = g[-1], np.zeros(parameters.shape), np.zeros(1), []
        for i in range(answer.shape[0] - 1, 0, -1):
            moved = reshape(sum(slope(answer[i], t[i], parameters) * g[i]), (1,))
            of_times.append(moved)
            start = concatenate([answer[i], w, of_start - moved, of_parameters])
            found = odeint(backwards, start, stack([t[i], t[i - 1]]), (parameters,), **solver)[1]
            w, of_start, of_parameters = found[size : 2 * size] + g[i - 1], found[2 * size : 2 * size + 1], found[2 * size + 1 :]
        of_times = concatenate([*of_times, of_start])[::-1]
        given = {0: None, 1: w, 2: of_times, 3: unflatten(of_parameters)}
        return [given[number] for number in argnums]

    return pull


defvjp_argnums(_solve, _adjoint)
