"""Convolutions as products of matrices, which the compiler makes of them where patches are the image itself or pay for themselves.

Each function takes the arguments of the op that it stands for, and leaves others to the op's own kernel (NotImplemented).
"""

from dataclasses import replace
from math import prod

from ..axes.reductions import sum
from ..linalg.contractions import matmul
from ..manipulation.movements import flip, pad, permute_dims, reshape, transpose
from ..manipulation.patches import windows_of
from ..manipulation.selections import getitem
from ._convolving import Geometry, pair
from ._convolving_winograd import tile_of

#: Images of at most so many pixels of 128 channels or more, and proportionally fewer of fewer channels, are convolved as products
#: of matrices, and for the gradient of weights those of at most the second; but not if patches have more numbers than the third.
_FEW, _FEW_FOR_WEIGHTS, _MOST_NUMBERS = 16, 64, 2**24


def _is_bare(x, other, padding, groups):
    """Whether a convolution has no border and one group, of numbers that the compiler multiplies matrices of."""
    is_bare = padding == "valid" if isinstance(padding, str) else pair(padding, "padding", 0) == (0, 0)
    has_dtypes = x.dtype == other.dtype and x.dtype.kind == "f" and x.dtype.itemsize > 2
    return is_bare and has_dtypes and groups == 1 and x.size > 0


def _is_pointwise(x, other, kernel, padding, groups):
    """Whether each output pixel is made of one input pixel, by the same weights."""
    return tuple(kernel[2:]) == (1, 1) and _is_bare(x, other, "valid" if padding == "same" else padding, groups)


def _is_whole(x, other, image, kernel, padding, groups):
    """Whether the kernel is as large as the image, so that there is one output pixel."""
    return tuple(image[2:]) == tuple(kernel[2:]) and other.size > 0 and _is_bare(x, other, padding, groups)


def _flat(x):
    return reshape(x, (x.shape[0], -1))


def _met(x, stride):
    """The pixels that a kernel of one tap meets: (batch, channels, pixels), and their height and width."""
    rows, columns = pair(stride, "stride", 1)
    if (rows, columns) != (1, 1):
        x = getitem(x, (slice(None), slice(None), slice(None, None, rows), slice(None, None, columns)))
    return reshape(x, (*x.shape[:2], -1)), tuple(x.shape[2:])


def _has_few_pixels(name, geometry, x, pixels, channels, most):
    """Whether images are so small, and channels so many, that a matrix product pays for a matrix of all patches."""
    is_small = 0 < geometry.depth * geometry.batch * prod(geometry.result) <= _MOST_NUMBERS
    is_plain = geometry.groups == 1 and x.dtype.kind == "f" and x.dtype.itemsize > 2
    has_few = is_small and is_plain and prod(pixels) <= min(most, most * channels // 128)
    return has_few and not tile_of(name, geometry)


def _columns(x, geometry):
    """The patches of images that a kernel meets, as (channels · kernel, batch · output pixels)."""
    patches = windows_of(pad(x, ((0, 0), (0, 0), *geometry.padding)), geometry.kernel, geometry.stride, geometry.dilation)
    return reshape(permute_dims(patches, (1, 4, 5, 0, 2, 3)), (geometry.depth, -1))


def _channels_first(y):
    """(batch, channels, ...) as (channels, batch · pixels)."""
    return reshape(permute_dims(y, (1, 0, *range(2, y.ndim))), (y.shape[1], -1))


def _is_tiled(x, other, kernel, stride, padding, dilation, groups):
    """Whether the patches that a kernel meets lie side by side, and so are the image itself in another order."""
    has_steps = pair(stride, "stride", 1) == tuple(kernel[2:]) and pair(dilation, "dilation", 1) == (1, 1)
    return has_steps and other.size > 0 and _is_bare(x, other, padding, groups)


def _tiles(x, kernel):
    """Patches that lie side by side: (batch · output pixels, channels · kernel); what is left at the borders is dropped."""
    batch, channels, height, width = x.shape
    rows, columns = height // kernel[0], width // kernel[1]
    x = x[:, :, : rows * kernel[0], : columns * kernel[1]]
    x = permute_dims(reshape(x, (batch, channels, rows, kernel[0], columns, kernel[1])), (0, 2, 4, 1, 3, 5))
    return reshape(x, (batch * rows * columns, -1))


def _untiled(patches, shape, kernel):
    """The image of `shape` that has these patches, and zeros where there are none."""
    batch, channels, height, width = shape
    rows, columns = height // kernel[0], width // kernel[1]
    x = permute_dims(reshape(patches, (batch, rows, columns, channels, *kernel)), (0, 3, 1, 4, 2, 5))
    x = reshape(x, (batch, channels, rows * kernel[0], columns * kernel[1]))
    is_all = x.shape == tuple(shape)
    return x if is_all else pad(x, ((0, 0), (0, 0), (0, height - x.shape[2]), (0, width - x.shape[3])))


def _of_tiles(x, weight, bias, geometry):
    """`conv2d` of patches that lie side by side."""
    z = matmul(_tiles(x, geometry.kernel), transpose(_flat(weight)))
    z = reshape(z if bias is None else z + bias, (geometry.batch, *geometry.result, geometry.outputs))
    return permute_dims(z, (0, 3, 1, 2))


def _by_pixels(y):
    """(batch, channels, height, width) as (batch · pixels, channels)."""
    return reshape(permute_dims(y, (0, 2, 3, 1)), (-1, y.shape[1]))


def as_product(x, weight, bias, stride, padding, dilation, groups):
    """`conv2d` as a matrix product, where the kernel has one tap, is as large as the image or as its own steps, or images are
    small.
    """
    if _is_whole(x, weight, x.shape, weight.shape, padding, groups):
        z = matmul(_flat(x), transpose(_flat(weight)))
        return reshape(z if bias is None else z + bias, (*z.shape, 1, 1))
    if _is_pointwise(x, weight, weight.shape, padding, groups):
        pixels, size = _met(x, stride)
        z = matmul(reshape(weight, weight.shape[:2]), pixels)
        return reshape(z if bias is None else z + reshape(bias, (-1, 1)), (*z.shape[:2], *size))
    geometry = Geometry.of(x.shape, weight.shape, stride, padding, dilation, groups)
    if _is_tiled(x, weight, weight.shape, stride, padding, dilation, groups):
        return _of_tiles(x, weight, bias, geometry)
    if not _has_few_pixels("conv2d", geometry, x, geometry.result, geometry.outputs, _FEW):
        return NotImplemented
    z = reshape(matmul(_flat(weight), _columns(x, geometry)), (geometry.outputs, geometry.batch, *geometry.result))
    z = permute_dims(z, (1, 0, 2, 3))
    return z if bias is None else z + reshape(bias, (-1, 1, 1))


def as_product_to_input(x, weight, shape, stride, padding, dilation, groups):
    """`conv2d_input` as a matrix product; with a stride that is not the size of the kernel there are pixels between."""
    if _is_whole(x, weight, shape, weight.shape, padding, groups):
        return reshape(matmul(_flat(x), _flat(weight)), tuple(shape))
    if _is_tiled(x, weight, weight.shape, stride, padding, dilation, groups) and tuple(weight.shape[2:]) != (1, 1):
        return _untiled(matmul(_by_pixels(x), _flat(weight)), shape, tuple(weight.shape[2:]))
    if pair(stride, "stride", 1) != (1, 1):
        return NotImplemented
    if _is_pointwise(x, weight, weight.shape, padding, groups):
        return reshape(matmul(transpose(reshape(weight, weight.shape[:2])), _met(x, 1)[0]), tuple(shape))
    geometry = Geometry.of(shape, weight.shape, 1, padding, dilation, groups)
    if not _has_few_pixels("conv2d_input", geometry, x, geometry.image, geometry.channels, _FEW):
        return NotImplemented
    # With stride 1 it is the convolution of `x`, in a border that makes up for the kernel, with the kernel the other way round.
    flipped = permute_dims(flip(weight, (2, 3)), (1, 0, 2, 3))
    spans = [d * (k - 1) for k, d in zip(geometry.kernel, geometry.dilation, strict=True)]
    border = tuple([(span - before, span - after) for span, (before, after) in zip(spans, geometry.padding, strict=True)])
    if min(map(min, border)) < 0:
        return NotImplemented
    swapped = replace(geometry, channels=geometry.outputs, image=geometry.result, outputs=geometry.channels, padding=border)
    z = matmul(_flat(flipped), _columns(x, swapped))
    return permute_dims(reshape(z, (geometry.channels, geometry.batch, *geometry.image)), (1, 0, 2, 3))


def as_product_to_weight(x, y, shape, stride, padding, dilation, groups):
    """`conv2d_weight` as a matrix product: of a kernel of one tap one for each image, or one of all if that moves less."""
    if _is_whole(x, y, x.shape, shape, padding, groups):
        return reshape(matmul(transpose(_flat(y)), _flat(x)), tuple(shape))
    if _is_pointwise(x, y, shape, padding, groups):
        (x, _), (y, _) = _met(x, stride), _met(y, 1)
        outputs, inputs, pixels = y.shape[1], x.shape[1], x.shape[2]
        if outputs * inputs <= pixels * (outputs + inputs):
            return reshape(sum(matmul(y, transpose(x)), 0), tuple(shape))
        x, y = (_channels_first(a) for a in (x, y))
        return reshape(matmul(y, transpose(x)), tuple(shape))
    if _is_tiled(x, y, shape, stride, padding, dilation, groups):
        return reshape(matmul(transpose(_by_pixels(y)), _tiles(x, shape[2:])), tuple(shape))
    geometry = Geometry.of(x.shape, shape, stride, padding, dilation, groups)
    if not _has_few_pixels("conv2d_weight", geometry, x, geometry.result, geometry.outputs, _FEW_FOR_WEIGHTS):
        return NotImplemented
    return reshape(matmul(_channels_first(y), transpose(_columns(x, geometry))), tuple(shape))
