"""Solutions of equations, differentiated at the solution itself by the implicit function theorem."""

import numpy as np

from ..core.value import Value
from ..errors import GraphError, LinAlgError
from ..extend import defvjp_argnums, primitive
from ..ops.elementary.arithmetic import negative
from ..ops.linalg.inverses import solve
from ..ops.manipulation.movements import matrix_transpose
from ..transforms.grad import jacobian, vjp

#: How far a solver's answer may be from the solution, by the greatest number in it: beyond, it may be that of another one.
_ROUGH = 1e-2
#: What the last of Newton's steps may be: above it they do not end, so that there is no solution, or one that is not isolated.
_CLOSE = 1e-7
_STEPS = 20
#: The condition of a Jacobian from which on it has no inverse in float64.
_SINGULAR = 1e13


class Solution:
    """What a solver found: `z` with `residual(z, values)` = 0, or near it; `fault` says why it has no derivative, if so."""

    def __init__(self, solver, z, residual, fault=None):
        self.solver, self.z, self.residual, self.fault = solver, z, residual, fault

    def refined(self, values):
        """What Newton's method makes of `z`, so that a derivative is as exact as floats allow, whatever the solver's tolerance."""
        if self.fault is not None:
            raise GraphError(f"the solution of {self.solver} has no derivative: {self.fault}")
        z, before = self.z, np.inf
        for _ in range(_STEPS):
            step = self._step(z, values)
            size = np.abs(step).max(initial=0.0)
            if not size < before / 2:
                break
            z, before = z - step, size
            if size == 0:
                break
        scale = np.abs(self.z).max(initial=0.0)
        if not before <= _CLOSE * scale + 1e-10:
            raise GraphError(f"the solution of {self.solver} has no derivative: Newton's method does not end there; the equations "
                             f"may have no solution nearby, or {self.solver} stopped early")
        if np.abs(z - self.z).max(initial=0.0) > _ROUGH * (1 + scale):
            raise GraphError(f"the solution of {self.solver} is too rough for a derivative: it is {np.abs(z - self.z).max():.1e} "
                             f"away from where the equations hold; give a smaller tol")
        return z

    def _step(self, z, values):
        found = _array(self.residual(z, values))
        matrix = _array(jacobian(lambda z: self.residual(z, values))(z))
        self.check_regular(matrix)
        return np.linalg.solve(matrix, found)

    def check_regular(self, matrix):
        """Raise a LinAlgError unless the Jacobian has an inverse."""
        # Rows and columns of other units are no fault: they are scaled first.
        scaled = matrix / np.maximum(np.abs(matrix).max(axis=1, keepdims=True, initial=0.0), np.finfo(float).tiny)
        scaled = scaled / np.maximum(np.abs(scaled).max(axis=0, keepdims=True, initial=0.0), np.finfo(float).tiny)
        if matrix.size and not (np.isfinite(scaled).all() and np.linalg.cond(scaled) < _SINGULAR):
            raise LinAlgError(f"the solution of {self.solver} has no derivative: the Jacobian of its equations is singular there, "
                              f"so it is not isolated, or not smooth in the arguments")


@primitive
def solution_of(solution, values):
    """What was found; the values are those that it depends on."""
    return solution.z


def _rule(argnums, answer, args, kwargs):
    r"""With $R(z, \theta) = 0$ and $w = R_z^{-\top} \bar z$ it is $\bar\theta = -R_\theta^\top w$."""
    solution, values = args
    plain = tuple([_array(value) for value in values])
    # A constant beside the answer: derivatives of higher order are those of the answer.
    point = answer + (solution.refined(plain) - solution.z)
    matrix = jacobian(lambda z: solution.residual(z, values))(point)
    solution.check_regular(_array(matrix))

    def pull(g):
        w = solve(matrix_transpose(matrix), g)
        found = vjp(lambda *values: solution.residual(point, values), *values)[1](negative(w))
        return [found if number == 1 else None for number in argnums]

    return pull


defvjp_argnums(solution_of, _rule)


def _array(x):
    return np.asarray(x.detach() if isinstance(x, Value) else x)
