"""UNet: an encoder that halves images and a decoder that doubles them again, joined at each size.

Ronneberger, Fischer and Brox, "U-Net: Convolutional networks for biomedical image segmentation" (2015), with borders of zeros, so
that the output has the size of the input, and batch norm. There is no U-Net in torchvision: keys are those of the widely used
project milesial/Pytorch-UNet.
"""

from ...errors import ShapeError
from ...nn.activation import ReLU
from ...nn.container import Sequential
from ...nn.convolution import Conv2d, ConvTranspose2d
from ...nn.functional import pad
from ...nn.module import Module
from ...nn.normalization import BatchNorm2d
from ...nn.pooling import MaxPool2d
from ...nn.resizing import Upsample
from ...ops.manipulation.joins import concatenate
from .parts import check_classes, check_images

#: How often an image is halved.
_DEPTH = 4


class DoubleConvolution(Module):
    """Two 3x3 convolutions, each with batch norm and ReLU."""

    def __init__(self, inputs, outputs, between=None):
        super().__init__()
        between = between or outputs
        self.double_conv = Sequential(
            Conv2d(inputs, between, 3, padding=1, bias=False), BatchNorm2d(between), ReLU(),
            Conv2d(between, outputs, 3, padding=1, bias=False), BatchNorm2d(outputs), ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(Module):
    """The maxima of squares of 2x2, and two convolutions."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.maxpool_conv = Sequential(MaxPool2d(2), DoubleConvolution(inputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(Module):
    """An image of twice the size beside that of the encoder, and two convolutions."""

    def __init__(self, inputs, outputs, bilinear):
        super().__init__()
        half = inputs // 2
        if bilinear:
            self.up = Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConvolution(inputs, outputs, half)
        else:
            self.up = ConvTranspose2d(inputs, half, 2, stride=2)
            self.conv = DoubleConvolution(inputs, outputs)

    def forward(self, x, skip):
        x = self.up(x)
        # An odd size lost a row or a column when it was halved.
        tall, wide = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        if tall or wide:
            x = pad(x, (wide // 2, wide - wide // 2, tall // 2, tall - tall // 2))
        return self.conv(concatenate([skip, x], 1))


class Output(Module):
    """The logits of each pixel."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(Module):
    """Logits (batch, num_classes, height, width), one for each pixel, of images (batch, in_channels, height, width).

    Height and width are 16 at least, so that they can be halved four times.

    width     channels of the first convolutions; each halved image has twice as many
    bilinear  images are doubled by interpolation, in place of learned transposed convolutions

    >>> rg.models.images.UNet(num_classes=2, in_channels=1, width=4)(rg.ones(1, 1, 32, 48)).shape
    (1, 2, 32, 48)
    """

    def __init__(self, num_classes=2, in_channels=3, width=64, bilinear=False):
        super().__init__()
        check_classes(num_classes, 1)
        self.in_channels = in_channels
        self.inc = DoubleConvolution(in_channels, width)
        # Interpolation leaves the number of channels as it is: what is joined has as many from below as from beside.
        part = 2 if bilinear else 1
        widths = [width * 2**level for level in range(_DEPTH)] + [width * 2**_DEPTH // part]
        for level in range(_DEPTH):
            self.add_module(f"down{level + 1}", Down(widths[level], widths[level + 1]))
        for level in range(_DEPTH):
            inputs, is_last = width * 2 ** (_DEPTH - level), level == _DEPTH - 1
            self.add_module(f"up{level + 1}", Up(inputs, inputs // 2 // (1 if is_last else part), bilinear))
        self.outc = Output(width, num_classes)

    def forward(self, x):
        check_images(self, x, self.in_channels)
        if min(x.shape[2:]) < 2**_DEPTH:
            raise ShapeError(f"UNet halves images {_DEPTH} times, so that they need {2**_DEPTH} pixels a side at least, got "
                             f"{tuple(x.shape)}")
        found = [self.inc(x)]
        for level in range(_DEPTH):
            found.append(getattr(self, f"down{level + 1}")(found[-1]))
        x = found.pop()
        for level in range(_DEPTH):
            x = getattr(self, f"up{level + 1}")(x, found.pop())
        return self.outc(x)
