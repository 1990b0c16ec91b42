"""Ordinary differential equations, solved by SciPy and differentiated."""

import numpy as np

from .. import tree
from ..core.mode import is_lazy
from ..core.value import Value
from ..errors import ArgumentError
from ..extras import optional
from ..misc.flatten import flatten
from ._ivp import solve_ivp
from ._states import adjoint_states

__all__ = ["odeint", "solve_ivp"]

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
    states = adjoint_states(_Solver(solver), slope, y0, t, values)
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


class _Solver:
    """SciPy's odeint with its options, for the equations of a derivative."""

    fault, advice = None, 'give more times in t, or use solve_ivp(..., sensitivity="forward")'

    def __init__(self, options):
        self._options = options
        # Tolerances of each part of the state are not those of its cotangent.
        self._scalar = {name: np.min(value) if name in ("rtol", "atol") and value is not None else value
                        for name, value in options.items()}

    def prepared(self, function):
        """A function of the equations, to be called many times."""
        return function

    def states(self, slope, y0, t, values):
        """The states at all times."""
        return _solve_by_scipy(slope, y0, t, values, **self._options)

    def end(self, slope, y0, times, parameters):
        """The state at the last of two times."""
        return odeint(slope, y0, times, (parameters,), **self._scalar)[1]

    def tolerance(self, size):
        """By how much a state may be wrong, by SciPy's own defaults."""
        relative, absolute = (self._scalar.get(name) for name in ("rtol", "atol"))
        default = 1.49012e-8
        return (default if relative is None else relative) * size + (default if absolute is None else absolute)
