"""Convolution in two dimensions and its two transposes, each of which is made of the other two in its derivative.

Arrays are (batch, channels, height, width), kernels (channels out, channels in per group, height, width), as in PyTorch.
"""

from importlib import import_module
from typing import Any

from .._families import contraction
from .._native import expensive_by_shape
from .._samples import call
from ..axes.reductions import sum
from ..manipulation.movements import expand_dims, squeeze
from ._convolving import (
    Geometry,
    backward_to_input,
    backward_to_weight,
    check_axes,
    check_bias,
    check_output,
    forward,
    has_one_dtype,
)


def _result_shape(x, weight, bias, *sizes):
    geometry = Geometry.of(x.shape, weight.shape, *sizes)
    check_bias(bias, geometry.outputs)
    return (geometry.batch, geometry.outputs, *geometry.result) if has_one_dtype(x, weight, bias) else NotImplemented


def _input_shape(x, weight, shape, *sizes):
    check_output(x, Geometry.of(shape, weight.shape, *sizes))
    return tuple(shape) if has_one_dtype(x, weight) else NotImplemented


def _weight_shape(x, y, shape, *sizes):
    check_output(y, Geometry.of(x.shape, shape, *sizes))
    return tuple(shape) if has_one_dtype(x, y) else NotImplemented


def _rewriting():
    """What makes simpler ops of convolutions. It is loaded when one is compiled."""
    return import_module(f"{__package__}._convolving_lines")


def _simpler(*args) -> Any:
    return _rewriting().simpler(conv2d, conv2d_weight, *args)


def _simpler_to_input(*args) -> Any:
    return _rewriting().simpler_to_input(conv2d_input, *args)


def _simpler_to_weight(*args) -> Any:
    return _rewriting().simpler_to_weight(conv2d_weight, conv2d, *args)


@contraction(faster=expensive_by_shape, optional=("bias",), result_shape=_result_shape, samples=(
    call((2, 2, 5, 4), (3, 2, 3, 2)), call((1, 2, 5, 5), (2, 2, 3, 3), (2,), padding=1, stride=2),
    call((2, 4, 4, 5), (4, 2, 2, 2), (4,), groups=2, dilation=(1, 2)), call((1, 1, 4, 4), (1, 1, 2, 3), padding="same"),
    call((0, 1, 3, 3), (2, 1, 2, 2)), call((2, 3, 4, 3), (2, 3, 1, 1), (2,), stride=(1, 2)),
    call((3, 2, 3, 2), (4, 2, 3, 2), (4,), stride=2), call((2, 2, 4, 5), (4, 1, 2, 5), (4,), stride=(2, 3), groups=2),
    call((2, 2, 3, 6), (2, 2, 3, 2), padding=(0, 1), dilation=(1, 2)), call((1, 2, 4, 7), (2, 2, 2, 6)),
    call((2, 2, 5, 7), (3, 2, 2, 3), (3,), stride=(2, 3))), expansion=_simpler)
def conv2d(x, weight, /, bias=None, stride=1, padding=0, dilation=1, groups=1):
    r"""Sliding sums of products of the images `x` with each kernel of `weight`, plus `bias` per output channel.

    `stride`, `padding` and `dilation` are one number or (height, width); `padding` may be "valid" (none) or "same" (the
    output has the size of the input). With `groups`, each part of the output sees one part of the input channels.

    $z_{n o i j} = b_o + \sum_{c k l} w_{o c k l}\, x_{n\, c\, (s i + d k - p)\, (s j + d l - p)}$, which is linear in $x$
    and in $w$: $\bar x$ is `conv2d_input`, $\bar w$ is `conv2d_weight`, $\bar b_o = \sum_{n i j} \bar z_{n o i j}$.

    >>> rg.ops.convolution.conv2d(rg.ones(1, 1, 3, 3), rg.ones(1, 1, 2, 2)).shape
    (1, 1, 2, 2)
    """
    return forward(x, weight, bias, Geometry.of(x.shape, weight.shape, stride, padding, dilation, groups))


conv2d.defvjp(
    lambda g, x_shape, weight, stride, padding, dilation, groups: conv2d_input(
        g, weight, x_shape, stride, padding, dilation, groups),
    lambda g, x, weight_shape, stride, padding, dilation, groups: conv2d_weight(
        x, g, weight_shape, stride, padding, dilation, groups),
    lambda g: sum(g, (0, 2, 3)),
)


@contraction(is_public=False, faster=expensive_by_shape, result_shape=_input_shape, samples=(
                      call((2, 3, 3, 3), (3, 2, 3, 2), shape=(2, 2, 5, 4)),
                      call((1, 2, 3, 3), (2, 1, 3, 3), shape=(1, 2, 6, 6), stride=2, padding=1, groups=2),
                      call((2, 3, 2, 3), (3, 2, 1, 1), shape=(2, 2, 2, 3)),
                      call((3, 4, 1, 1), (4, 2, 3, 2), shape=(3, 2, 3, 2))),
             expansion=_simpler_to_input)
def conv2d_input(x, weight, /, shape, stride=1, padding=0, dilation=1, groups=1):
    r"""The transpose of `conv2d` in its first operand: what an output `x` adds to an input of `shape`.

    $z_{n c u v} = \sum_{o i j k l} w_{o c k l}\, x_{n o i j}\,[u = s i + d k - p]\,[v = s j + d l - p]$, so $\bar x$ is
    `conv2d` of $\bar z$, and $\bar w$ is `conv2d_weight` with $\bar z$ in place of the input.
    """
    return backward_to_input(x, weight, Geometry.of(shape, weight.shape, stride, padding, dilation, groups))


conv2d_input.defvjp(
    lambda g, weight, stride, padding, dilation, groups: conv2d(g, weight, None, stride, padding, dilation, groups),
    lambda g, x, weight_shape, stride, padding, dilation, groups: conv2d_weight(
        g, x, weight_shape, stride, padding, dilation, groups),
)


@contraction(is_public=False, faster=expensive_by_shape, result_shape=_weight_shape, samples=(
                      call((2, 2, 5, 4), (2, 3, 3, 3), shape=(3, 2, 3, 2)),
                      call((1, 2, 6, 6), (1, 2, 3, 3), shape=(2, 1, 3, 3), stride=2, padding=1, groups=2),
                      call((2, 2, 3, 3), (2, 3, 2, 2), shape=(3, 2, 1, 1), stride=2),
                      call((3, 4, 1, 2), (3, 5, 1, 2), shape=(5, 4, 1, 1)),
                      call((3, 2, 3, 2), (3, 4, 1, 1), shape=(4, 2, 3, 2))),
             expansion=_simpler_to_weight)
def conv2d_weight(x, y, /, shape, stride=1, padding=0, dilation=1, groups=1):
    r"""The transpose of `conv2d` in its second operand: sums over positions of input `x` times output `y`, per tap.

    $z_{o c k l} = \sum_{n i j} y_{n o i j}\, x_{n\, c\, (s i + d k - p)\, (s j + d l - p)}$, so $\bar x$ is `conv2d_input`
    of $y$ with the kernel $\bar z$, and $\bar y$ is `conv2d` of $x$ with it.
    """
    return backward_to_weight(x, y, Geometry.of(x.shape, shape, stride, padding, dilation, groups))


conv2d_weight.defvjp(
    lambda g, x_shape, y, stride, padding, dilation, groups: conv2d_input(
        y, g, x_shape, stride, padding, dilation, groups),
    lambda g, x, stride, padding, dilation, groups: conv2d(x, g, None, stride, padding, dilation, groups),
)


def conv1d(x, weight, /, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """`conv2d` in one dimension: `x` is (batch, channels, length), `weight` (channels out, channels in per group, width).

    >>> rg.ops.convolution.conv1d(rg.ones(1, 1, 4), rg.ones(1, 1, 2)).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    check_axes(x.shape, weight.shape, 3)
    stride, dilation = (1, _only(stride)), (1, _only(dilation))
    padding = padding if isinstance(padding, str) else (0, _only(padding))
    return squeeze(conv2d(expand_dims(x, -2), expand_dims(weight, -2), bias, stride, padding, dilation, groups), -2)


def _only(number):
    return number[0] if isinstance(number, (tuple, list)) else number
