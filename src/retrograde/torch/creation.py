"""New tensors in PyTorch's spelling and with its dtypes."""

import math
from typing import Any

import numpy as np

from ..core.value import Value, of_kind
from ..dtypes import as_dtype, complex64, int64
from ..errors import ArgumentError, DTypeError, OutOfRangeError
from ..ops import complexes
from ..ops.manipulation import joins
from ..shapes import unpacked
from ..tensor import creation as rg
from ..tensor import random as draws
from . import kinds
from .devices import placed
from .kinds import DEFAULT, operand


def of(x):
    """What a function of ours made, as a tensor of PyTorch's meaning."""
    return x if isinstance(x, kinds.TorchTensor) else of_kind(x, kinds.TorchTensor.kind)


def _type(dtype):
    return DEFAULT[0] if dtype is None else as_dtype(dtype)


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with a copy of `data`: Python floats have the default dtype, integers int64, arrays their own.

    >>> import retrograde.torch as torch
    >>> torch.tensor([1.0, 2.0]).dtype, torch.tensor([1, 2]).dtype, torch.tensor(True).dtype
    (dtype('float32'), dtype('int64'), dtype('bool'))
    """
    placed(device)
    made = rg.tensor(data, dtype if dtype is None else as_dtype(dtype))
    if dtype is None and DEFAULT[0] != "float32" and not hasattr(data, "dtype") and made.dtype in ("float32", "complex64"):
        made = rg.tensor(data, DEFAULT[0] if made.dtype == "float32" else "complex128")
    return of(made).requires_grad_(requires_grad)


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, of the same memory and the same graph where it is a tensor or an array."""
    placed(device)
    if isinstance(data, Value):
        found = operand(data, "data")
        return found if dtype is None or found.dtype == as_dtype(dtype) else found.astype(dtype)
    if isinstance(data, np.ndarray) and dtype in (None, data.dtype):
        return from_numpy(data)
    if isinstance(data, (list, tuple)) and any([isinstance(x, Value) for x in data]):
        return of(rg.asarray(data, dtype))
    return tensor(data, dtype=dtype)


asarray = as_tensor


def from_numpy(ndarray):
    """A tensor of the memory of an array."""
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy takes an array of NumPy's, got {type(ndarray).__name__}; use torch.tensor(data)")
    return of(rg.asarray(ndarray))


def scalar_tensor(value, *, dtype=None, device=None, requires_grad=False):
    """A tensor without axes."""
    return tensor(value, dtype=dtype or DEFAULT[0], device=device, requires_grad=requires_grad)


def _of_shape(make) -> Any:
    def create(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, memory_format=None,
               generator=None,
               names=None, **given):
        if "size" in given:
            size = (given.pop("size"),)
        if given:
            raise TypeError(f"torch.{make.__name__}() got an unexpected keyword argument {next(iter(given))!r}; write y = "
                            f"torch.{make.__name__}(...) in place of out=")
        placed(device)
        return of(make(_sizes(size), _type(dtype), generator)).requires_grad_(requires_grad)

    create.__name__, create.__doc__ = make.__name__, make.__doc__
    return create


def _sizes(size):
    return tuple(map(int, unpacked(size)))


@_of_shape
def zeros(size, dtype, _):
    """Zeros."""
    return rg.zeros(size, dtype=dtype)


@_of_shape
def ones(size, dtype, _):
    """Ones."""
    return rg.ones(size, dtype=dtype)


@_of_shape
def empty(size, dtype, _):
    """A tensor whose elements are not set yet."""
    return rg.empty(size, dtype=dtype)


@_of_shape
def rand(size, dtype, generator):
    """Numbers spread evenly from 0 to 1."""
    return draws.rand(size, dtype=dtype, generator=generator)


@_of_shape
def randn(size, dtype, generator):
    """Normally distributed numbers."""
    return draws.randn(size, dtype=dtype, generator=generator)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """One number everywhere."""
    placed(device)
    dtype = dtype or (None if isinstance(fill_value, (Value, bool)) else int64 if isinstance(fill_value, int) else DEFAULT[0]
                      if isinstance(fill_value, float) else complex64 if isinstance(fill_value, complex) else None)
    return of(rg.full(_sizes((size,)), fill_value, dtype)).requires_grad_(requires_grad)


def _like(make, *also):
    def create(input, *given, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None, pin_memory=False,
               generator=None, **named):
        placed(device)
        x = operand(input)
        given = (*given, *[named.pop(name) for name in also[len(given):]])
        if named or len(given) != len(also):
            raise TypeError(f"torch.{make.__name__}() takes {', '.join(('input', *also))}, got {[*named] or given}")
        return of(make(x, as_dtype(dtype) if dtype is not None else x.dtype, *given)).requires_grad_(requires_grad)

    create.__name__, create.__doc__ = make.__name__, make.__doc__
    return create


def _zeros_like(x, dtype):
    """Zeros in the shape and dtype of a tensor."""
    return rg.full_like(x, 0, dtype)


def _ones_like(x, dtype):
    """Ones in the shape and dtype of a tensor."""
    return rg.full_like(x, 1, dtype)


def _empty_like(x, dtype):
    """A tensor in the shape and dtype of another, whose elements are not set yet."""
    return rg.empty_like(x, dtype)


def _full_like(x, dtype, fill_value):
    """One number in the shape and dtype of a tensor."""
    return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype)


def _rand_like(x, dtype):
    """Numbers spread evenly from 0 to 1 in the shape and dtype of a tensor."""
    return draws.rand(tuple(x.shape), dtype=dtype)


def _randn_like(x, dtype):
    """Normally distributed numbers in the shape and dtype of a tensor."""
    return draws.randn(tuple(x.shape), dtype=dtype)


zeros_like, ones_like, empty_like = _like(_zeros_like), _like(_ones_like), _like(_empty_like)
full_like, rand_like, randn_like = _like(_full_like, "fill_value"), _like(_rand_like), _like(_randn_like)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype=None, device=None, requires_grad=False, layout=None,
           pin_memory=False):
    """Numbers from `start` to `end`, which is left out, `step` apart: int64 if all are integers."""
    placed(device)
    start, end = (0, start) if end is None else (start, end)
    start, end, step = [x.item() if isinstance(x, (Value, np.generic)) else x for x in (start, end, step)]
    if (end - start) * step < 0:
        raise ArgumentError(f"arange needs a step that leads from start to end, got {start}, {end} and step {step}")
    if dtype is None and any([isinstance(x, float) for x in (start, end, step)]):
        dtype = DEFAULT[0]
    elif dtype is not None and _type(dtype).kind in "iu":
        return _integers_from(start, end, step, _type(dtype)).requires_grad_(requires_grad)
    return of(rg.arange(start, end, step, dtype)).requires_grad_(requires_grad)


def _integers_from(start, end, step, dtype):
    """`arange` of integers. Their fractions are cut off: in int64 before numbers are counted, in other dtypes after it."""
    first, stride = int(start), int(step)
    if not stride:
        raise ArgumentError(f"arange needs a step of at least 1 in size for integers, got {step}")
    count = -((first - int(end)) // stride) if dtype == int64 else math.ceil((end - start) / step)
    return of(rg.arange(first, first + stride * max(count, 0), stride, "int64")).to(dtype)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers evenly spread from `start` to `end`."""
    placed(device)
    start, end = [x.item() if isinstance(x, Value) else x for x in (start, end)]
    found: Any = _type(dtype)
    if found.kind in "iu":
        limits = np.iinfo(found)
        if not limits.min <= min(start, end) <= max(start, end) <= limits.max:
            raise OutOfRangeError(f"linspace of {found} needs bounds from {limits.min} to {limits.max}, got {start} and "
                                  f"{end}")
        return of(rg.linspace(start, end, steps, "float64")).to(dtype).requires_grad_(requires_grad)
    return of(rg.linspace(start, end, steps, found)).requires_grad_(requires_grad)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """Powers of `base`, evenly spread from `base ** start` to `base ** end`."""
    placed(device)
    start, end, base = [x.item() if isinstance(x, Value) else x for x in (start, end, base)]
    return from_numpy(np.logspace(start, end, steps, base=base).astype(_type(dtype))).requires_grad_(requires_grad)


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """Ones on the diagonal, zeros elsewhere."""
    placed(device)
    return of(rg.eye(n, m, dtype=_type(dtype))).requires_grad_(requires_grad)


def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Integers from `low` (0 if there is one bound) to `high`, which is left out."""
    if size is None:  # randint(high, size)
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        raise ArgumentError("randint needs a size, as in torch.randint(10, (3,))")
    placed(device)
    return of(draws.randint(low, high, tuple(size), generator=generator, dtype=dtype or int64)).requires_grad_(requires_grad)


def randint_like(input, low, high=None, *, dtype=None, device=None, requires_grad=False):
    """Integers from `low` (0 if there is one bound) to `high` in the shape and dtype of a tensor."""
    return randint(low, high, tuple(input.shape), dtype=dtype or input.dtype, device=device, requires_grad=requires_grad) if (
        high is not None) else randint(0, low, tuple(input.shape), dtype=dtype or input.dtype)


def randperm(n, *, generator=None, dtype=int64, device=None, requires_grad=False, pin_memory=False):
    """The integers below `n` in a random order."""
    placed(device)
    return of(draws.permutation(n, generator=generator)).to(dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False,
           layout=None, pin_memory=False):
    """Normally distributed numbers of a mean and a standard deviation, which may be tensors."""
    placed(device)
    return of(draws.normal(mean, std, size=None if size is None else tuple(size), generator=generator, dtype=dtype))


def bernoulli(input, p=None, *, generator=None):
    """1 with the chance that each element gives, else 0."""
    x = operand(input)
    chance = x if p is None else full_like(x, p)
    return (of(draws.rand(tuple(x.shape), dtype=chance.dtype, generator=generator)) < chance).to(x.dtype)


def complex(real, imag):
    """A complex tensor of its parts."""
    return complexes.complex(operand(real, "real"), operand(imag, "imag"))


def polar(abs, angle):
    """A complex tensor of lengths and angles."""
    return complexes.polar(operand(abs, "abs"), operand(angle, "angle"))


def tril_indices(row, col, offset=0, *, dtype=int64, device=None):
    """The positions of the lower triangle: rows, and columns."""
    return from_numpy(np.stack(np.tril_indices(row, offset, col)).astype(dtype))


def triu_indices(row, col, offset=0, *, dtype=int64, device=None):
    """The positions of the upper triangle: rows, and columns."""
    return from_numpy(np.stack(np.triu_indices(row, offset, col)).astype(dtype))


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Classes drawn with the weights in each row."""
    x = operand(input).detach()
    if replacement:
        chances = (x / x.sum(-1, True)).cumsum(-1)
        points = of(draws.rand((*tuple(x.shape[:-1]), num_samples), dtype=x.dtype, generator=generator))
        found = (points.unsqueeze(-1) >= chances.unsqueeze(-2)).sum(-1)
        return found.clamp(max=x.shape[-1] - 1)
    noise = of(draws.rand(tuple(x.shape), dtype=x.dtype, generator=generator))
    keys = (-noise.log()) / x  # the smallest of exponential times of these rates are a draw without replacement
    return keys.topk(num_samples, -1, largest=False).indices


def cartesian_prod(*tensors: Any):
    """All combinations of an element of each vector, a row for each."""
    if len(tensors) == 1:
        return operand(tensors[0])
    grid = np.stack(np.meshgrid(*[np.arange(len(t)) for t in tensors], indexing="ij"), -1).reshape(-1, len(tensors))
    return joins.stack([operand(t)[grid[:, i]] for i, t in enumerate(tensors)], 1)
