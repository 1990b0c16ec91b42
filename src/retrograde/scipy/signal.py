"""Convolution over chosen axes, as autograd.scipy.signal has it."""

from math import prod

from ..errors import ArgumentError, ShapeError
from ..ops.images.convolution import conv1d, conv2d
from ..ops.images.convolutions import conv3d
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.movements import flip, matrix_transpose, permute_dims, reshape
from ..ops.manipulation.selections import getitem
from ..shapes import axis_tuple
from ..tensor.counterparts.operands import stacked

_CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


def convolve(A, B, axes=None, dot_axes=((), ()), mode="full"):
    """The convolution of `A` and `B` over up to three pairs of `axes`, or none; by default all, pair by pair.

    dot_axes  pairs of axes to sum products over, as in a matrix product
    mode      "full", "same" (the size of `A`) or "valid"

    The axes of the result: those of `A` that are neither, those of `B`, then the convolved ones.

    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 3., 2.])
    """
    A, B = stacked(A), stacked(B)
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"mode must be full, same or valid, got {mode!r}")
    axes = (range(A.ndim), range(B.ndim)) if axes is None else axes
    if len(axes[0]) > len(_CONVOLUTIONS) or len(axes[0]) != len(axes[1]):
        raise ArgumentError(f"convolve takes up to three pairs of axes, got {axes}")
    images, rest_a = _laid_out(A, axes[0], dot_axes[0])
    kernels, rest_b = _laid_out(B, axes[1], dot_axes[1])
    found = _convolved(images, kernels, mode) if len(axes[0]) else matmul(images, matrix_transpose(kernels))
    return reshape(found, (*rest_a, *rest_b, *found.shape[2:]))


def _laid_out(x, along, summed):
    """`x` as (others, summed, *along), and the sizes of the others."""
    along, summed = axis_tuple(tuple(along), x.ndim), axis_tuple(tuple(summed), x.ndim)
    others = tuple(d for d in range(x.ndim) if d not in along and d not in summed)
    sizes = [[x.shape[d] for d in axes] for axes in (others, summed, along)]
    return reshape(permute_dims(x, (*others, *summed, *along)), (prod(sizes[0]), prod(sizes[1]), *sizes[2])), sizes[0]


def _convolved(images, kernels, mode):
    sizes, widths = images.shape[2:], kernels.shape[2:]
    if mode == "valid" and any(width > size for size, width in zip(sizes, widths, strict=True)):
        if any(width < size for size, width in zip(sizes, widths, strict=True)):
            raise ShapeError(f"one operand must be the larger one along all axes, got {sizes} and {widths}")
        return permute_dims(_convolved(kernels, images, mode), (1, 0, *range(2, images.ndim)))
    padding = tuple(0 if mode == "valid" else width - 1 for width in widths)
    flipped = flip(kernels, tuple(range(2, kernels.ndim)))
    found = _CONVOLUTIONS[len(sizes)](images, flipped, padding=padding if len(sizes) > 1 else padding[0])
    if mode == "same":
        starts = [(width - 1) // 2 for width in widths]
        inside = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        found = getitem(found, (slice(None), slice(None), *inside))
    return found
