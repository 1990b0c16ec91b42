"""Convolution in three dimensions, and transposed in one, two and three: made of the ops of two dimensions."""

from functools import reduce

from ...core.mode import whole
from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._samples import call
from ..elementary.arithmetic import add
from ..manipulation.movements import expand_dims, moveaxis, pad, reshape, squeeze
from ..manipulation.selections import getitem, scatter_add
from ._convolving import check_axes, check_bias, check_parts
from .convolution import conv2d, conv2d_input


@composite(optional=("bias",), samples=(
    call((1, 2, 4, 3, 4), (2, 2, 2, 2, 3), (2,), padding=1),
    call((2, 2, 5, 4, 3), (4, 1, 2, 3, 2), stride=(2, 1, 1), groups=2),
    call((1, 1, 5, 3, 3), (1, 1, 2, 2, 2), padding="same", dilation=(2, 1, 1))))
def conv3d(x, weight, /, bias=None, stride=1, padding=0, dilation=1, groups=1):
    r"""`conv2d` in three dimensions: `x` is (batch, channels, depth, height, width), `weight` has the kernel's depth likewise.

    The sum over the kernel's depth of convolutions of frames, $Z_t = \sum_k W_k * X_{s t + d k - p}$, whose derivatives are
    those of `conv2d`.
    """
    check_axes(x.shape, weight.shape, 5)
    check_parts(x, weight)
    stride, dilation = triple(stride), triple(dilation)
    depth, flat = weight.shape[2], padding if isinstance(padding, str) else triple(padding)[1:]
    before, after = _border(padding, depth, stride, dilation)
    x = pad(x, ((0, 0), (0, 0), (before, after), (0, 0), (0, 0)))
    count = (x.shape[2] - dilation[0] * (depth - 1) - 1) // stride[0] + 1
    if count < 1:
        raise ShapeError(f"the kernel, of depth {depth} with dilation {dilation[0]}, is deeper than the padded input, {x.shape[2]}")
    frames, parts = moveaxis(x, 2, 1), []
    for k in range(depth):
        first = k * dilation[0]
        some = getitem(frames, (slice(None), slice(first, first + (count - 1) * stride[0] + 1, stride[0])))
        images = reshape(some, (some.shape[0] * count, *some.shape[2:]))
        parts.append(conv2d(images, weight[:, :, k], bias if k == 0 else None, stride[1:], flat, dilation[1:], groups))
    total = _added(parts)
    return moveaxis(reshape(total, (x.shape[0], count, *total.shape[1:])), 1, 2)


def _added(parts):
    """The sum of all `parts`."""
    return reduce(add, parts)


def triple(value):
    """`value`, one number or three, as (depth, height, width)."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    found = found * 3 if len(found) == 1 else found
    if len(found) != 3:
        raise ArgumentError(f"one number or three are needed, got {value}")
    return found


def _border(padding, depth, stride, dilation):
    if padding == "same":
        if set(stride) != {1}:
            raise ArgumentError(f'padding="same" needs stride 1, got {stride}')
        total = dilation[0] * (depth - 1)
        return total // 2, total - total // 2
    return (0, 0) if isinstance(padding, str) else (triple(padding)[0],) * 2


def _check_transposed(x, weight, bias, groups, ndim):
    check_axes(x.shape, weight.shape, ndim)
    if x.shape[1] != weight.shape[0] or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"the input needs {weight.shape[0]} channels (weight.shape[0]) in axis 1, a multiple of groups={groups}, "
                         f"got {x.shape[1]}")
    check_bias(bias, weight.shape[1] * groups)


@composite(optional=("bias",), samples=(
    call((2, 3, 3, 2), (3, 2, 3, 2)), call((1, 2, 3, 3), (2, 1, 3, 3), (2,), stride=2, padding=1, output_padding=1, groups=2),
    call((1, 2, 3, 2), (2, 2, 2, 2), dilation=(2, 1))))
def conv_transpose2d(x, weight, /, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    r"""The transpose of `conv2d`: each element of `x` adds a kernel, times itself, to the output.

    `x` is (batch, channels in, height, width), `weight` (channels in, channels out per group, height, width). The output has
    $s (n - 1) - 2 p + d (k - 1) + 1$ rows, and `output_padding` more. Linear in both: $\bar x$ is `conv2d` of $\bar z$,
    $\bar w$ its `conv2d_weight` with $\bar z$ as the input.
    """
    _check_transposed(x, weight, bias, groups, 4)
    pairs = [v if isinstance(v, (tuple, list)) else (v, v) for v in (stride, padding, output_padding, dilation)]
    sizes = [
        s * (n - 1) - 2 * p + d * (k - 1) + more + 1
        for n, k, s, p, more, d in zip(x.shape[2:], weight.shape[2:], *pairs, strict=True)
    ]
    if any(more >= max(s, d) for s, more, d in zip(pairs[0], pairs[2], pairs[3], strict=True)):
        raise ArgumentError(f"output_padding must be less than stride or dilation, got {output_padding}")
    # With so much padding that a further kernel would fit, the elements that it would belong to are zero.
    counts = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in zip(
        sizes, weight.shape[2:], pairs[0], pairs[1], pairs[3], strict=True)]
    x = pad(x, ((0, 0), (0, 0), *((0, m - n) for n, m in zip(x.shape[2:], counts, strict=True))))
    shape = (x.shape[0], weight.shape[1] * groups, *sizes)
    found = conv2d_input(x, weight, shape, tuple(pairs[0]), tuple(pairs[1]), tuple(pairs[3]), groups)
    return found if bias is None else found + reshape(bias, (-1, 1, 1))


@whole
def conv_transpose1d(x, weight, /, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """`conv_transpose2d` in one dimension: `x` is (batch, channels in, length).

    >>> rg.conv_transpose1d(rg.ones(1, 1, 2), rg.ones(1, 1, 2)).tolist()
    [[[1.0, 2.0, 1.0]]]
    """
    _check_transposed(x, weight, bias, groups, 3)
    one, two, three, four = [v[0] if isinstance(v, (tuple, list)) else v for v in (stride, padding, output_padding, dilation)]
    found = conv_transpose2d(expand_dims(x, -2), expand_dims(weight, -2), bias, (1, one), (0, two), (0, three), groups, (1, four))
    return squeeze(found, -2)


@composite(optional=("bias",), samples=(
    call((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (2,)), call((1, 2, 3, 2, 2), (2, 1, 3, 2, 2), None, 2, 1, 1, 2)))
def conv_transpose3d(x, weight, /, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    r"""The transpose of `conv3d`: `conv_transpose2d` in three dimensions.

    The frames that each slice of the kernel makes are added up $s$ apart, so the derivatives are those of
    `conv_transpose2d`.
    """
    _check_transposed(x, weight, bias, groups, 5)
    check_parts(x, weight)
    stride, padding, output_padding, dilation = map(triple, (stride, padding, output_padding, dilation))
    depth, count = weight.shape[2], x.shape[2]
    frames = moveaxis(x, 2, 1)
    images = reshape(frames, (x.shape[0] * count, *frames.shape[2:]))
    whole, parts = stride[0] * (count - 1) + dilation[0] * (depth - 1) + 1 + output_padding[0], []
    for k in range(depth):
        part = conv_transpose2d(images, weight[:, :, k], None, stride[1:], padding[1:], output_padding[1:], groups, dilation[1:])
        part = reshape(part, (x.shape[0], count, *part.shape[1:]))
        first = k * dilation[0]
        lines = slice(first, first + stride[0] * (count - 1) + 1, stride[0])
        parts.append(scatter_add(part, (x.shape[0], whole, *part.shape[2:]), (slice(None), lines)))
    found = moveaxis(_added(parts)[:, padding[0] : whole - padding[0]], 1, 2)
    return found if bias is None else found + reshape(bias, (-1, 1, 1, 1))
