"""solve_ivp: initial value problems with SciPy's methods, events and results."""

import numpy as np

from .. import tree
from ..core.mode import is_recording
from ..core.value import Value
from ..errors import ArgumentError, GraphError
from ..extras import optional
from ..misc.flatten import flatten
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import matrix_transpose, reshape
from ..tensor.creation import asarray
from ..transforms.grad import jacobian
from ._given import Attempted, Given, array, check_outside, inputs, unlinked, vector
from ._states import adjoint_states, direct_states

_solve_by_scipy = optional("scipy.integrate", "scipy").solve_ivp

#: SciPy's methods that take a Jacobian.
_WITH_JACOBIAN = frozenset(["Radau", "BDF", "LSODA"])
#: The numbers in y0 and args up to which derivatives are solved for directly. Going back in time is cheaper for more.
_DIRECT = 20
#: Options that say something of the functions that are given, and nothing of other ones.
_OF_FUNCTION = frozenset(["jac", "jac_sparsity", "lband", "uband", "first_step"])


def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None, *,
              sensitivity=None, compiled=True, **options):
    """The solution of $\\dot y = $ `fun(t, y, *args)` over `t_span` that starts at `y0`; as `scipy.integrate.solve_ivp`.

    Implicit methods get the Jacobian, unless `jac` is given. `y` of the result has derivatives, of any order, in the tensors among
    `y0`, `args`, `t_eval` and `t_span`; where SciPy chooses the times, these are constants, but for the last one. Events and
    `dense_output` have no derivatives: asking for them beside tensors that need one is an error.

    sensitivity  how they are found: "forward", by the equations of the derivatives; "adjoint", by going back in time, which is
                 cheaper for many arguments, and an error where it is unstable; None: forward for up to 20 numbers in y0 and args
    compiled     whether the functions that are made for derivatives are compiled

    >>> decay = lambda a: rg.scipy.integrate.solve_ivp(lambda t, y, a: -a * y, (0, 1), [1.0], args=(a,), rtol=1e-8).y[0, -1]
    >>> rg.grad(decay)(1.0)
    array(-0.36787945)
    """
    if sensitivity not in (None, "forward", "adjoint"):
        raise ArgumentError(f'sensitivity must be "forward", "adjoint" or None, got {sensitivity!r}')
    args = args if args is None or isinstance(args, (tuple, list)) else (args,)
    given = Given("solve_ivp", (t_span, y0, t_eval, tuple(args or ())))
    t_span_plain, y0_plain, t_eval_plain, args_plain = given.plain
    slope = _slope(fun, vectorized)
    start = np.atleast_1d(np.asarray(y0_plain))
    check_outside("solve_ivp", slope(start, np.float64(t_span_plain[0]), *args_plain))
    is_tracked = is_recording() and any([value.record is not None for value in given.values])
    if is_tracked:
        _check_differentiable(start, events, dense_output)
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    theirs = dict(options)
    if name in _WITH_JACOBIAN and not theirs.keys() & _OF_FUNCTION - {"first_step"} and start.dtype.kind != "c":
        quick = Attempted(jacobian(slope), compiled)
        theirs["jac"] = lambda t, y, *args: array(quick(y, np.float64(t), *inputs(args)))
    elif callable(jac := theirs.get("jac")):
        theirs["jac"] = lambda t, y, *args: unlinked(jac(t, y, *args))
    found = _solve_by_scipy(lambda t, y, *args: array(fun(t, y, *args)), t_span_plain, start, method, t_eval_plain,
                            dense_output or is_tracked, events, vectorized, args_plain, **theirs)
    if not given.has_tensors:
        return found
    if not is_tracked:
        found.y = asarray(found.y)
        return found
    solver = Solver(method, options, found, t_eval is None, compiled)
    return _linked(found, solver, slope, (t_span, y0, t_eval, tuple(args or ())), sensitivity)


def _slope(fun, vectorized):
    """`fun` as a function of the state, the time and the arguments, which gives one vector."""
    def slope(y, t, *args):
        return vector(fun(t, reshape(y, (-1, 1)) if vectorized else y, *args))

    return slope


def _check_differentiable(start, events, dense_output):
    if events is not None:
        raise ArgumentError("solve_ivp has no derivatives with events: their times depend on the arguments; leave events out, or "
                            "detach what is differentiated")
    if dense_output:
        raise ArgumentError("solve_ivp has no derivatives with dense_output: its interpolants are numbers; give t_eval, or detach "
                            "what is differentiated")
    if start.dtype.kind == "c":
        raise ArgumentError("solve_ivp has derivatives of real states, and y0 is complex; solve for the real and imaginary parts")


def _linked(found, solver, slope, given, sensitivity):
    """The result with `y` as a function of the tensors among what was given."""
    t_span, y0, t_eval, args = given
    leaves, build = tree.flatten(args)
    values = tuple([leaf for leaf in leaves if isinstance(leaf, Value)])
    y0 = flatten(y0)[0] if isinstance(y0, (list, tuple)) or not np.ndim(y0) else y0
    first, last = (reshape(asarray(time, np.float64), (1,)) for time in t_span)

    def of_values(y, t, *values):
        values = iter(values)
        return slope(y, t, *build([next(values) if isinstance(leaf, Value) else leaf for leaf in leaves]))

    asked = asarray(t_eval, np.float64) if t_eval is not None else concatenate([first, found.t[1:-1], last][: len(found.t)])
    times = asked if t_eval is None else concatenate([first, asked])
    count = found.y.shape[0] + int(np.sum([np.size(value.raw) for value in values]))
    is_direct = sensitivity == "forward" or sensitivity is None and count <= _DIRECT
    states = (direct_states if is_direct else adjoint_states)(solver, of_values, asarray(y0, np.float64), times, values)
    found.y = matrix_transpose(states if t_eval is None else states[1:])
    if any([isinstance(time, Value) for time in [*tree.leaves(t_span), *tree.leaves(t_eval)]]):
        found.t = asked
    found.sol = None
    return found


class Solver:
    """The method and the options of a call, for the equations of its derivatives; and what was found."""

    advice = 'solve with sensitivity="forward", or ask for more times in t_eval'

    def __init__(self, method, options, found, is_free, compiled):
        self._method, self._found, self._is_free, self._compiled = method, found, is_free, compiled
        self._options = {name: value for name, value in options.items() if name not in _OF_FUNCTION}
        # Tolerances of each part of the state are not those of its derivatives.
        self._options |= {name: np.min(self._options[name]) for name in ("rtol", "atol") if name in self._options}
        self.fault = None if found.success else f"it was not reached ({found.message})"

    def prepared(self, function):
        """A function of the equations, to be called many times."""
        return Attempted(function, self._compiled)

    def states(self, _slope, y0, t, _values):
        """What was found, at all times; the first one may not have been asked for."""
        found = self._found.y.T
        return found if self._is_free else np.concatenate([np.asarray(y0, np.float64)[None], found])

    def end(self, slope, y0, times, parameters):
        """The state at the last of two times."""
        return self._solved(slope, y0, times, times[1:], parameters)[0]

    def all(self, slope, y0, t, parameters):
        """The states at all times."""
        found = self._solved(slope, y0, (t[0], t[-1]), t[1:], parameters)
        return concatenate([reshape(y0, (1, -1)), found])

    def _solved(self, slope, y0, t_span, t_eval, parameters):
        found = solve_ivp(lambda t, y, parameters: slope(y, np.float64(t) if isinstance(t, float) else t, parameters), t_span, y0,
                          self._method, t_eval, args=(parameters,), compiled=self._compiled, sensitivity="forward", **self._options)
        if not found.success:
            raise GraphError(f"the equations of the derivative could not be solved ({found.message}); {self.advice}")
        return matrix_transpose(found.y)

    def tolerance(self, size):
        """By how much a state may be wrong."""
        return self._options.get("rtol", 1e-3) * size + self._options.get("atol", 1e-6)
