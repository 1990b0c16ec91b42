"""Distribution: what every distribution has, and how it checks its parameters and its values."""

import copy
from typing import Any, ClassVar

from ...core.mode import no_grad
from ...core.value import Value
from ...errors import ArgumentError, MissingRuleError, ShapeError
from ..shapes import Size
from . import constraints
from .utils import is_true


class Distribution:
    """Base of distributions. Samples have the shape `sample_shape + batch_shape + event_shape`; of the batch each element is a
    distribution of its own, and an event is one value of it.

    validate_args  whether parameters and values are checked; by default as `set_default_validate_args` says. What is being
                   traced is not checked
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[dict[str, Any]] = {}
    support: Any
    _validate_args = __debug__
    #: The parameters that are tensors, and how many of their last axes belong to events.
    _ranks: ClassVar[dict[str, int]] = {}

    @staticmethod
    def set_default_validate_args(value):
        """Let distributions check their arguments, or not, where they are not told."""
        if value not in (True, False):
            raise ArgumentError(f"set_default_validate_args takes True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape: Any = Size(batch_shape)
        self._event_shape: Any = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__ and not constraints.is_dependent(constraint):
                    self._check(constraint, getattr(self, name), f"the parameter {name}", "")

    batch_shape = property(lambda self: self._batch_shape, doc="The shape of the batch of distributions.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of one value.")
    mean: Any = property(lambda self: self._absent("mean"), doc="The mean.")
    mode: Any = property(lambda self: self._absent("mode"), doc="The most probable value.")
    variance: Any = property(lambda self: self._absent("variance"), doc="The variance.")
    stddev: Any = property(lambda self: self.variance.sqrt(), doc="The standard deviation.")

    def expand(self, batch_shape, _instance=None) -> Any:
        """The same distribution for a greater batch, of the same memory."""
        new = copy.copy(self) if _instance is None else _instance
        batch_shape = Size(batch_shape)
        for name, rank in self._ranks.items():
            if name in self.__dict__:
                x = self.__dict__[name]
                setattr(new, name, x.expand(batch_shape + Size(x.shape[x.dim() - rank:])))
        vars(new).update(_batch_shape=batch_shape, _event_shape=self._event_shape, _validate_args=self._validate_args)
        return new

    def sample(self, sample_shape=()):
        """Random values, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()) -> Any:
        """Random values through which gradients flow to the parameters."""
        self._absent("rsample")

    def log_prob(self, value) -> Any:
        """The logarithm of the density, or of the probability, at `value`."""
        self._absent("log_prob")

    def cdf(self, value) -> Any:
        """The chance of values up to `value`."""
        self._absent("cdf")

    def icdf(self, value) -> Any:
        """The value up to which the chance is `value`."""
        self._absent("icdf")

    def entropy(self) -> Any:
        """The entropy in nats, for each distribution of the batch."""
        self._absent("entropy")

    def enumerate_support(self, expand=True) -> Any:
        """All values that there are, along a new first axis."""
        self._absent("enumerate_support")

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _absent(self, name) -> Any:
        raise MissingRuleError(f"{type(self).__name__} has no {name}")

    def _extended_shape(self, sample_shape=()):
        """The shape of samples."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Raise unless `value` has a shape that fits, and lies in the support; nothing is checked with `validate_args=False`."""
        if not self._validate_args:
            return
        if not isinstance(value, Value):
            raise ArgumentError(f"a value of a distribution must be a tensor, got {type(value).__name__}")
        shape, wanted, rank = tuple(value.shape), tuple(self._batch_shape + self._event_shape), len(self._event_shape)
        if len(shape) < rank or shape[len(shape) - rank:] != tuple(self._event_shape) or any(
                n not in (1, m) and m != 1 for n, m in zip(shape[::-1], wanted[::-1], strict=False)):
            raise ShapeError(f"a value of shape {shape} does not fit {type(self).__name__} of batch shape "
                             f"{tuple(self._batch_shape)} and event shape {tuple(self._event_shape)}")
        self._check(self.support, value, "a value", ": it is not in the support")

    def _check(self, constraint, value, what, why):
        if not is_true(constraint.check(value)):
            raise ArgumentError(f"{what} of {type(self).__name__} must satisfy {constraint!r}{why}; got {value}. With "
                                "validate_args=False nothing is checked")

    def __repr__(self):
        given = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{n}: {x if x.numel() == 1 else x.size()}' for n, x in given)})"
