"""Random tensors. `generator` is the `Generator` to draw from; without one, the default generator, which `manual_seed` sets."""

from math import prod
from typing import Any

from ..backend import move
from ..core.value import Value
from ..dtypes import as_dtype, default_float
from ..errors import ArgumentError
from ..ops.conversions import astype
from ..ops.gathering import take
from ..ops.random import (
    default_generator,
    random_integers,
    random_normal,
    random_permutation,
    random_uniform,
    words_per_number,
)
from .creation import _shape, asarray
from .tensor import Tensor


def rand(*shape, generator=None, dtype=None, device=None, requires_grad=False):
    """Numbers spread evenly over [0, 1), in a shape given as one tuple or several integers.

    >>> rg.rand(2, 3).shape
    (2, 3)
    """
    return _placed(_floats(random_uniform, _shape(shape), generator, dtype), device, requires_grad)


def randn(*shape, generator=None, dtype=None, device=None, requires_grad=False):
    """Normally distributed numbers of mean 0 and variance 1, in a shape given as one tuple or several integers."""
    return _placed(_floats(random_normal, _shape(shape), generator, dtype), device, requires_grad)


def rand_like(x, generator=None, dtype=None, requires_grad=False):
    """`rand` in the shape, dtype and place of `x`."""
    return rand(x.shape, generator=generator, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


def randn_like(x, generator=None, dtype=None, requires_grad=False):
    """`randn` in the shape, dtype and place of `x`."""
    return randn(x.shape, generator=generator, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


def uniform(low=0.0, high=1.0, size=(), generator=None, dtype=None, device=None, requires_grad=False):
    """Numbers spread evenly from `low` to `high`, in the shape `size`."""
    numbers = _floats(random_uniform, _size(size), generator, dtype)
    return _placed(numbers * (high - low) + low, device, requires_grad)


def normal(mean=0.0, std=1.0, size=(), generator=None, dtype=None, device=None, requires_grad=False):
    """Normally distributed numbers of the given mean and standard deviation, in the shape `size`."""
    if std < 0:
        raise ArgumentError(f"normal needs std >= 0, got {std}")
    numbers = _floats(random_normal, _size(size), generator, dtype)
    return _placed(numbers * std + mean, device, requires_grad)


def randint(low: Any, high: Any = None, size=None, generator=None, dtype=None, device=None):
    """Integers from `low` up to but not including `high`, all equally likely; `randint(high, size)` starts from 0.

    >>> rg.randint(5, (2, 3)).shape
    (2, 3)
    """
    if size is None:
        low, high, size = 0, low, high
    if not low < high:
        raise ArgumentError(f"randint needs low < high, got {low} and {high}")
    shape = _size(() if size is None else size)
    state = (generator or default_generator).take(2 * prod(shape))
    numbers = random_integers(state, shape, low, high)
    return _placed(numbers if dtype is None else astype(numbers, dtype), device, False)


def permutation(x: Any, generator=None, device=None):
    """The numbers below the integer `x`, or the entries of `x` along its first axis, in random order."""
    is_count = not isinstance(x, Value) and not hasattr(x, "shape")
    size: Any = x if is_count else x.shape[0]
    order = random_permutation((generator or default_generator).take(2 * size), size)
    return _placed(order if is_count else take(asarray(x), order, 0), device, False)


randperm = permutation


def bernoulli(p, generator=None):
    """1 with the probability that each element of `p` gives, else 0; in the shape and dtype of `p`. No gradient."""
    p = asarray(p)
    return astype(rand(p.shape, generator=generator, dtype=p.dtype, device=p.device) < p, p.dtype)


def _floats(op, shape, generator, dtype):
    dtype = as_dtype(dtype or default_float)
    # Normal numbers are made in pairs.
    words = 2 * words_per_number(dtype) * -(-prod(shape) // 2)
    return op((generator or default_generator).take(words), shape, dtype)


def _size(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


def _placed(numbers, device, requires_grad):
    made = numbers if isinstance(numbers, Value) else Tensor(move(numbers, device or "cpu"))
    if requires_grad:
        made.requires_grad = True
    return made
