"""Pooling: each window of an image made one number. Arrays are (..., height, width), as in PyTorch."""

import numpy as np

from ...core.mode import is_tracing
from ...errors import ShapeError
from .._families import composite, reduction
from .._native import SHARED, by_shape
from .._samples import call, distinct, of
from ..elementary.conversions import narrowed
from ..manipulation.movements import reshape
from ._convolving import pair
from ._pooling import Windows, check_ndim, largest, placed, selected
from .adaptive import adaptive_mean

_IMAGES = of((1, 2, 5, 4), distinct())


def max_pool2d(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The greatest element of each window of `x`; windows lie `stride` apart, by default their own size.

    `ceil_mode` keeps a last window that sticks out. The gradient goes to the first greatest element of a window.

    >>> rg.ops.pooling.max_pool2d(rg.tensor([[[1.0, 2.0], [4.0, 3.0]]]), 2)
    tensor([[[4.]]])
    """
    # To find the places once more costs less than to keep them in a result of their own, as long as there are few.
    op = max_pool2d_again if x.size < SHARED and not is_tracing() else _max_pool2d_in_ops
    return op(x, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d_in_ops(*args):
    return max_pool2d_with_taps(*args)[0]


@reduction(is_public=False, keeps_sizes=False, told="max_pool2d", expansion=_max_pool2d_in_ops, samples=(
    call(_IMAGES, 2), call(_IMAGES, kernel_size=(3, 2), stride=2, padding=1), call(_IMAGES, 2, 2, 1, 1, True)))
def max_pool2d_again(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    r"""`max_pool2d` of a small image, whose derivative looks anew for the greatest elements.

    $\bar x$ is zero but for each $\bar z$, added where the first greatest element of its window is.
    """
    return largest(x, Windows.of(x.shape, kernel_size, stride, padding, dilation, ceil_mode))[0]


def _max_again_rule(g, x, kernel_size, stride, padding, dilation, ceil_mode):
    sizes = kernel_size, stride, padding, dilation, ceil_mode
    if g.__class__ is np.ndarray and x.__class__ is np.ndarray:
        windows = Windows.of(x.shape, *sizes)
        return placed(g, largest(x, windows)[1], windows)
    return max_pool2d_input(g, max_pool2d_with_taps(x, *sizes)[1], x.shape, *sizes)


max_pool2d_again.defvjp(_max_again_rule)


@reduction(is_public=False, keeps_sizes=False, faster=by_shape, is_multiple=True, told="max_pool2d", samples=(
    call(_IMAGES, 2), call(_IMAGES, kernel_size=(3, 2), stride=2, padding=1), call(_IMAGES, 2, 1, 0, 2),
    call(_IMAGES, 2, 2, 1, 1, True), call(of((2, 4, 4), distinct()), 2)))
def max_pool2d_with_taps(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    r"""`max_pool2d`, and which element of its window each result is: row-major, in the least integer type that holds it.

    $z_{i j} = \max_{k l} x_{(s i + d k - p)\,(s j + d l - p)} \;\Rightarrow\; \bar x$ is zero but for each $\bar z_{i j}$,
    added where the first greatest element of its window is. A NaN is the greatest.
    """
    return largest(x, Windows.of(x.shape, kernel_size, stride, padding, dilation, ceil_mode))


def _max_rule(g, needs, x_shape, z, kernel_size, stride, padding, dilation, ceil_mode):
    return (max_pool2d_input(g[0], z[1], x_shape, kernel_size, stride, padding, dilation, ceil_mode) if needs[0] else None,)


max_pool2d_with_taps.defvjp_all(_max_rule)

_TAPS = np.array([[[0, 3], [1, 2]]], np.uint8)


@reduction(is_public=False, keeps_sizes=False, faster=by_shape, samples=(call((1, 2, 2), _TAPS, shape=(1, 4, 5), kernel_size=2),
                    call((1, 2, 2), _TAPS, shape=(1, 3, 3), kernel_size=2, stride=1)))
def max_pool2d_input(x, /, taps, shape, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    r"""Zeros of `shape` with each element of `x` added to the element `taps` of its window: what `max_pool2d` hands back.

    Linear in $x$: $\bar x$ is `max_pool2d_output` of $\bar z$.
    """
    return placed(x, taps, Windows.of(shape, kernel_size, stride, padding, dilation, ceil_mode))


@reduction(is_public=False, keeps_sizes=False, faster=by_shape, samples=(
    call((1, 4, 5), _TAPS, kernel_size=2), call((1, 3, 3), _TAPS, kernel_size=2, stride=1)))
def max_pool2d_output(x, /, taps, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    r"""The element `taps` of each window of `x`. Linear in $x$: $\bar x$ is `max_pool2d_input` of $\bar z$."""
    return selected(x, taps, Windows.of(x.shape, kernel_size, stride, padding, dilation, ceil_mode))


max_pool2d_input.defvjp(
    lambda g, taps, kernel_size, stride, padding, dilation, ceil_mode: max_pool2d_output(
        g, taps, kernel_size, stride, padding, dilation, ceil_mode)
)
max_pool2d_output.defvjp(
    lambda g, x_shape, taps, kernel_size, stride, padding, dilation, ceil_mode: max_pool2d_input(
        g, taps, x_shape, kernel_size, stride, padding, dilation, ceil_mode)
)


@reduction(keeps_sizes=False, faster=by_shape, samples=(
    call((1, 2, 5, 4), 2), call((1, 5, 4), kernel_size=(3, 2), stride=2, padding=1),
                    call((1, 5, 4), 3, 2, 1, True, False), call((4, 4), 2, 1, 0, False, True, 3)))
def avg_pool2d(x, /, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    r"""The mean of each window of `x`; windows lie `stride` apart, by default their own size.

    The border of zeros counts as elements if `count_include_pad`; `divisor_override` replaces the number of elements.

    $z_{i j} = \tfrac1n \sum_{k l} x_{(s i + k - p)\,(s j + l - p)}$: each element receives $\tfrac1n \bar z$ of every window
    that it is in (`avg_pool2d_input`).
    """
    windows = Windows.of(x.shape, kernel_size, stride, padding, 1, ceil_mode)
    total = windows.sums(x)
    return narrowed(np.divide(total, windows.counts(count_include_pad, divisor_override), out=total, casting="same_kind"), x)


@reduction(is_public=False, keeps_sizes=False, faster=by_shape, samples=(
    call((1, 2, 2), shape=(1, 5, 4), kernel_size=2),
    call((1, 2, 3), shape=(1, 4, 4), kernel_size=(3, 2), stride=2,
                                                                       padding=1)))
def avg_pool2d_input(x, /, shape, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                     divisor_override=None):
    r"""What `avg_pool2d` hands back to an input of `shape`. Linear in $x$: $\bar x$ is `avg_pool2d` of $\bar z$."""
    windows = Windows.of(shape, kernel_size, stride, padding, 1, ceil_mode)
    shares = x / windows.counts(count_include_pad, divisor_override).astype(x.dtype)
    return windows.evenly(shares)


avg_pool2d.defvjp(
    lambda g, x_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: avg_pool2d_input(
        g, x_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
)
avg_pool2d_input.defvjp(
    lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: avg_pool2d(
        g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
)


@composite(samples=(call((2, 4, 6), 2), call((1, 5, 7), output_size=(3, 2)), call((2, 3, 4), 1),
                    call((2, 3, 4), output_size=(None, 2))))
def adaptive_avg_pool2d(x, /, output_size):
    r"""`x` averaged to an image of `output_size`: one number or (height, width), None to keep a size.

    Window $i$ of $m$ over $n$ elements reaches from $\lfloor i n / m \rfloor$ to $\lceil (i + 1) n / m \rceil$: each
    element receives its part of the cotangent of every window that it is in.
    """
    check_ndim(x.shape, 2)
    height, width = _sizes(output_size)
    height, width = x.shape[-2] if height is None else height, x.shape[-1] if width is None else width
    if x.shape[-2] % height == 0 and x.shape[-1] % width == 0:
        tall, wide = x.shape[-2] // height, x.shape[-1] // width
        return reshape(x, (*x.shape[:-2], height, tall, width, wide)).mean(axis=(-3, -1))
    for axis, count in ((-1, width), (-2, height)):
        x = x if count == x.shape[axis] else adaptive_mean(x, count, axis)
    return x


def _sizes(output_size):
    """(height, width), None for a size that is kept."""
    if output_size.__class__ is tuple and len(output_size) == 2 and output_size[0].__class__ is output_size[1].__class__ is int \
            and min(output_size) > 0:
        return output_size
    return pair_or_none(output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size))


def pair_or_none(sizes):
    """`sizes` checked: two integers of at least 1, or None."""
    if len(sizes) != 2:
        raise ShapeError(f"output_size must be one number or (height, width), got {sizes}")
    return [None if n is None else pair(n, "output_size", 1)[0] for n in sizes]
