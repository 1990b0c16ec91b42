"""Pooling in one and three dimensions, and to a given size: made of the ops of two dimensions."""

from ...errors import ArgumentError, ShapeError
from .._families import composite
from .._samples import call, distinct, of
from ..elementary.comparisons import where
from ..manipulation.movements import expand_dims, moveaxis, squeeze
from ._pooling import check_ndim
from .adaptive import adaptive_max
from .convolutions import triple
from .pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d_with_taps

_LINE, _BOX = of((2, 7), distinct()), of((1, 4, 3, 4), distinct())


def _last(value):
    """One number as it is for the last of two axes."""
    return None if value is None else value[0] if isinstance(value, (tuple, list)) else value


@composite(samples=(call(_LINE, 2), call(_LINE, kernel_size=3, stride=2, padding=1), call(_LINE, 2, 2, 0, 2, True)))
def max_pool1d(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The greatest element of each window along the last axis; the gradient goes to the first greatest. See `max_pool2d`."""
    size = _last(kernel_size)
    step = size if stride is None else _last(stride)
    found = max_pool2d_with_taps(expand_dims(x, -2), (1, size), (1, step), (0, _last(padding)), (1, _last(dilation)), ceil_mode)
    return squeeze(found[0], -2)


@composite(samples=(call((2, 7), 2), call((2, 7), kernel_size=3, stride=2, padding=1), call((2, 7), 3, 2, 1, True, False)))
def avg_pool1d(x, /, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window along the last axis: each element receives its part of every window's cotangent."""
    size = _last(kernel_size)
    step = size if stride is None else _last(stride)
    return squeeze(avg_pool2d(expand_dims(x, -2), (1, size), (1, step), (0, _last(padding)), ceil_mode, count_include_pad), -2)


def _along_depth(pool, x, *numbers):
    """`pool`, of one dimension, along the third axis from the end."""
    return moveaxis(pool(moveaxis(x, -3, -1), *numbers), -1, -3)


@composite(samples=(call(_BOX, 2), call(_BOX, kernel_size=(2, 3, 2), stride=1, padding=1),
                    call(_BOX, kernel_size=(3, 2, 2), stride=(2, 1, 2), ceil_mode=True)))
def max_pool3d(x, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The greatest element of each box of the last three axes; the gradient goes to the first greatest."""
    check_ndim(x.shape, 3)
    size, step = triple(kernel_size), triple(kernel_size if stride is None else stride)
    border, spread = triple(padding), triple(dilation)
    flat = max_pool2d_with_taps(x, size[1:], step[1:], border[1:], spread[1:], ceil_mode)[0]
    return _along_depth(max_pool1d, flat, size[0], step[0], border[0], spread[0], ceil_mode)


@composite(samples=(call((1, 4, 3, 4), 2), call((1, 4, 3, 4), kernel_size=(2, 3, 2), stride=1, padding=1, count_include_pad=False),
                    call((1, 4, 3, 4), 2, divisor_override=3)))
def avg_pool3d(x, /, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each box of the last three axes: each element receives its part of every box's cotangent.

    `divisor_override` replaces the number of elements of a box.
    """
    check_ndim(x.shape, 3)
    size, step, border = triple(kernel_size), triple(kernel_size if stride is None else stride), triple(padding)
    if divisor_override is not None:
        sums = avg_pool2d(x, size[1:], step[1:], border[1:], ceil_mode, True, 1)
        found = avg_pool2d(moveaxis(sums, -3, -1), (1, size[0]), (1, step[0]), (0, border[0]), ceil_mode, True, divisor_override)
        return moveaxis(found, -1, -3)
    flat = avg_pool2d(x, size[1:], step[1:], border[1:], ceil_mode, count_include_pad)
    return _along_depth(avg_pool1d, flat, size[0], step[0], border[0], ceil_mode, count_include_pad)


@composite(samples=(call((2, 6), 3), call((2, 7), output_size=3)))
def adaptive_avg_pool1d(x, /, output_size):
    """`x` averaged along its last axis to `output_size` elements. See `adaptive_avg_pool2d`, also for the derivative."""
    return squeeze(adaptive_avg_pool2d(expand_dims(x, -2), (1, _last(output_size))), -2)


@composite(samples=(call((1, 4, 5, 6), 2), call((4, 5, 6), output_size=(3, 2, None))))
def adaptive_avg_pool3d(x, /, output_size):
    """`x` averaged to `output_size` over its last three axes. See `adaptive_avg_pool2d`, also for the derivative."""
    check_ndim(x.shape, 3)
    size = triple(output_size)
    flat = adaptive_avg_pool2d(x, size[1:])
    return flat if size[0] is None else _along_depth(adaptive_avg_pool1d, flat, size[0])


@composite(samples=(call(_LINE, 3), call(_LINE, output_size=7)))
def adaptive_max_pool1d(x, /, output_size):
    """The greatest element of each of `output_size` windows along the last axis; the gradient goes to the first of equal ones."""
    return adaptive_max(x, _last(output_size), -1)


@composite(samples=(call(of((1, 5, 4), distinct()), 2), call(of((2, 5, 4), distinct()), output_size=(3, None))))
def adaptive_max_pool2d(x, /, output_size):
    """The greatest element of each window of an image of windows of `output_size`; the gradient goes to the first of equal ones."""
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(sizes) != 2:
        raise ShapeError(f"output_size must be one number or (height, width), got {output_size}")
    check_ndim(x.shape, 2)
    for axis, n in zip((-1, -2), reversed(sizes), strict=True):
        x = x if n is None else adaptive_max(x, n, axis)
    return x


@composite(samples=(call(_BOX, 2), call(of((4, 3, 4), distinct()), output_size=(3, 1, None))))
def adaptive_max_pool3d(x, /, output_size):
    """The greatest element of each box of a volume of boxes of `output_size`; the gradient goes to the first of equal ones."""
    check_ndim(x.shape, 3)
    for axis, n in zip((-1, -2, -3), reversed(triple(output_size)), strict=True):
        x = x if n is None else adaptive_max(x, n, axis)
    return x


@composite(samples=(call(of((1, 4, 4), distinct(0.5, 2)), 2),
                    call(of((1, 5, 4), distinct(0.5, 2)), norm_type=3.0, kernel_size=(2, 3), stride=1)))
def lp_pool2d(x, /, kernel_size, norm_type=2.0, stride=None, ceil_mode=False):
    r"""The root $(\sum_i x_i^p)^{1/p}$ over each window, $p$ being `norm_type`.

    The derivative is that of a sum of powers, $\bar x_i = \bar z\,(x_i / z)^{p - 1}$, and 0 where the sum is 0.
    """
    size = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    total = avg_pool2d(x**norm_type, size, size if stride is None else stride, 0, ceil_mode, True, 1)
    return root(total, norm_type)


def root(x, n):
    """The `n`-th root of `x`, whose derivative at 0 is 0: windows of zeros have no direction to grow in."""
    if n == 0:
        raise ArgumentError("the norm of a window needs a norm_type that is not 0")
    is_zero = x == 0
    return where(is_zero, 0, where(is_zero, 1, x) ** (1 / n))
