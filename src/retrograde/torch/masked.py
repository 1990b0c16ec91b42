"""`torch.masked`: reductions of the elements where a mask is true, of which those elsewhere do not count."""

import math

import numpy as np

from ..dtypes import as_dtype
from . import kinds, shapes
from .absent import absent_from
from .composed import nanmedian
from .indexing import where
from .kinds import operand
from .methods import FUNCTIONS
from .nn import functional

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


def _filled(input, mask, value):
    """`input`, with a value where the mask is false."""
    return input if mask is None else where(mask, input, _limit(value, input.dtype))


def _limit(value, dtype):
    """An infinity as a number of a dtype."""
    if dtype.kind in "fcV" or not math.isinf(value):
        return value
    limits = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return limits[value > 0]


def _cast(input, dtype):
    x = operand(input)
    return x if dtype is None else x.to(as_dtype(dtype))


def _reduced(name, start):
    function = FUNCTIONS[name]

    def reduce(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = _cast(input, dtype)
        if dtype is None and name in ("sum", "prod") and x.dtype.kind in "biu":
            x = x.to("int64")
        return function(_filled(x, mask, start), None if dim in ((), []) else dim, keepdim)

    reduce.__name__, reduce.__doc__ = name, f"`torch.{name}` of the elements where the mask is true."
    return reduce


sum, prod = _reduced("sum", 0), _reduced("prod", 1)
amax, amin = _reduced("amax", -math.inf), _reduced("amin", math.inf)


def _placed(name, start):
    function = FUNCTIONS[name]

    def find(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = _cast(input, dtype)
        return function(_filled(x, mask, start), dim, keepdim).to(x.dtype)

    find.__name__, find.__doc__ = name, f"`torch.{name}` of the elements where the mask is true."
    return find


argmax, argmin = _placed("argmax", -math.inf), _placed("argmin", math.inf)


def _running(function, start, name):
    def run(input, dim, *, dtype=None, mask=None):
        x = _cast(input, dtype)
        found = function(_filled(x, mask, start), dim)
        return found.to(x.dtype) if x.dtype.kind in "iu" and found.dtype.kind in "iu" else found

    run.__name__, run.__doc__ = name, f"`{name}` along `dim` of the elements where the mask is true."
    return run


cumsum, cumprod = _running(FUNCTIONS["cumsum"], 0, "cumsum"), _running(FUNCTIONS["cumprod"], 1, "cumprod")
softmax = _running(functional.softmax, -math.inf, "softmax")
log_softmax = _running(functional.log_softmax, -math.inf, "log_softmax")
softmin = _running(functional.softmin, math.inf, "softmin")


def _count(x, mask, dim, keepdim):
    """How many elements count, over `dim`."""
    ones = x.new_ones(tuple(x.shape), dtype="int64") if mask is None else shapes.expand(mask, tuple(x.shape)).to("int64")
    return FUNCTIONS["sum"](ones, None if dim in ((), []) else dim, keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements where the mask is true."""
    x = _cast(input, dtype)
    return sum(x, dim, keepdim=keepdim, mask=mask) / _count(x, mask, dim, keepdim)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower one of the two elements in the middle of those where the mask is true."""
    x = _cast(input, dtype)
    x = x if x.is_floating_point() else x.to(kinds.default_dtype())
    return nanmedian(_filled(x, mask, math.nan), dim, keepdim).values


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of the elements where the mask is true."""
    x = _filled(_cast(input, dtype), mask, math.inf if ord == -math.inf else 0.0)
    if ord < 0 and ord != -math.inf:
        x = _filled(_cast(input, dtype), mask, math.inf)
    return FUNCTIONS["norm"](x, ord, None if dim in ((), []) else dim, keepdim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements over the norm along `dim` of those where the mask is true."""
    x = _cast(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0.0) / size.clamp(min=eps)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exponentials of the elements where the mask is true."""
    return FUNCTIONS["logsumexp"](_filled(_cast(input, dtype), mask, -math.inf), () if dim is None else dim, keepdim)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """The logarithm of the sum of two exponentials, where the masks are true."""
    x, y = _cast(input, dtype), _cast(other, dtype)
    return FUNCTIONS["logaddexp"](_filled(x, input_mask, -math.inf), _filled(y, other_mask, -math.inf))


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask):
    x = _cast(input, dtype)
    x = x if x.dtype.kind in "fcV" else x.to(kinds.default_dtype())
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    centred = x - mean(x, dim, keepdim=True, mask=mask)
    squares = (centred * centred.conj()).real if x.is_complex() else centred * centred
    count = _count(x, mask, dim, keepdim) - correction
    return sum(squares, dim, keepdim=keepdim, mask=mask) / count.clamp(min=0)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements where the mask is true."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements where the mask is true."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


__getattr__ = absent_from("torch.masked", lambda: __all__)
