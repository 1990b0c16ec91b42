"""Where parameters and values of distributions may lie: each constraint checks events, whose axes are the last `event_dim` ones.

>>> import retrograde.torch as torch
>>> torch.distributions.constraints.simplex.check(torch.tensor([[0.5, 0.5], [0.5, 0.6]]))
tensor([ True, False])
"""

from typing import Any

from ...errors import ArgumentError
from .. import linalg

# A simplex may be off by rounding.
_NEAR = 1e-6


class Constraint:
    """A region in which values may lie; `check(value)` tells for each event whether it does."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value) -> Any:
        """Whether each event of `value` lies in the region."""
        raise ArgumentError(f"{type(self).__name__} cannot be checked without the distribution that it belongs to")

    def __repr__(self):
        parts = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parts})"


class Dependent(Constraint):
    """A region that depends on other parameters, and that the distribution itself checks."""

    def __call__(self, *, is_discrete=False, event_dim=0):
        made = Dependent()
        made.is_discrete, made.event_dim = is_discrete, event_dim
        return made


class dependent_property(property, Dependent):  # noqa: N801 - PyTorch's name
    """A property of distributions that is a constraint: on the class one that depends, on an object the constraint itself."""

    def __init__(self, fn=None, *, is_discrete=False, event_dim=0):
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn):  # pyright: ignore[reportIncompatibleMethodOverride]
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint):
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, Dependent)


class Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class OneHot(Constraint):
    """A vector of zeros and a single one."""

    is_discrete, event_dim = True, 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Real(Constraint):
    """Any number, and infinity, but not NaN."""

    def check(self, value):
        return value == value  # NaN differs from itself


class GreaterThan(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on."""

    def check(self, value):
        return value >= self.lower_bound


class LessThan(Constraint):
    """Numbers below a bound."""

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class Interval(Constraint):
    """Numbers between two bounds, which belong to them."""

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class HalfOpenInterval(Interval):
    """Numbers between two bounds, of which the lower one belongs to them."""

    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)


class IntegerInterval(Interval):
    """Integers between two bounds, which belong to them."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class IntegerGreaterThan(GreaterThanEq):
    """Integers from a bound on."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class Simplex(Constraint):
    """Vectors of numbers of at least 0 whose sum is 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _NEAR)


class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).all(-1).all(-1)


class LowerCholesky(LowerTriangular):
    """Matrices with zeros above the diagonal and positive numbers on it."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class Symmetric(Constraint):
    """Symmetric matrices, up to rounding."""

    event_dim = 2

    def check(self, value):
        return ((value - value.mT).abs() <= _NEAR + 1e-5 * value.mT.abs()).all(-1).all(-1)


class PositiveSemidefinite(Symmetric):
    """Symmetric matrices whose eigenvalues are at least 0."""

    def check(self, value):
        return super().check(value) & (linalg.eigvalsh(value) >= 0).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices whose eigenvalues are greater than 0."""

    def check(self, value):
        return super().check(value) & (linalg.eigvalsh(value) > 0).all(-1)


class IndependentConstraint(Constraint):
    """Events of several values, each of which lies in a region."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete: Any = property(lambda self: self.base_constraint.is_discrete)
    event_dim: Any = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ArgumentError(f"events have {self.event_dim} axes, got a value of shape {tuple(value.shape)}")
        for _ in range(self.reinterpreted_batch_ndims):
            found = found.all(-1)
        return found


dependent = Dependent()
boolean, one_hot, real, simplex = Boolean(), OneHot(), Real(), Simplex()
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
positive, nonnegative, unit_interval = GreaterThan(0.0), GreaterThanEq(0.0), Interval(0.0, 1.0)
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
symmetric, positive_semidefinite, positive_definite = Symmetric(), PositiveSemidefinite(), PositiveDefinite()
real_vector = IndependentConstraint(real, 1)
independent, interval, half_open_interval, integer_interval = IndependentConstraint, Interval, HalfOpenInterval, IntegerInterval
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
