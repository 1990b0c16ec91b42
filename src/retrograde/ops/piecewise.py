"""Activations made of straight pieces and other simple functions, built from ops. Names and arguments are PyTorch's."""

from ..errors import ArgumentError, ShapeError
from ..shapes import one_axis
from .activation import elu, sigmoid
from .arithmetic import abs
from .comparisons import clip, greater, where
from .movements import reshape
from .selections import getitem
from .trigonometric import tanh


def hardtanh(x, /, min_val=-1.0, max_val=1.0):
    """`x`, but at least `min_val` and at most `max_val`.

    >>> rg.nn.functional.hardtanh(rg.tensor([-2.0, 0.5, 2.0]))
    tensor([-1. ,  0.5,  1. ])
    """
    return clip(x, min_val, max_val)


def relu6(x, /):
    """`x` where it lies between 0 and 6, the nearer of these outside."""
    return clip(x, 0, 6)


def hardsigmoid(x, /):
    """A logistic function made of straight pieces: 0 below -3, 1 above 3, `x / 6 + 1 / 2` between."""
    return clip(x + 3, 0, 6) * (1 / 6)


def softsign(x, /):
    """`x` divided by 1 plus its size."""
    return x / (1 + abs(x))


def tanhshrink(x, /):
    """`x` less its hyperbolic tangent."""
    return x - tanh(x)


def softshrink(x, /, lambd=0.5):
    """`x` moved towards 0 by `lambd`, and 0 where it is nearer than that."""
    if lambd < 0:
        raise ArgumentError(f"softshrink needs lambd >= 0, got {lambd}")
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))


def hardshrink(x, /, lambd=0.5):
    """`x`, and 0 where it is at most `lambd` from 0."""
    return where(greater(abs(x), lambd), x, x * 0)


def threshold(x, /, threshold, value):
    """`x` where it is above `threshold`, else `value`."""
    return where(x > threshold, x, value)


def celu(x, /, alpha=1.0):
    r"""`x` where it is positive, else $\alpha\,(e^{x / \alpha} - 1)$. Barron (2017)."""
    return elu(x * (1 / alpha)) * alpha


def prelu(x, /, weight):
    """`x` where it is positive, else `weight` times `x`: one weight, or one for each channel, axis 1. He et al. (2015)."""
    if weight.size > 1:
        if x.ndim < 2 or x.shape[1] != weight.size:
            raise ShapeError(f"prelu needs one weight or as many as channels, got {weight.shape} for {x.shape}")
        weight = reshape(weight, (-1, *[1] * (x.ndim - 2)))
    return where(x > 0, x, weight * x)


def glu(x, /, dim=-1):
    """The first half of `x` along `dim`, times the logistic function of the second. Dauphin et al. (2017)."""
    axis = one_axis(dim, x.ndim)
    if x.shape[axis] % 2:
        raise ShapeError(f"glu needs an even number of elements along axis {dim}, got {x.shape[axis]}")
    half, before = x.shape[axis] // 2, (slice(None),) * axis
    return getitem(x, (*before, slice(None, half))) * sigmoid(getitem(x, (*before, slice(half, None))))
