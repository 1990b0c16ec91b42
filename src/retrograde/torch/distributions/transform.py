"""Transform: a function of values with its inverse, and the logarithm of how much it stretches."""

from typing import Any

from ...core.value import Value
from ...errors import ArgumentError, MissingRuleError
from . import constraints


class Transform:
    """A function of values, with its inverse. Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    cache_size  accepted as in PyTorch: with 1 the last value and result are kept, so that inverting gives back the very value
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ArgumentError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size, self._last = cache_size, (None, None)

    @property
    def inv(self) -> "Transform":
        """The inverse."""
        return Inverse(self)

    @property
    def event_dim(self):
        """How many axes its values have, before and after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError(f"{self!r} changes the axes of events; ask .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        raise MissingRuleError(f"{type(self).__name__} neither rises nor falls")

    def with_cache(self, cache_size=1):
        """The same transform with a cache, or without."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), _cache_size=cache_size, _last=(None, None))
        return made

    def __call__(self, x):
        return self._kept(x, 0, self._call)

    def inverted(self, y):
        """The value that `y` comes from."""
        return self._kept(y, 1, self._inverse)

    def _kept(self, given, place, compute) -> Any:
        if self._cache_size and given is self._last[place]:
            return self._last[1 - place]
        found = compute(given)
        # What is traced must not be kept beyond its trace.
        if self._cache_size and not given.is_traced:
            self._last = (given, found) if place == 0 else (found, given)
        return found

    def _call(self, x) -> Any:
        raise MissingRuleError(f"{type(self).__name__} cannot be computed")

    def _inverse(self, y) -> Any:
        raise MissingRuleError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x, y) -> Any:
        """The logarithm of the size of the derivative at `x`, whose result is `y`."""
        raise MissingRuleError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape):
        """The shape of the result for a value of a shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of the value for a result of a shape."""
        return shape

    def _facts(self):
        """What tells two transforms of one class apart."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __eq__(self, other):
        return type(self) is type(other) and _are_equal(self._facts(), other._facts())

    __hash__: Any = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{n}={v}' for n, v in self._facts().items())})"


def _are_equal(a: dict[str, Any], b: dict[str, Any]):
    """Whether facts are equal."""
    return a.keys() == b.keys() and all(_is_equal(value, b[name]) for name, value in a.items())


def _is_equal(x: Any, y: Any):
    """Whether two values are equal: tensors of the same numbers are."""
    if x is y or not isinstance(x, Value) and not isinstance(y, Value):
        return x is y or x == y
    equal: Any = x == y
    return bool(equal.all())


class Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    inv: Any = property(lambda self: self.base)
    domain: Any = property(lambda self: self.base.codomain)
    codomain: Any = property(lambda self: self.base.domain)
    bijective: Any = property(lambda self: self.base.bijective)
    sign: Any = property(lambda self: self.base.sign)

    def __call__(self, x):
        return self.base.inverted(x)

    def inverted(self, y):
        return self.base(y)

    def with_cache(self, cache_size=1):
        return self.base.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x, y):
        return -self.base.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self.base.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self.base.forward_shape(shape)
