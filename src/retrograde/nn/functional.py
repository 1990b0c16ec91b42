"""Functions of layers and losses under PyTorch's names and arguments. The axis of a softmax may be called `dim` or `axis`."""

from ..ops import activation
from ..ops.activation import elu, gelu, hardswish, leaky_relu, log_sigmoid, mish, relu, selu, sigmoid, silu, softplus
from ..ops.classification import cross_entropy, nll_loss
from ..ops.convolution import conv1d, conv2d
from ..ops.dropout import dropout
from ..ops.dropout import feature_dropout as dropout2d
from ..ops.linear import linear
from ..ops.loss import binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, l1_loss, mse_loss, smooth_l1_loss
from ..ops.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from ..ops.trigonometric import tanh

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
