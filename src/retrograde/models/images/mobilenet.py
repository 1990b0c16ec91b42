"""MobileNetV2: blocks that widen their channels, look at each one alone, and narrow them again without an activation.

Sandler et al., "MobileNetV2: Inverted residuals and linear bottlenecks" (2018). Attributes are called as torchvision's keys are.
"""

from ...nn import init
from ...nn.activation import ReLU6
from ...nn.container import Identity, Sequential
from ...nn.convolution import Conv2d
from ...nn.dropout import Dropout
from ...nn.linear import Linear
from ...nn.module import Module
from ...nn.normalization import BatchNorm2d
from .parts import check_classes, check_images, draw_convolutions

#: (how much wider, channels, blocks, stride of the first) of each stage: table 2 of the paper.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class InvertedResidual(Module):
    """One block; its input is added where that has the shape of the output."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        width = inputs * expansion
        widened = [_convolution(inputs, width, 1)] if expansion != 1 else []
        self.conv = Sequential(*widened, _convolution(width, width, 3, stride, groups=width),
                               Conv2d(width, outputs, 1, bias=False), BatchNorm2d(outputs))
        self.is_added = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.is_added else self.conv(x)


class MobileNetV2(Module):
    """Logits (batch, num_classes) of images (batch, in_channels, height, width).

    num_classes  0 leaves the head out: the network gives features
    width        all numbers of channels are multiplied by it, and rounded to multiples of 8
    stages       (how much wider, channels, blocks, stride of the first) of each stage

    >>> network = rg.models.images.MobileNetV2(num_classes=10, width=0.25, stages=((1, 16, 1, 1), (6, 24, 2, 2)))
    >>> network.eval()(rg.ones(2, 3, 32, 32)).shape
    (2, 10)
    """

    def __init__(self, num_classes=1000, in_channels=3, width=1.0, dropout=0.2, stages=STAGES):
        super().__init__()
        check_classes(num_classes)
        self.in_channels = in_channels
        # As torchvision has it, the last layer does not get narrower than in the paper, only wider.
        inputs, last = _rounded(32 * width), _rounded(1280 * max(1.0, width))
        features = [_convolution(in_channels, inputs, 3, 2)]
        for expansion, channels, count, stride in stages:
            outputs = _rounded(channels * width)
            for number in range(count):
                features.append(InvertedResidual(inputs, outputs, stride if number == 0 else 1, expansion))
                inputs = outputs
        self.features = Sequential(*features, _convolution(inputs, last, 1))
        self.classifier = _classifier(last, num_classes, dropout) if num_classes else Identity()
        draw_convolutions(self)

    def forward(self, x):
        check_images(self, x, self.in_channels)
        return self.classifier(self.features(x).mean(axis=(2, 3)))


def _convolution(inputs, outputs, size, stride=1, groups=1):
    """A convolution with its norm and activation."""
    return Sequential(Conv2d(inputs, outputs, size, stride, padding=size // 2, groups=groups, bias=False), BatchNorm2d(outputs),
                      ReLU6())


def _classifier(features, num_classes, dropout):
    head = Linear(features, num_classes)
    init.normal_(head.weight, 0, 0.01)
    init.zeros_(head.bias)
    return Sequential(Dropout(dropout), head)


def _rounded(channels):
    """The nearest multiple of 8, the next one if that is more than a tenth below."""
    found = max(8, int(channels + 4) // 8 * 8)
    return found if found >= 0.9 * channels else found + 8
