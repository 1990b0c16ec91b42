"""Preprocess: pixels as the networks were trained to see them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.images.resampling import FILTERS, filter_weights

#: Mean and standard deviation of the red, green and blue of ImageNet's training images, as numbers from 0 to 1. They are in
#: torchvision's documentation of its models, and timm has them as IMAGENET_DEFAULT_MEAN and IMAGENET_DEFAULT_STD.
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Preprocess:
    """Called with pixels, it gives the images that a network takes, float32 of shape (..., channels, size, size).

    The shorter side is resized to `resize`, the square of `size` in the middle is cut out, `mean` is taken away and what is left
    is divided by `std`, channel by channel. Pixels are (..., channels, height, width): uint8, or floats from 0 to 1.

    The usual numbers are those of torchvision's ResNets and MobileNetV2. Where an image is made smaller, each new pixel is a
    weighted mean over all that it covers, as in Pillow; it is not rounded to one of 255 levels, and lies within two of Pillow's.

    >>> rg.models.images.Preprocess()(np.zeros((3, 480, 640), np.uint8)).shape
    (3, 224, 224)
    """

    size: int = 224
    resize: int = 256
    mean: tuple = IMAGENET_MEAN
    std: tuple = IMAGENET_STD
    mode: str = "bilinear"

    def __post_init__(self):
        if self.mode not in FILTERS:
            raise ArgumentError(f"mode must be one of {', '.join(FILTERS)}, got {self.mode!r}")
        if not 1 <= self.size <= self.resize:
            raise ArgumentError(f"size must be at least 1 and at most resize, got {self.size} and {self.resize}")
        if len(self.mean) != len(self.std) or not all([deviation > 0 for deviation in self.std]):
            raise ArgumentError(f"mean and std are a number for each channel, std positive, got {self.mean} and {self.std}")

    def __call__(self, pixels):
        x = _scaled(np.asarray(pixels))
        if x.ndim < 3 or x.shape[-3] != len(self.mean) or not x.size:
            raise ShapeError(f"Preprocess needs pixels (..., {len(self.mean)}, height, width), got {x.shape}")
        height, width = x.shape[-2:]
        shorter = min(height, width)
        x = _cropped(_resized(x, [self.resize * side // shorter for side in (height, width)], self.mode), self.size)
        mean, std = [np.array(numbers, np.float32)[:, None, None] for numbers in (self.mean, self.std)]
        return (x - mean) / std


def _scaled(pixels):
    """Pixels as float32 from 0 to 1."""
    if pixels.dtype == np.uint8:
        return pixels.astype(np.float32) / 255
    if pixels.dtype.kind != "f":
        raise DTypeError(f"Preprocess needs pixels of uint8, or of floats from 0 to 1, got {pixels.dtype}")
    if pixels.size and not (pixels.min() >= 0 and pixels.max() <= 1):
        raise ArgumentError(f"floats must be pixels from 0 to 1, got some from {pixels.min()} to {pixels.max()}; pixels up to 255 "
                            "are uint8")
    return pixels.astype(np.float32)


def _resized(x, sizes, mode):
    rows, columns = [_weights(old, new, mode) for old, new in zip(x.shape[-2:], sizes, strict=True)]
    # Cubic weights overshoot at edges; Pillow cuts that off after each of the two steps, in this order.
    return np.clip(rows @ np.clip(x @ columns.T, 0, 1), 0, 1)


@lru_cache(maxsize=64)
def _weights(old, new, mode):
    """The matrix (new, old) that resamples an axis, which nobody writes to."""
    found = filter_weights(mode, new, old, old / new).astype(np.float32)
    found.flags.writeable = False
    return found


def _cropped(x, size):
    """The square of `size` in the middle."""
    top, left = [round((side - size) / 2) for side in x.shape[-2:]]
    return x[..., top : top + size, left : left + size]
