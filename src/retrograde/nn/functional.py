"""Functions of layers and losses under PyTorch's names and arguments. The axis of a softmax may be called `dim` or `axis`."""

from ..errors import ArgumentError
from ..ops import activation, borders
from ..ops.activation import elu, gelu, hardswish, leaky_relu, log_sigmoid, mish, relu, selu, sigmoid, silu, softplus
from ..ops.classification import cross_entropy, nll_loss
from ..ops.convolution import conv1d, conv2d
from ..ops.convolutions import conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.dropout import dropout
from ..ops.dropout import feature_dropout as dropout2d
from ..ops.linear import linear
from ..ops.loss import binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, l1_loss, mse_loss, smooth_l1_loss
from ..ops.movements import shrink
from ..ops.patches import columns_to_image as fold
from ..ops.patches import image_to_columns as unfold
from ..ops.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from ..ops.resampling import interpolate
from ..ops.trigonometric import tanh
from ..ops.windows import (
    adaptive_avg_pool1d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool3d,
    lp_pool2d,
    max_pool1d,
    max_pool3d,
)
from ..tensor.distributions import gumbel_softmax

logsigmoid = log_sigmoid


def softmax(input, dim=-1, *, axis=None):
    """Exponentials of `input` divided by their sum over `dim`.

    >>> rg.nn.functional.softmax(rg.zeros(2, 2), dim=1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return activation.softmax(input, dim if axis is None else axis)


def log_softmax(input, dim=-1, *, axis=None):
    """Logarithm of `softmax`, precise where that underflows."""
    return activation.log_softmax(input, dim if axis is None else axis)


def pad(input, pad, mode="constant", value=None):
    """`input` with a border: `pad` lists (before, after) from the last axis on; `mode` is as in `rg.pad`.

    As in PyTorch a negative number takes elements away.

    >>> rg.nn.functional.pad(rg.ones(1, 2), (1, 2)).tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0]]
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ArgumentError(f"pad needs two numbers for each axis from the last on, of {input.ndim} at most, got {tuple(pad)}")
    widths = [(0, 0)] * input.ndim
    widths[input.ndim - len(pad) // 2 :] = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    if any(n + sum(w) < 0 for n, w in zip(input.shape, widths, strict=True)):
        raise ArgumentError(f"pad takes away more elements than there are: {tuple(pad)} of shape {tuple(input.shape)}")
    outside, inside = [(max(a, 0), max(b, 0)) for a, b in widths], [(max(-a, 0), max(-b, 0)) for a, b in widths]
    if mode == "circular":  # the ring is closed after what is taken away
        return borders.pad(_within(input, inside), outside, mode)
    return _within(borders.pad(input, outside, mode, 0 if value is None else value), inside)


def _within(x, widths):
    if not any(max(w) for w in widths):
        return x
    return shrink(x, tuple((a, n - b) for (a, b), n in zip(widths, x.shape, strict=True)))
