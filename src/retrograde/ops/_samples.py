"""Where tests may evaluate an op: domains for elementwise ops, calls for all others."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class uniform:  # noqa: N801 - reads as a word in an op's block
    """Numbers spread evenly over an interval, at least `gap` away from each of the points in `avoid`."""

    low: float = -3.0
    high: float = 3.0
    avoid: tuple = ()
    gap: float = 0.05

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        x = rng.uniform(self.low, self.high, shape)
        for point in self.avoid:
            near = np.abs(x - point) < self.gap
            x = np.where(near, point + np.where(x < point, -2, 2) * self.gap, x)
        return x.astype(dtype)


@dataclass(frozen=True)
class distinct:  # noqa: N801
    """Numbers no two of which are close, in random order: for ops with ties."""

    low: float = -3.0
    high: float = 3.0

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        size = int(np.prod(shape, dtype=int))
        return rng.permutation(np.linspace(self.low, self.high, size)).reshape(shape).astype(dtype)


@dataclass(frozen=True)
class complex_uniform:  # noqa: N801
    """Complex numbers with both parts spread evenly over an interval, twice as wide as the dtype asked for."""

    low: float = -3.0
    high: float = 3.0

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        x = rng.uniform(self.low, self.high, (2, *shape))
        return (x[0] + 1j * x[1]).astype(np.complex128 if np.dtype(dtype).itemsize > 4 else np.complex64)


@dataclass(frozen=True)
class well_conditioned:  # noqa: N801
    """Matrices far from singular: small numbers, with one to two on the diagonal; `is_definite` for symmetric ones."""

    is_definite: bool = False

    def draw(self, rng, shape, dtype):
        """An array of such matrices in its last two axes."""
        x = rng.uniform(-0.5, 0.5, shape) + np.eye(*shape[-2:]) * rng.uniform(1, 2, (*shape[:-2], 1, shape[-1]))
        return (x @ x.swapaxes(-1, -2) + 0.5 * np.eye(shape[-1]) if self.is_definite else x).astype(dtype)


@dataclass(frozen=True)
class of:  # noqa: N801
    """An operand of a given shape, drawn from a domain."""

    shape: tuple
    domain: Any = field(default_factory=uniform)

    def draw(self, rng, dtype):
        """The operand."""
        return self.domain.draw(rng, self.shape, dtype)


class call:  # noqa: N801
    """One call to test: shapes (tuples of int) or `of(...)` stand for float operands, everything else for itself."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def __repr__(self):
        words = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"call({', '.join(words)})"

    def draw(self, rng, dtype):
        """The arguments, with operands drawn from `rng`."""
        return tuple(_drawn(a, rng, dtype) for a in self.args), self.kwargs


def _drawn(argument, rng, dtype):
    if isinstance(argument, of):
        return argument.draw(rng, dtype)
    if isinstance(argument, list):
        return [_drawn(a, rng, dtype) for a in argument]
    if isinstance(argument, tuple):
        return of(argument).draw(rng, dtype)
    return argument
