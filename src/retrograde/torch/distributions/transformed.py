"""Distributions made of others: of their values transformed, and of batches taken for events."""

from typing import Any

from ...core.mode import no_grad
from ...errors import ArgumentError, MissingRuleError
from ..shapes import Size
from . import constraints
from .distribution import Distribution
from .normal import Normal
from .transforms import ComposeTransform, ExpTransform, Transform
from .utils import sum_rightmost


class Independent(Distribution):
    """A distribution of which the last axes of the batch belong to the event: their log-densities are summed.

    >>> import retrograde.torch as torch
    >>> d = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2, 3), 1.0), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(torch.zeros(2, 3))
    (torch.Size([2]), torch.Size([3]), tensor([-2.7568, -2.7568]))
    """

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        count = reinterpreted_batch_ndims
        if count > len(base_distribution.batch_shape):
            raise ArgumentError(f"Independent takes at most the {len(base_distribution.batch_shape)} axes of the batch for events, "
                                f"got {count}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = len(base_distribution.batch_shape) - count
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support: Any = property(lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @constraints.dependent_property
    def support(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the distribution, of events with more axes."""
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size(batch_shape) + self._event_shape[:self.reinterpreted_batch_ndims])
        return new

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims:
            raise MissingRuleError("the values of Independent are not listed: they are all combinations of those of its parts")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The values of `base_distribution` after `transforms`, a transform or a list of them.

    >>> import retrograde.torch as torch
    >>> D = torch.distributions
    >>> d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AffineTransform(1.0, 2.0), D.ExpTransform()])
    >>> d.log_prob(torch.tensor(2.0))
    tensor(-2.3170)
    """

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ArgumentError(f"transforms must be a transform or a list of them, got {transforms!r}")
        base, whole = base_distribution, ComposeTransform(self.transforms)
        shape, rank = base.batch_shape + base.event_shape, len(base.event_shape)
        needed = whole.domain.event_dim
        if len(shape) < needed:
            raise ArgumentError(f"the transforms need values with {needed} axes at least, and those of the distribution have "
                                f"{len(shape)}")
        after = whole.forward_shape(shape)
        before = whole.inverse_shape(after)
        if before != shape:
            base = base.expand(before[:len(before) - rank])
        self.base_dist = Independent(base, needed - rank) if needed > rank else base
        event_rank = max(whole.codomain.event_dim, rank + whole.codomain.event_dim - needed)
        cut = len(after) - event_rank
        super().__init__(after[:cut], after[cut:], validate_args=validate_args)

    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the last transform gives."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        shape = Size(batch_shape) + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        return new

    def sample(self, sample_shape=()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._validate_sample(value)
        total, rank = 0, len(self._event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            rank += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, value), rank - transform.domain.event_dim)
            value = x
        return total + sum_rightmost(self.base_dist.log_prob(value), rank - len(self.base_dist.event_shape))

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._upright(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._upright(value)))

    def _upright(self, chance):
        """A chance, or 1 less that where the transforms fall."""
        sign = ComposeTransform(self.transforms).sign
        return chance if isinstance(sign, (int, float)) and sign == 1 else sign * (chance - 0.5) + 0.5

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.transforms})"


class LogNormal(TransformedDistribution):
    """Numbers whose logarithms are normally distributed, with mean `loc` and standard deviation `scale`."""

    arg_constraints = Normal.arg_constraints
    support = constraints.positive  # pyright: ignore[reportAssignmentType]
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc, doc="The mean of the logarithms.")
    scale = property(lambda self: self.base_dist.scale, doc="The standard deviation of the logarithms.")
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())
    variance = property(lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc

    def __repr__(self):
        return f"LogNormal{repr(self.base_dist).removeprefix('Normal')}"
