"""The arithmetic of pooling on NumPy arrays: one pass per place in the window, over strided views of the image."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod

import numpy as np

from ...dtypes import is_float
from ...errors import ArgumentError, ShapeError
from .._native import small
from ..elementary.conversions import is_narrow
from ._convolving import pair


def check_ndim(shape, least):
    """Raise a ShapeError unless there are as many axes as windows have."""
    if len(shape) < least:
        raise ShapeError(f"windows of {least} axes need an input of at least {least} axes, got shape {tuple(shape)}")


@dataclass(frozen=True)
class Windows:
    """The windows of one pooling. Pairs are (height, width)."""

    shape: tuple
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    result: tuple

    @classmethod
    def of(cls, shape, kernel_size, stride, padding, dilation, ceil_mode):
        """The windows over an image of `shape`; raises where there are none."""
        try:
            return _known_windows(tuple(shape), kernel_size, stride, padding, dilation, ceil_mode)
        except TypeError:  # lists
            return cls.new(shape, kernel_size, stride, padding, dilation, ceil_mode)

    @classmethod
    def new(cls, shape, kernel_size, stride, padding, dilation, ceil_mode):
        """As `of`, made anew."""
        check_ndim(shape, 2)
        kernel = pair(kernel_size, "kernel_size", 1)
        stride = kernel if stride in (None, [], ()) else pair(stride, "stride", 1)
        padding, dilation = pair(padding, "padding", 0), pair(dilation, "dilation", 1)
        if any(p > k // 2 for p, k in zip(padding, kernel, strict=True)):
            raise ArgumentError(f"padding must be at most half of the kernel, got {padding} for a kernel of {kernel}")
        sizes = zip(shape[-2:], kernel, stride, padding, dilation, strict=True)
        result = tuple([_count(*numbers, ceil_mode) for numbers in sizes])
        if min(result) < 1:
            raise ShapeError(f"the window, {kernel} with dilation {dilation}, is greater than the padded image {shape[-2:]}")
        return cls(tuple(shape), kernel, stride, padding, dilation, result)

    @property
    def taps(self):
        """The places in the window, in row-major order."""
        return product(range(self.kernel[0]), range(self.kernel[1]))

    def clipped(self, tap):
        """For one place in the window, which results have it inside the image, and which elements of the image those are."""
        pairs = [self._along(axis, k) for axis, k in enumerate(tap)]
        return (..., *[of_result for of_result, _ in pairs]), (..., *[of_image for _, of_image in pairs])

    def _along(self, axis, k):
        step, offset = self.stride[axis], self.dilation[axis] * k - self.padding[axis]
        size = self.shape[axis - 2]
        first = max(0, -(offset // step))
        last = min(self.result[axis], (size - 1 - offset) // step + 1)
        count = max(last - first, 0)
        start = first * step + offset
        return slice(first, first + count), slice(start, start + (count - 1) * step + 1 if count else start, step)

    def first_taps(self):
        """The first place of each window that is inside the image, in the shape of one result."""
        rows, columns = [
            np.clip(-((np.arange(self.result[axis]) * self.stride[axis] - self.padding[axis]) // self.dilation[axis]), 0, k - 1)
            for axis, k in enumerate(self.kernel)
        ]
        return rows[:, None] * self.kernel[1] + columns

    @cached_property
    def sizes(self):
        """The numbers by which kernels of windows go through images."""
        return (prod(self.shape[:-2]), *self.shape[-2:], *self.result, *self.kernel, *self.stride, *self.padding, *self.dilation)

    def sums(self, x):
        """The sum of each window of `x`."""
        found = np.empty((*self.shape[:-2], *self.result), x.dtype)
        if small("sum_windows", self.sizes, (x,), (found,)):
            return found
        dtype = x.dtype if is_float(x.dtype) else np.result_type(x.dtype, np.float16)
        total = np.zeros((*self.shape[:-2], *self.result), np.float32 if is_narrow(x) else dtype)
        for tap in self.taps:
            of_result, of_image = self.clipped(tap)
            total[of_result] += x[of_image]
        return total

    def evenly(self, share):
        """An image to which every place of every window adds that window's number in `share`."""
        image = np.zeros(self.shape, share.dtype)
        return image if small("spread_windows", self.sizes, (share,), (image,)) else self.spread(lambda _: share, share.dtype)

    def spread(self, share, dtype):
        """An image to which every place `tap` of every window adds `share(tap)`."""
        image = np.zeros(self.shape, dtype)
        for number, tap in enumerate(self.taps):
            of_result, of_image = self.clipped(tap)
            image[of_image] += share(number)[of_result]
        return image

    def counts(self, with_border, override):
        """By what the sum of each window is divided, in the shape of one result; nobody writes to it."""
        return _known_counts(self, with_border, override)

    def new_counts(self, with_border, override):
        """As `counts`, made anew."""
        if override == 0:
            raise ArgumentError("divisor_override must not be 0")
        if override is not None:
            return np.array(override, dtype=np.intp)
        tall, wide = self.lengths(with_border)
        return np.array(tall)[:, None] * np.array(wide)

    def lengths(self, with_border):
        """How many rows, and how many columns, of each window count as elements of its mean."""
        found = []
        for axis, size in enumerate(self.shape[-2:]):
            border = self.padding[axis] if with_border else 0
            start = np.arange(self.result[axis]) * self.stride[axis] - self.padding[axis]
            stop = np.minimum(start + self.kernel[axis], size + border)
            found.append(tuple((stop - np.maximum(start, -border)).tolist()))
        return tuple(found)


_known_windows = lru_cache(maxsize=256)(Windows.new)


@lru_cache(maxsize=256)
def _known_counts(windows, with_border, override):
    found = windows.new_counts(with_border, override)
    found.flags.writeable = False
    return found


def _count(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows lie along an axis; the last one must start inside the image or its leading border."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def largest(x, windows):
    """The greatest element of each window, and the first place in the window where it is: the last one of NaNs."""
    least = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    shape = (*windows.shape[:-2], *windows.result)
    best = np.full(shape, least, x.dtype)
    taps = np.empty(shape, np.min_scalar_type(windows.kernel[0] * windows.kernel[1] - 1))
    if taps.dtype == np.uint8 and small("max_windows", windows.sizes, (x,), (best, taps)):
        return best, taps
    taps[...] = windows.first_taps()
    for number, tap in enumerate(windows.taps):
        of_result, of_image = windows.clipped(tap)
        seen, places = x[of_image], taps[of_result]
        np.maximum(places, _is_better(seen, best[of_result]) * taps.dtype.type(number), out=places)
        np.maximum(best[of_result], seen, out=best[of_result])
    return best, taps


def _is_better(seen, best):
    """Where `seen` takes the place of `best`: the first of equal elements stays, and a NaN is the greatest."""
    return (seen > best) | (seen != seen)


def selected(x, taps, windows):
    """The element `taps` of each window of `x`."""
    result = np.zeros(taps.shape, x.dtype)
    for number, tap in enumerate(windows.taps):
        of_result, of_image = windows.clipped(tap)
        result[of_result] += x[of_image] * (taps[of_result] == number)
    return result


def placed(x, taps, windows):
    """An image with each element of `x` added to the place `taps` of its window."""
    image = np.zeros(windows.shape, x.dtype)
    if taps.dtype == np.uint8 and small("placed_windows", windows.sizes, (x, taps), (image,)):
        return image
    return windows.spread(lambda number: x * (taps == number), x.dtype)
