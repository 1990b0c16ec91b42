"""Batch norm taken into the layer before it, for serving: one layer does what two did."""

from copy import deepcopy

from ...core.mode import no_grad
from ...errors import ArgumentError
from ...ops.elementary.arithmetic import sqrt
from ...ops.manipulation.movements import reshape
from ..parameter import Parameter


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution `conv` that does what it and then the batch norm `bn` do in `eval()`.

    `transpose` says that `conv` is a transposed convolution.

    >>> conv, norm = rg.nn.Conv1d(2, 3, 2).eval(), rg.nn.BatchNorm1d(3).eval()
    >>> x = rg.ones(1, 2, 4)
    >>> bool(rg.abs(rg.nn.utils.fuse_conv_bn_eval(conv, norm)(x) - norm(conv(x))).max() < 1e-5)
    True
    """
    return _fused(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear, bn):
    """A copy of the layer `linear` that does what it and then the batch norm `bn` do in `eval()`."""
    return _fused(linear, bn, 0)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution with those of a batch norm and its running mean and variance taken in; None for none."""
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer with those of a batch norm and its running mean and variance taken in; None for none."""
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fused(layer, norm, axis):
    if layer.training or norm.training:
        raise ArgumentError("layers are fused for serving: call eval() on both first")
    if norm.running_mean is None:
        raise ArgumentError("batch norm without running statistics cannot be taken into another layer")
    groups = getattr(layer, "groups", 1) if axis else 1
    if groups > 1:
        raise ArgumentError(f"a transposed convolution of {groups} groups cannot take in batch norm; it must have one")
    made = deepcopy(layer)
    made.weight, made.bias = _weights(layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight,
                                      norm.bias, axis)
    return made


@no_grad()
def _weights(weight, bias, mean, variance, eps, scale, shift, axis):
    """The parameters after batch norm; `axis` is that of the outputs in `weight`."""
    factor = (1 if scale is None else scale) / sqrt(variance + eps)
    shape = [1] * weight.ndim
    shape[axis] = -1
    found = weight * reshape(factor, tuple(shape))
    offset = ((0 if bias is None else bias) - mean) * factor + (0 if shift is None else shift)
    wanted = True if bias is None else bias.requires_grad
    return Parameter(found.astype(weight.dtype), weight.requires_grad), Parameter(offset.astype(weight.dtype), wanted)
