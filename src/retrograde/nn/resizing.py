"""Images in other sizes, as windows, and with space in place of channels."""

from ..errors import ArgumentError, ShapeError
from ..ops.images.resampling import interpolate
from ..ops.manipulation.movements import permute_dims, reshape
from ..ops.manipulation.patches import columns_to_image as fold
from ..ops.manipulation.patches import image_to_columns as unfold
from .module import Module


def pixel_shuffle(input, upscale_factor):
    """`input`, (..., channels, height, width), with blocks of channels laid out as squares of `upscale_factor` pixels a side.

    Shi et al., "Real-time single image and video super-resolution" (2016).

    >>> rg.nn.functional.pixel_shuffle(rg.arange(4.0).reshape(4, 1, 1), 2).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    r, (*lead, channels, height, width) = upscale_factor, input.shape
    if r < 1 or channels % (r * r):
        raise ShapeError(f"pixel_shuffle needs a multiple of upscale_factor² = {r * r} channels, got {channels}")
    split = reshape(input, (*lead, channels // (r * r), r, r, height, width))
    return reshape(_permuted(split, (0, 3, 1, 4, 2)), (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input, downscale_factor):
    """What undoes `pixel_shuffle`: squares of pixels laid out as blocks of channels."""
    r, (*lead, channels, height, width) = downscale_factor, input.shape
    if r < 1 or height % r or width % r:
        raise ShapeError(f"pixel_unshuffle needs a height and width that {r} divides, got {(height, width)}")
    split = reshape(input, (*lead, channels, height // r, r, width // r, r))
    return reshape(_permuted(split, (0, 2, 4, 1, 3)), (*lead, channels * r * r, height // r, width // r))


def _permuted(x, order):
    """`x` with its last axes in another `order`."""
    first = x.ndim - len(order)
    return permute_dims(x, (*range(first), *[first + axis for axis in order]))


def channel_shuffle(input, groups):
    """`input`, (batch, channels, ...), with the channels of all groups in turn: first of each, second of each, and so on."""
    batch, channels, *rest = input.shape
    if groups < 1 or channels % groups:
        raise ShapeError(f"channel_shuffle needs a multiple of groups={groups} channels, got {channels}")
    split = reshape(input, (batch, groups, channels // groups, *rest))
    return reshape(permute_dims(split, (0, 2, 1, *range(3, split.ndim))), input.shape)


class PixelShuffle(Module):
    """Blocks of channels laid out as squares of `upscale_factor` pixels a side.

    >>> rg.nn.PixelShuffle(2)(rg.ones(1, 8, 3, 3)).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Squares of `downscale_factor` pixels a side laid out as blocks of channels."""

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of all `groups` in turn."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"


class Upsample(Module):
    """Lines, images or volumes, (batch, channels, ...), in another `size`, or `scale_factor` times as long.

    `mode` is "nearest", "linear", "bilinear", "bicubic" or "trilinear".

    >>> rg.nn.Upsample(scale_factor=2)(rg.ones(1, 1, 3, 3)).shape
    (1, 1, 6, 6)
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        if recompute_scale_factor:
            raise ArgumentError("Upsample has no recompute_scale_factor here; give size instead")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, input):
        return interpolate(input, self.size, self.scale_factor, self.mode, bool(self.align_corners))

    def extra_repr(self):
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images by the nearest pixel."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images by straight lines between pixels, the outermost of which keep their places."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


class Unfold(Module):
    """The windows of images (batch, channels, height, width) as columns: (batch, channels * window, number of windows).

    >>> rg.nn.Unfold(2)(rg.ones(1, 3, 4, 4)).shape
    (1, 12, 9)
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Images of `output_size` made of the columns that `Unfold` gives: where windows overlap, they add up."""

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input):
        return fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"output_size={self.output_size}, {super().extra_repr()}"
