"""Ordinary differential equations, solved by SciPy and differentiated by the adjoint equation."""

import numpy as np

from ..extend import defvjp_argnums, primitive
from ..extras import optional
from ..misc.flatten import flatten
from ..ops.joins import concatenate, stack
from ..ops.movements import reshape
from ..ops.reductions import sum
from ..transforms.grad import vjp

odeint = primitive(optional("scipy.integrate", "scipy").odeint)


def _adjoint(argnums, answer, args, kwargs):
    r"""The rule of `odeint(func, y0, t, args)`.

    Backwards in time the cotangent $w$ of the state $y$ obeys $\dot w = -w\,\partial f / \partial y$, while those of time and of
    the other arguments gather $-w\,\partial f / \partial t$ and $-w\,\partial f / \partial \theta$ (Pontryagin, 1962).
    """
    func, _, t, *others = args
    others = others[0] if others else kwargs.get("args", ())
    options = {name: value for name, value in kwargs.items() if name != "args"}
    parameters, unflatten = flatten(others)
    size = answer.shape[1]

    def slope(y, t, parameters):
        return func(y, t, *unflatten(parameters))

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
            found = odeint(backwards, start, stack([t[i], t[i - 1]]), (parameters,), **options)[1]
            w, of_start, of_parameters = found[size : 2 * size] + g[i - 1], found[2 * size : 2 * size + 1], found[2 * size + 1 :]
        of_times = concatenate([*of_times, of_start])[::-1]
        given = {0: None, 1: w, 2: of_times, 3: unflatten(of_parameters)}
        return [given[number] for number in argnums]

    return pull


defvjp_argnums(odeint, _adjoint)
