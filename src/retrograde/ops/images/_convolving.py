"""The arithmetic of convolution on NumPy arrays: patches of a few images at a time become the columns of a matrix, and one
matrix product does the rest.

With stride 1 the patches of a whole image are one run of memory per tap: rows are taken in full width, so that a patch
that starts near the end of a row runs on into the next. The sums that come of such patches are left out. Where these would
be most of them, since the kernel is nearly as wide as the image, rows are taken one by one as with any other stride.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ..linalg._multiplying import fitting, product

# Bytes of the columns that are made at a time: they should stay in cache, and be enough for a fast matrix product.
_WORKSPACE = 3 << 20


@dataclass(frozen=True)
class Geometry:
    """Sizes of one convolution. Pairs are (height, width); `padding` has (before, after) for both."""

    batch: int
    channels: int
    image: tuple
    outputs: int
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int

    @classmethod
    def of(cls, x_shape, weight_shape, stride, padding, dilation, groups):
        """The geometry that an input and a kernel of these shapes have; raises where they do not fit."""
        try:
            return _known_geometry(tuple(x_shape), tuple(weight_shape), stride, padding, dilation, groups)
        except TypeError:  # lists
            return cls.new(x_shape, weight_shape, stride, padding, dilation, groups)

    @classmethod
    def new(cls, x_shape, weight_shape, stride, padding, dilation, groups):
        """As `of`, made anew."""
        check_axes(x_shape, weight_shape, 4)
        stride, dilation = pair(stride, "stride", 1), pair(dilation, "dilation", 1)
        outputs, depth, *kernel = weight_shape
        if groups < 1 or outputs % groups:
            raise ShapeError(f"groups must divide the number of output channels, weight.shape[0], got {groups} for {outputs}")
        if x_shape[1] != depth * groups:
            raise ShapeError(f"the input needs {depth * groups} channels (groups={groups} times weight.shape[1]={depth}) in axis "
                             f"1, got {x_shape[1]}")
        border = _border(padding, kernel, stride, dilation)
        made = cls(x_shape[0], x_shape[1], tuple(x_shape[2:]), outputs, tuple(kernel), stride, border, dilation, groups)
        if min(made.result) < 1:
            raise ShapeError(f"the kernel, {tuple(kernel)} with dilation {dilation}, is greater than the padded image "
                             f"{made.padded}")
        return made

    @cached_property
    def padded(self):
        """Height and width of the image with its border."""
        return tuple([n + sum(border) for n, border in zip(self.image, self.padding, strict=True)])

    @cached_property
    def result(self):
        """Height and width of the output."""
        return tuple([
            (n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(self.padded, self.kernel, self.stride, self.dilation, strict=True)
        ])

    @cached_property
    def is_run(self):
        """Whether the patches of an image are taken as one run of memory per tap, which pays if few of the sums are left out."""
        return self.stride == (1, 1) and self.padded[1] <= 2 * self.result[1]

    @cached_property
    def row(self):
        """Columns per output row: those of the padded image where patches are runs of memory."""
        return self.padded[1] if self.is_run else self.result[1]

    @property
    def depth(self):
        """Products summed for each output."""
        return self.channels // self.groups * prod(self.kernel)

    def blocks(self, itemsize):
        """Slices of the batch whose columns fit the workspace."""
        size = self.groups * self.depth * self.result[0] * self.row * itemsize
        step = max(1, min(self.batch, _WORKSPACE // max(size, 1)))
        return [slice(i, min(i + step, self.batch)) for i in range(0, self.batch, step)]


_known_geometry = lru_cache(maxsize=512)(Geometry.new)


def check_axes(x_shape, weight_shape, ndim):
    """Raise a ShapeError unless input and weight of a convolution have `ndim` axes."""
    if len(x_shape) != ndim or len(weight_shape) != ndim:
        sizes = ", ".join(("depth", "height", "width")[5 - ndim :] if ndim > 3 else ["length"])
        raise ShapeError(f"the input must be (batch, channels, {sizes}) and the weight have {ndim} axes too, got shapes "
                         f"{tuple(x_shape)} and {tuple(weight_shape)}")


def check_parts(*operands):
    """Raise a DTypeError if sums of convolutions, which are checked one by one, could wrap in the type of integers."""
    dtype = np.result_type(*[x.dtype for x in operands])
    if dtype.kind in "iu" and dtype.itemsize < 8:
        raise DTypeError(f"a convolution in three dimensions adds up more than {dtype} may hold; use a wider dtype, as by "
                         "x.astype(rg.int64), or floats")


def check_bias(bias, outputs):
    """Raise a ShapeError unless `bias` has a number for each output channel, or is None."""
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise ShapeError(f"the bias must have one number for each of the {outputs} output channels, got shape {tuple(bias.shape)}")


def pair(value, name, least):
    """`value`, one number or two, as (height, width)."""
    found = tuple(map(int, value)) if isinstance(value, (tuple, list)) else (int(value),)
    found = found * 2 if len(found) == 1 else found
    if len(found) != 2 or min(found) < least:
        raise ArgumentError(f"{name} must be one or two integers of at least {least}, got {value}")
    return found


def _border(padding, kernel, stride, dilation):
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding == "same":
        if stride != (1, 1):
            raise ArgumentError(f'padding="same" needs stride 1, got {stride}')
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple([(n // 2, n - n // 2) for n in totals])
    if isinstance(padding, str):
        raise ArgumentError(f'padding must be numbers, "same" or "valid", got {padding!r}')
    return tuple([(n, n) for n in pair(padding, "padding", 0)])


def has_one_dtype(*operands):
    """Whether all operands have the same type, which is then that of the result."""
    return all([x.dtype == operands[0].dtype for x in operands if x is not None])


def forward(x, weight, bias, geometry):
    """Output (N, O, H', W') of input and kernel."""
    dtype, x, weight = _working(x, weight)
    rows = weight.reshape(geometry.groups, -1, geometry.depth)
    height, width = geometry.result
    dtype = dtype if bias is None else np.result_type(dtype, bias)
    result = np.empty((geometry.batch, geometry.outputs, height, width), x.dtype if dtype.kind in "iu" else dtype)
    columns = _Columns(geometry, x.dtype)
    for block in geometry.blocks(x.itemsize):
        sums = product(rows, columns.of(x[block]))
        sums = sums.reshape(geometry.outputs, -1, height, geometry.row)[..., :width].transpose(1, 0, 2, 3)
        if bias is None:
            result[block] = sums
        else:
            np.add(sums, bias[:, None, None], out=result[block], casting="same_kind")
    return fitting(result, dtype)


def backward_to_weight(x, y, geometry):
    """Sums over all positions of input times output, for each tap: (O, C / groups, kh, kw)."""
    dtype, x, y = _working(x, y)
    check_output(y, geometry)
    columns, rows = _Columns(geometry, x.dtype), _Rows(geometry, x.dtype)
    total = np.zeros((geometry.groups, geometry.outputs // geometry.groups, geometry.depth), x.dtype)
    for block in geometry.blocks(x.itemsize):
        total += product(rows.of(y[block]), columns.of(x[block]).swapaxes(1, 2))
    shape = (geometry.outputs, geometry.channels // geometry.groups, *geometry.kernel)
    return fitting(total.reshape(shape), dtype)


def backward_to_input(y, weight, geometry):
    """What an output adds to the input through the kernel: (N, C, H, W)."""
    dtype, y, weight = _working(y, weight)
    check_output(y, geometry)
    taps = weight.reshape(geometry.groups, -1, geometry.depth).swapaxes(1, 2)
    rows, columns = _Rows(geometry, y.dtype), _Columns(geometry, y.dtype)
    result = np.empty((geometry.batch, geometry.channels, *geometry.image), y.dtype)
    for block in geometry.blocks(y.itemsize):
        result[block] = columns.gathered(product(taps, rows.of(y[block])))
    return fitting(result, dtype)


def _working(*arrays):
    """The type of the result, and the arrays in one for which the matrix product is fast, or that holds sums of integers."""
    dtype = np.result_type(*arrays)
    is_whole = dtype.kind in "iu"
    working = dtype if dtype.itemsize >= (8 if is_whole else 4) else np.int64 if is_whole else np.float32
    return dtype, *[a.astype(working, copy=False) for a in arrays]


def check_output(y, geometry):
    """Raise a ShapeError unless `y` has the shape that a convolution gives."""
    expected = (geometry.batch, geometry.outputs, *geometry.result)
    if y.shape != expected:
        raise ShapeError(f"the output of this convolution has shape {expected}, got {y.shape}")


class _Rows:
    """Outputs (n, O, H', W') as matrices (groups, O / groups, n H' row), with zeros where a patch runs past its row."""

    def __init__(self, geometry, dtype):
        self._geometry, self._dtype, self._memory = geometry, dtype, None

    def of(self, y):
        """The matrix of some outputs."""
        geometry = self._geometry
        height, width = geometry.result
        if self._memory is None or self._memory.shape[1] != len(y):
            self._memory = np.zeros((geometry.outputs, len(y), height, geometry.row), self._dtype)
        self._memory[..., :width] = y.transpose(1, 0, 2, 3)
        return self._memory.reshape(geometry.groups, geometry.outputs // geometry.groups, -1)


class _Columns:
    """Patches of images (n, C, H, W) as matrices (groups, C / groups * kh * kw, n H' row), in memory that is used again."""

    def __init__(self, geometry, dtype):
        self._geometry: Any = geometry
        self._dtype = dtype
        self._image: Any = None
        self._memory: Any = None

    def of(self, images):
        """The matrix of all patches of `images`."""
        geometry = self._geometry
        self._reserve(len(images))
        (top, _), (left, _) = geometry.padding
        height, width = geometry.image
        shaped = self._image[..., : prod(geometry.padded)].reshape(*self._image.shape[:2], *geometry.padded)
        shaped[..., top : top + height, left : left + width] = images.transpose(1, 0, 2, 3)
        if self._memory is None or self._memory.shape[3] != len(images):
            shape = (geometry.channels, *geometry.kernel, len(images), geometry.result[0] * geometry.row)
            self._memory = np.empty(shape, self._dtype)
        np.copyto(self._memory.reshape(self._patches.shape), self._patches)
        return self._memory.reshape(geometry.groups, geometry.depth, -1)

    def gathered(self, columns):
        """The images to which the patches `columns` add up: the transpose of `of`."""
        geometry = self._geometry
        count = columns.shape[2] // (geometry.result[0] * geometry.row)
        self._reserve(count)
        self._image[...] = 0
        patches = columns.reshape(self._patches.shape)
        for i in range(geometry.kernel[0]):
            for j in range(geometry.kernel[1]):
                self._patches[:, i, j] += patches[:, i, j]
        (top, _), (left, _) = geometry.padding
        shaped = self._image[..., : prod(geometry.padded)].reshape(geometry.channels, count, *geometry.padded)
        return shaped[..., top : top + geometry.image[0], left : left + geometry.image[1]].transpose(1, 0, 2, 3)

    def _reserve(self, count):
        """Memory for `count` padded images, and the view of it that shows every patch: (C, kh, kw, n, ...)."""
        geometry = self._geometry
        if self._image is not None and self._image.shape[1] == count:
            return
        # The last patches run past the end of the image by up to the width of the kernel.
        size = prod(geometry.padded) + geometry.dilation[1] * (geometry.kernel[1] - 1)
        self._image = np.zeros((geometry.channels, count, size), self._dtype)
        channel, image, one = self._image.strides
        line = one * geometry.padded[1]
        taps = (geometry.dilation[0] * line, geometry.dilation[1] * one)
        if geometry.is_run:
            places, steps = (geometry.result[0] * geometry.row,), (one,)
        else:
            places, steps = geometry.result, (geometry.stride[0] * line, geometry.stride[1] * one)
        # As np.lib.stride_tricks.as_strided, in a tenth of the time.
        shape, strides = (geometry.channels, *geometry.kernel, count, *places), (channel, *taps, image, *steps)
        self._patches = np.ndarray(shape, self._dtype, self._image, strides=strides)
