"""Random tensors. `generator` is the `Generator` to draw from; without one, the default generator, which `manual_seed` sets."""

from math import prod
from typing import Any, Never

import numpy as np

from ..backend import move
from ..core.dispatch import plain
from ..core.value import Value
from ..dtypes import as_dtype, default_float, is_float
from ..errors import ArgumentError, ShapeError
from ..ops.elementary.conversions import astype
from ..ops.manipulation.gathering import take
from ..ops.random.draws import (
    default_generator,
    random_integers,
    random_normal,
    random_permutation,
    random_uniform,
    words_per_number,
)
from ..shapes import sizes
from .creation import _shape, asarray
from .tensor import Tensor


def rand(*shape, generator=None, dtype=None, device=None, requires_grad=False, **others: Never):
    """Numbers spread evenly over [0, 1), in a shape given as one tuple or several integers.

    >>> rg.rand(2, 3).shape
    (2, 3)
    """
    return _placed(_floats(random_uniform, _shape(shape, "rand", others), generator, dtype), device, requires_grad)


def randn(*shape, generator=None, dtype=None, device=None, requires_grad=False, **others: Never):
    """Normally distributed numbers of mean 0 and variance 1, in a shape given as one tuple or several integers."""
    return _placed(_floats(random_normal, _shape(shape, "randn", others), generator, dtype), device, requires_grad)


def rand_like(x, generator=None, dtype=None, requires_grad=False):
    """`rand` in the shape, dtype and place of `x`."""
    return rand(x.shape, generator=generator, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


def randn_like(x, generator=None, dtype=None, requires_grad=False):
    """`randn` in the shape, dtype and place of `x`."""
    return randn(x.shape, generator=generator, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


def uniform(low: Any = 0.0, high: Any = 1.0, size=None, generator=None, dtype=None, device=None, requires_grad=False):
    """Numbers spread evenly from `low` to `high`, in the shape `size`, by default that of `low` and `high` together.

    Gradients flow to `low` and `high` that are tensors, since a number is `low + (high - low) * u` with `u` in [0, 1).
    """
    numbers = _floats(random_uniform, shape_of_draw(size, low, high), generator, dtype or float_type(low, high))
    return _placed(_spread(numbers, high - low, low), device, requires_grad)


def normal(mean: Any = 0.0, std: Any = 1.0, size=None, generator=None, dtype=None, device=None, requires_grad=False):
    """Normally distributed numbers, in the shape `size`, by default that of `mean` and `std` together.

    Gradients flow to `mean` and `std` that are tensors, since a number is `mean + std * n` with `n` of mean 0 and variance 1.
    """
    check_parameter("normal", "std", std, is_zero_fine=True)
    numbers = _floats(random_normal, shape_of_draw(size, mean, std), generator, dtype or float_type(mean, std))
    return _placed(_spread(numbers, std, mean), device, requires_grad)


def _spread(numbers, scale, shift):
    """`numbers * scale + shift`, whose dtype Python numbers do not change: NumPy would make float32 of bfloat16."""
    scaled = numbers * scale
    scaled = scaled.astype(numbers.dtype, copy=False) if isinstance(scale, (int, float)) else scaled
    found = scaled + shift
    return found.astype(scaled.dtype, copy=False) if isinstance(shift, (int, float)) else found


def shape_of_draw(size, *parameters):
    """The shape of a draw with `parameters`: theirs together, or `size`, into which they must fit."""
    shape = np.broadcast_shapes(*[np.shape(plain(p)) for p in parameters])
    if size is None:
        return shape
    size = sizes(size)
    lead = (1,) * (len(size) - len(shape))
    if len(shape) > len(size) or any(n not in (1, m) for n, m in zip((*lead, *shape), size, strict=True)):
        raise ShapeError(f"the parameters, of shape {shape} together, must fit the size of the draw, got {size}")
    return size


def float_type(*parameters):
    """The float type of a draw with `parameters`: that of the tensors and arrays among them, or the default one."""
    given = [p.dtype for p in parameters if hasattr(p, "dtype") and is_float(p.dtype)]
    return np.result_type(*given) if given else default_float


def check_parameter(draw, name, value, is_zero_fine=False):
    """Raise an ArgumentError unless all of `value` is greater than 0 (or at least 0); what is being traced is not looked at."""
    if isinstance(value, Value) and value.is_traced:
        return
    found = np.asarray(plain(value))
    if not ((found >= 0) if is_zero_fine else (found > 0)).all():
        raise ArgumentError(f"{draw} needs {name} {'>= 0' if is_zero_fine else '> 0'}, got {found.min() if found.ndim else found}")


def randint(low: Any, high: Any = None, size=None, generator=None, dtype=None, device=None):
    """Integers from `low` up to but not including `high`, all equally likely; `randint(high, size)` starts from 0.

    >>> rg.randint(5, (2, 3)).shape
    (2, 3)
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:  # randint(high, size=...)
        low, high = 0, low
    if not low < high:
        raise ArgumentError(f"randint needs low < high, got {low} and {high}")
    shape = sizes(() if size is None else size)
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
    state = (generator or default_generator).take(words)
    # Nothing is traced where the state is an array, and nothing is recorded.
    return (op.op.kernel if state.__class__ is np.ndarray else op)(state, shape, dtype)


def _placed(numbers, device, requires_grad) -> Any:
    made = numbers if isinstance(numbers, Value) else Tensor(move(numbers, device or "cpu"))
    if requires_grad:
        made.requires_grad = True
    return made
