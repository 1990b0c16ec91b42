"""Constraints: as SciPy takes them, with derivatives; and as functions that are 0 at a solution."""

import numpy as np

from ...errors import ArgumentError
from ...extras import optional
from ...ops.axes.reductions import sum
from ...ops.linalg.contractions import matmul
from ...transforms.grad import grad, jacobian
from .._given import Attempted, Given, array, check_outside, inputs, unlinked, vector
from ._bounds import MAYBE, decided

_scipy = optional("scipy.optimize", "scipy")


class Constraint:
    """One constraint, of a vector of numbers: `lower <= function(x, *args) <= upper`."""

    def __init__(self, theirs, start, compiled):
        self.theirs, self._compiled = theirs, compiled
        # The matrix of a linear constraint is one for vectors.
        self._built = (lambda x: x) if isinstance(theirs, _scipy.LinearConstraint) else start.built
        self._user, args, self.lower, self.upper = _parts(theirs)
        self.given = Given("minimize", args)
        check_outside("minimize", self._user(self._built(start.vector), *self.given.plain), "the args of the constraint")

    def function(self, x, *args):
        """The numbers that have limits."""
        return vector(self._user(self._built(x), *args))

    def handed_over(self, method):
        """The constraint as SciPy gets it for a method: those with Hessians for the one that takes them."""
        plain, quick = inputs(self.given.plain), Attempted(jacobian(self.function), self._compiled)
        call = lambda x: array(self.function(x, *self.given.plain))
        slopes = lambda x: np.atleast_2d(array(quick(np.asarray(x, np.float64), *plain)))
        if isinstance(self.theirs, _scipy.LinearConstraint):
            return self.theirs
        theirs, has_hessians = self.theirs, isinstance(method, str) and method.lower() == "trust-constr"
        jac, hess = (theirs.get("jac"), None) if isinstance(theirs, dict) else (theirs.jac, theirs.hess)
        if callable(jac):
            slopes = lambda x: unlinked(jac(self._built(x), *self.given.plain))
        if has_hessians and not callable(hess):
            bends = lambda x, v, *args: jacobian(grad(lambda x: sum(self.function(x, *args) * v)))(x)
            bent = Attempted(bends, self._compiled)
            hess = lambda x, v: array(bent(np.asarray(x, np.float64), np.asarray(v, np.float64), *plain))
        if isinstance(theirs, dict) and not has_hessians:
            return {**theirs, "fun": call, "jac": slopes, "args": ()}
        return _scipy.NonlinearConstraint(call, self.lower, self.upper, slopes, hess, getattr(theirs, "keep_feasible", False))

    def near(self, x):
        """(places, limits, signs, distances, rows) of the numbers that are near a limit: the sign of the multiplier there, 0 for an
        equation; how far that is in x; and their gradients.
        """
        rows = np.atleast_2d(array(jacobian(lambda x: self.function(x, *self.given.plain))(x)))
        found = array(self.function(x, *self.given.plain))
        lower, upper = (np.broadcast_to(np.asarray(limit, np.float64), found.shape) for limit in (self.lower, self.upper))
        steep = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(float).tiny)
        apart = [np.abs(found - limit) / steep for limit in (lower, upper)]
        distances = np.where(lower == upper, 0, np.minimum(*apart))
        places = np.flatnonzero(distances <= MAYBE * (1 + np.abs(x).max(initial=0.0)))
        is_lower = apart[0] <= apart[1]
        signs = np.where(lower == upper, 0, np.where(is_lower, 1, -1))
        return places, np.where(is_lower, lower, upper)[places], signs[places], distances[places], rows[places]


def _parts(theirs):
    """(function, args, lower, upper) of a constraint of SciPy's."""
    if isinstance(theirs, dict):
        args = theirs.get("args", ())
        if theirs.get("type") not in ("eq", "ineq") or not callable(theirs.get("fun")):
            raise ArgumentError(f'a constraint has a type, "eq" or "ineq", and a fun, got {theirs}')
        return theirs["fun"], args if isinstance(args, tuple) else (args,), 0.0, 0.0 if theirs["type"] == "eq" else np.inf
    if isinstance(theirs, _scipy.LinearConstraint):
        matrix = theirs.A.toarray() if hasattr(theirs.A, "toarray") else np.atleast_2d(np.asarray(theirs.A, np.float64))
        return (lambda x: matmul(matrix, x)), (), theirs.lb, theirs.ub
    if isinstance(theirs, _scipy.NonlinearConstraint):
        return theirs.fun, (), theirs.lb, theirs.ub
    raise ArgumentError(f"a constraint is a dictionary, a LinearConstraint or a NonlinearConstraint, got {type(theirs).__name__}")


def listed(constraints):
    """Constraints as a list: SciPy takes one, too."""
    return list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]


class Active:
    """The constraints that hold at `x`, where what is minimized has the gradient `slopes` and the Hessian `bends`; `free` variables
    are those that no bound holds.
    """

    def __init__(self, constraints, x, slopes, bends, free):
        near = [(constraint, *constraint.near(x)) for constraint in constraints]
        self.multipliers, self.fault = np.zeros(0), None
        is_held = np.concatenate([np.zeros(0, bool), *[np.ones(len(places), bool) for _, places, *_ in near]])
        if is_held.size:
            signs, distances, rows = (np.concatenate([one[place] for one in near]) for place in (3, 4, 5))
            rows, scale = rows * free, 1 + np.abs(x).max()
            # Those that do not hold spoil the multipliers of the others, so that these are found once more without them.
            for _ in range(2):
                found = np.linalg.lstsq(rows[is_held].T, slopes * free, rcond=None)[0]
                multipliers = np.zeros(len(rows))
                multipliers[is_held] = found
                pulls = _pulls(multipliers * signs, rows, bends)
                holds, undecided = decided(distances / scale, pulls / scale)
                is_held = (signs == 0) | holds
            self.multipliers = multipliers[is_held]
            if (undecided & (signs != 0)).any():
                self.fault = "a constraint is at its limit and is not held by it: the derivative is another one in each direction"
        self.chosen, start = [], 0
        for constraint, places, limits, *_ in near:
            held = is_held[start : start + len(places)]
            start += len(places)
            if held.any():
                self.chosen.append((constraint, places[held], limits[held]))

    def residual(self, x, arguments):
        """A list of vectors that are 0 at the solution; `arguments` are those of each constraint, by its identity."""
        return [constraint.function(x, *arguments[id(constraint)])[places] - limits for constraint, places, limits in self.chosen]


def _pulls(forces, rows, bends):
    """How far the solution would go if a constraint were not there: along its gradient, until the slope is gone."""
    squares = (rows**2).sum(axis=1)
    bend = np.einsum("ki,ij,kj->k", rows, bends, rows)
    return forces * squares**1.5 / np.where(bend > 0, bend, np.finfo(float).tiny)
