"""Initialisers: write the first numbers into a tensor, in place, and return it. Names and defaults are PyTorch's.

`generator` is the `rg.Generator` to draw from; without one, the default generator, which `rg.manual_seed` sets.
"""

import math

import numpy as np

from ..core.mode import no_grad
from ..errors import ArgumentError, ShapeError
from ..tensor import random

_GAINS = {"linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity, param=None):
    """The factor by which to widen weights before a nonlinearity, such as "relu", so that variances are kept.

    >>> rg.nn.init.calculate_gain("tanh") == 5 / 3
    True
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ArgumentError(f"nonlinearity must be one of {', '.join([*_GAINS, 'leaky_relu'])}, got {nonlinearity!r}")
    return _GAINS[nonlinearity]


def constant_(tensor, val):
    """Write `val` everywhere."""
    with no_grad():
        tensor[...] = val
    return tensor


def zeros_(tensor):
    """Write 0 everywhere."""
    return constant_(tensor, 0)


def ones_(tensor):
    """Write 1 everywhere."""
    return constant_(tensor, 1)


def eye_(tensor):
    """Write the identity matrix."""
    return constant_(tensor, np.eye(*tensor.shape, dtype=tensor.dtype))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers spread evenly from `a` to `b`."""
    return constant_(tensor, random.uniform(a, b, tensor.shape, generator, tensor.dtype))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normally distributed numbers."""
    return constant_(tensor, random.normal(mean, std, tensor.shape, generator, tensor.dtype))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normally distributed numbers, those outside `a` to `b` drawn again."""
    numbers = random.normal(mean, std, tensor.shape, generator, tensor.dtype).numpy()
    while (outside := (numbers < a) | (numbers > b)).any():
        numbers[outside] = random.normal(mean, std, (int(outside.sum()),), generator, tensor.dtype).numpy()
    return constant_(tensor, numbers)


def xavier_uniform_(tensor, gain=1.0, generator=None):
    r"""Evenly from $-a$ to $a$ with $a = g \sqrt{6 / (n_{in} + n_{out})}$ (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    r"""Normal with standard deviation $g \sqrt{2 / (n_{in} + n_{out})}$ (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    r"""Evenly from $-b$ to $b$ with $b = g \sqrt{3 / n}$; $g$ is the gain, $a$ the slope of leaky_relu (He et al., 2015)."""
    bound = math.sqrt(3) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    r"""Normal with standard deviation $g / \sqrt n$ (He et al., 2015)."""
    return normal_(tensor, 0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def _kaiming_deviation(tensor, a, mode, nonlinearity):
    modes = ("fan_in", "fan_out")
    if mode not in modes:
        raise ArgumentError(f'mode must be "fan_in" or "fan_out", got {mode!r}')
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fans(tensor)[modes.index(mode)], 1))


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix, times `gain`: axis 0 against all others (Saxe et al., 2014)."""
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ needs at least two axes, got shape {tensor.shape}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    numbers = random.normal(0, 1, (max(rows, columns), min(rows, columns)), generator, np.dtype("float64")).numpy()
    q, r = np.linalg.qr(numbers)
    q = q * np.sign(np.diag(r))
    return constant_(tensor, (gain * (q if rows >= columns else q.T)).reshape(tensor.shape).astype(tensor.dtype))


def dirac_(tensor, groups=1):
    """A convolution's weight, of three to five axes, that passes as many channels on as they are as it can, in each of `groups`.

    >>> rg.nn.init.dirac_(rg.zeros(1, 1, 3)).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    if not 3 <= tensor.ndim <= 5 or tensor.shape[0] % groups:
        raise ShapeError(f"dirac_ needs a weight of 3, 4 or 5 axes whose first {groups} groups divide, got shape {tensor.shape}")
    numbers, rows = np.zeros(tensor.shape, tensor.dtype), tensor.shape[0] // groups
    middle = tuple([n // 2 for n in tensor.shape[2:]])
    for start in range(0, tensor.shape[0], rows):
        for i in range(min(rows, tensor.shape[1])):
            numbers[(start + i, i, *middle)] = 1
    return constant_(tensor, numbers)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal with standard deviation `std`, but zero in the part `sparsity` of each column, drawn anew (Martens, 2010)."""
    if tensor.ndim != 2 or not 0 <= sparsity <= 1:
        raise ArgumentError(f"sparse_ needs two axes and a sparsity between 0 and 1, got shape {tensor.shape} and {sparsity}")
    numbers = random.normal(0, std, tensor.shape, generator, tensor.dtype).numpy()
    order = np.argsort(random.rand(*tensor.shape, generator=generator).numpy(), axis=0)
    np.put_along_axis(numbers, order[: math.ceil(sparsity * tensor.shape[0])], 0, axis=0)
    return constant_(tensor, numbers)


def fans(tensor):
    """How many inputs feed an output of a layer with this weight, and how many outputs an input feeds."""
    if tensor.ndim < 2:
        raise ShapeError(f"this initialiser needs a weight with at least two axes, got shape {tensor.shape}")
    taps = math.prod(tensor.shape[2:])
    return tensor.shape[1] * taps, tensor.shape[0] * taps
