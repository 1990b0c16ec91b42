"""States of differential equations as functions of the start, the times and the arguments: two ways to differentiate them."""

import numpy as np

from ..core.value import Value
from ..errors import GraphError
from ..extend import defvjp_argnums, primitive
from ..misc.flatten import flatten
from ..ops.axes.reductions import sum
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.joins import concatenate, stack
from ..ops.manipulation.movements import reshape
from ..transforms.grad import jacobian, vjp

#: How many times larger than at any time asked for a state may be on the way back.
_FAR = 1e3


@primitive
def adjoint_states(solver, slope, y0, t, values):
    """States (times, size) of $\\dot y = $ `slope(y, t, *values)`, differentiated by going back in time.

    solver  has `states(slope, y0, t, values)`, which gives these, `end(slope, y0, times, parameters)`, the last one,
            differentiable, `parameters` being one array, and `tolerance(size)`, by how much states of a size may be wrong
    """
    return solver.states(slope, y0, t, values)


def _going_back(argnums, answer, args, _):
    r"""Backwards in time the cotangent $w$ of the state $y$ obeys $\dot w = -w\,\partial f / \partial y$, while those of time and
    of the other arguments gather $-w\,\partial f / \partial t$ and $-w\,\partial f / \partial \theta$ (Pontryagin, 1962).
    """
    solver, function, _, t, values = args
    parameters, unflatten = flatten(values)
    size = answer.shape[1]
    _check(solver)

    def slope(y, t, parameters):
        return reshape(function(y, t, *unflatten(parameters)), (size,))

    def backwards(state, t, parameters):
        value, pullback = vjp(slope, state[:size], t, parameters)
        of_y, of_t, of_parameters = pullback(-state[size : 2 * size])
        return concatenate([value, of_y, reshape(of_t, (1,)), of_parameters])

    quick, limit = solver.prepared(backwards), _FAR * np.abs(_array(answer)).max(initial=1.0)

    def watched(state, t, parameters):
        # What has left the way by so much is lost, and would take ever smaller steps.
        if not isinstance(state, Value) and not np.abs(state[:size]).max(initial=0.0) <= limit:
            raise _unstable(solver, f"the state grows to {np.abs(state[:size]).max():.1e}, where it was at most {limit / _FAR:.1e}")
        return quick(state, t, parameters)

    def pull(g):
        w, of_parameters, of_start, of_times = g[-1], np.zeros(parameters.shape), np.zeros(1), []
        for i in range(answer.shape[0] - 1, 0, -1):
            moved = reshape(sum(slope(answer[i], t[i], parameters) * g[i]), (1,))
            of_times.append(moved)
            start = concatenate([answer[i], w, of_start - moved, of_parameters])
            found = solver.end(watched, start, stack([t[i], t[i - 1]]), parameters)
            _check_return(solver, found[:size], answer[i - 1])
            w, of_start, of_parameters = found[size : 2 * size] + g[i - 1], found[2 * size : 2 * size + 1], found[2 * size + 1 :]
        of_times = concatenate([*of_times, of_start])[::-1]
        given = {2: w, 3: of_times, 4: unflatten(of_parameters)}
        return [given.get(number) for number in argnums]

    return pull


defvjp_argnums(adjoint_states, _going_back)


@primitive
def direct_states(solver, slope, y0, t, values):
    """As `adjoint_states`, differentiated by the equations of the derivatives themselves, solved together with the states.

    solver  also has `all(slope, y0, t, parameters)`, the states at all times, differentiable
    """
    return solver.states(slope, y0, t, values)


def _going_along(argnums, answer, args, _):
    r"""With the state its derivatives $S$ in the start and in the arguments are solved: $\dot S = f_y S + (0, f_\theta)$."""
    solver, function, y0, t, values = args
    parameters, unflatten = flatten(values)
    size, others = answer.shape[1], parameters.shape[0]
    width = size + others
    _check(solver)

    def slope(y, t, parameters):
        return reshape(function(y, t, *unflatten(parameters)), (size,))

    def along(state, t, parameters):
        y, moved = state[:size], reshape(state[size:], (size, width))
        of_y, of_parameters = jacobian(slope, (0, 2))(y, t, parameters)
        change = matmul(of_y, moved) + concatenate([np.zeros((size, size)), of_parameters], axis=1)
        return concatenate([slope(y, t, parameters), reshape(change, (-1,))])

    start = concatenate([y0, np.eye(size, width).reshape(-1)])
    found = solver.all(solver.prepared(along), start, t, parameters)
    moved = reshape(found[:, size:], (answer.shape[0], size, width))

    def pull(g):
        of_all = sum(reshape(matmul(reshape(g, (-1, 1, size)), moved), (-1, width)), axis=0)
        slopes = [sum(slope(answer[i], t[i], parameters) * g[i]) for i in range(1, answer.shape[0])]
        of_start = -sum(slope(y0, t[0], parameters) * (of_all[:size] - g[0]))
        given = {2: of_all[:size], 3: stack([of_start, *slopes]), 4: unflatten(of_all[size:])}
        return [given.get(number) for number in argnums]

    return pull


defvjp_argnums(direct_states, _going_along)


def _check(solver):
    if solver.fault is not None:
        raise GraphError(f"the solution has no derivative: {solver.fault}")


def _check_return(solver, back, there):
    """Raise a GraphError if going back does not lead to where the state came from: what was gathered on the way is wrong then."""
    back, there = _array(back), _array(there)
    apart, size = np.abs(back - there).max(initial=0.0), np.abs(there).max(initial=0.0)
    if not apart <= max(10 * solver.tolerance(size), 1e-3 * size):
        raise _unstable(solver, f"the state comes back {apart:.1e} away from what it was, of size {size:.1e}")


def _unstable(solver, what):
    return GraphError(f"going back in time is unstable here: {what}, so that a gradient would be wrong; {solver.advice}")


def _array(x):
    return np.asarray(x.detach() if isinstance(x, Value) else x)
