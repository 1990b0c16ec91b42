"""Where tests may evaluate an op: domains for elementwise ops, calls for all others."""

import numpy as np


class _Domain:
    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class uniform(_Domain):  # noqa: N801 - reads as a word in an op's block
    """Numbers spread evenly over an interval, at least `gap` away from each of the points in `avoid`."""

    def __init__(self, low=-3.0, high=3.0, avoid=(), gap=0.05):
        self.low, self.high, self.avoid, self.gap = low, high, avoid, gap

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        x = rng.uniform(self.low, self.high, shape)
        for point in self.avoid:
            near = np.abs(x - point) < self.gap
            x = np.where(near, point + np.where(x < point, -2, 2) * self.gap, x)
        return x.astype(dtype)


class distinct(_Domain):  # noqa: N801
    """Numbers no two of which are close, in random order: for ops with ties."""

    def __init__(self, low=-3.0, high=3.0):
        self.low, self.high = low, high

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        size = int(np.prod(shape, dtype=int))
        return rng.permutation(np.linspace(self.low, self.high, size)).reshape(shape).astype(dtype)


class complex_uniform(_Domain):  # noqa: N801
    """Complex numbers with both parts spread evenly over an interval, twice as wide as the dtype asked for."""

    def __init__(self, low=-3.0, high=3.0):
        self.low, self.high = low, high

    def draw(self, rng, shape, dtype):
        """An array of such numbers."""
        x = rng.uniform(self.low, self.high, (2, *shape))
        return (x[0] + 1j * x[1]).astype(np.complex128 if np.dtype(dtype).itemsize > 4 else np.complex64)


class well_conditioned(_Domain):  # noqa: N801
    """Matrices far from singular: small numbers, with one to two on the diagonal; `is_definite` for symmetric ones."""

    def __init__(self, is_definite=False):
        self.is_definite = is_definite

    def draw(self, rng, shape, dtype):
        """An array of such matrices in its last two axes."""
        x = rng.uniform(-0.5, 0.5, shape) + np.eye(*shape[-2:]) * rng.uniform(1, 2, (*shape[:-2], 1, shape[-1]))
        return (x @ x.swapaxes(-1, -2) + 0.5 * np.eye(shape[-1]) if self.is_definite else x).astype(dtype)


class of(_Domain):  # noqa: N801
    """An operand of a given shape, drawn from a domain."""

    def __init__(self, shape, domain=None):
        self.shape, self.domain = shape, uniform() if domain is None else domain

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
