"""Activations made of straight pieces and other simple functions, built from ops. Names and arguments are PyTorch's."""

from ...core.mode import whole
from ...errors import ArgumentError, ShapeError
from ...shapes import one_axis
from ..elementary.arithmetic import abs, sign
from ..elementary.comparisons import greater, where
from ..elementary.conversions import as_floats
from ..elementary.exponential import expm1
from ..elementary.trigonometric import tanh
from ..manipulation.movements import reshape
from ..manipulation.selections import getitem
from .activation import hardtanh, sigmoid


def relu6(x, /):
    """`x` where it lies between 0 and 6, the nearer of these outside; the derivative at 0 and 6 is 0.

    >>> rg.nn.functional.relu6(rg.tensor([-2.0, 0.5, 8.0]))
    tensor([0. , 0.5, 6. ])
    """
    return hardtanh(x, 0, 6)


def hardsigmoid(x, /):
    """A logistic function made of straight pieces: 0 up to -3, 1 from 3 on, `x / 6 + 1 / 2` between."""
    (x,) = as_floats(x)
    return hardtanh(x + 3, 0, 6) * (1 / 6)


def softsign(x, /):
    """`x` divided by 1 plus its size."""
    # Far out the derivative would be a difference of nearly equal quotients.
    size = abs(x)
    return where(size > 1, sign(x) * (1 - 1 / (1 + size)), x / (1 + where(size > 1, 1, size)))


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
    """`value` where `x` is at most `threshold`, else `x`: NaN stays NaN."""
    return where(x <= threshold, value, x)


def celu(x, /, alpha=1.0):
    r"""`x` where it is positive, else $\alpha\,(e^{x / \alpha} - 1)$. Barron (2017)."""
    if alpha == 0:
        raise ArgumentError("celu needs an alpha that is not 0")
    return where(x > 0, x, expm1(where(x > 0, 0, x) * (1 / alpha)) * alpha)


@whole
def prelu(x, /, weight):
    """`x` where it is positive, else `weight` times `x`: one weight, or one for each channel, axis 1. He et al. (2015)."""
    if weight.ndim > 1 or weight.size > 1 and (x.ndim < 2 or x.shape[1] != weight.size):
        raise ShapeError(f"prelu needs one weight or as many as channels, got {weight.shape} for {x.shape}")
    weight = reshape(weight, (-1, *[1] * (x.ndim - 2)) if weight.size > 1 else ())
    # The product is of what is not positive alone: neither infinity times 0 comes into a gradient.
    return where(x > 0, x, weight * where(x > 0, 0, x))


def glu(x, /, dim=-1):
    """The first half of `x` along `dim`, times the logistic function of the second. Dauphin et al. (2017)."""
    axis = one_axis(dim, x.ndim)
    if x.shape[axis] % 2:
        raise ShapeError(f"glu needs an even number of elements along axis {dim}, got {x.shape[axis]}")
    half, before = x.shape[axis] // 2, (slice(None),) * axis
    return getitem(x, (*before, slice(None, half))) * sigmoid(getitem(x, (*before, slice(half, None))))
