"""ResNet: stages of blocks whose input is added to what their convolutions make of it.

He et al., "Deep residual learning for image recognition" (2015). Attributes are called as torchvision's keys are, which are
timm's too. As there, a bottleneck has its stride in the 3x3 convolution, and not in the first one, where the paper has it.
"""

from ...nn.container import Identity, Sequential
from ...nn.convolution import Conv2d
from ...nn.functional import relu
from ...nn.module import Module
from ...nn.normalization import BatchNorm2d
from ...nn.pooling import MaxPool2d
from .parts import check_images, draw_convolutions, head_of


class BasicBlock(Module):
    """Two 3x3 convolutions."""

    expansion = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.bn1 = BatchNorm2d(width)
        self.conv2 = Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = BatchNorm2d(width)
        self.downsample = _downsample(inputs, width, stride)

    def forward(self, x):
        z = relu(self.bn1(self.conv1(x)))
        z = self.bn2(self.conv2(z))
        return relu(z + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(Module):
    """A 1x1 convolution to fewer channels, a 3x3 one, and a 1x1 one back to four times as many."""

    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = Conv2d(inputs, width, 1, bias=False)
        self.bn1 = BatchNorm2d(width)
        self.conv2 = Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = BatchNorm2d(width)
        self.conv3 = Conv2d(width, outputs, 1, bias=False)
        self.bn3 = BatchNorm2d(outputs)
        self.downsample = _downsample(inputs, outputs, stride)

    def forward(self, x):
        z = relu(self.bn1(self.conv1(x)))
        z = relu(self.bn2(self.conv2(z)))
        z = self.bn3(self.conv3(z))
        return relu(z + (x if self.downsample is None else self.downsample(x)))


def _downsample(inputs, outputs, stride):
    """What brings the input of a block to the shape of its output; None where it has that."""
    if stride == 1 and inputs == outputs:
        return None
    return Sequential(Conv2d(inputs, outputs, 1, stride, bias=False), BatchNorm2d(outputs))


class ResNet(Module):
    """Logits (batch, num_classes) of images (batch, in_channels, height, width).

    block        `BasicBlock` or `Bottleneck`
    layers       how many blocks each of the four stages has
    num_classes  0 leaves the head out: the network gives features
    width        of the first stage; each stage has twice as many channels as the one before
    small        for images of some 32 pixels a side: the first convolution is 3x3 with stride 1, and no maximum is taken after it,
                 where else the two make an image four times smaller

    >>> images = rg.models.images
    >>> network = images.ResNet(images.BasicBlock, (1, 1, 1, 1), num_classes=10, width=4)
    >>> network(rg.ones(2, 3, 32, 32)).shape
    (2, 10)
    """

    def __init__(self, block, layers, num_classes=1000, in_channels=3, width=64, small=False):
        super().__init__()
        self.in_channels = in_channels
        self.conv1 = Conv2d(in_channels, width, 3 if small else 7, 1 if small else 2, padding=1 if small else 3, bias=False)
        self.bn1 = BatchNorm2d(width)
        self.maxpool = Identity() if small else MaxPool2d(3, 2, padding=1)
        inputs = width
        for number, count in enumerate(layers, 1):
            self.add_module(f"layer{number}", _stage(block, inputs, width, count, stride=1 if number == 1 else 2))
            inputs, width = width * block.expansion, 2 * width
        self.stages = len(layers)
        self.fc = head_of(inputs, num_classes)
        draw_convolutions(self)

    def forward(self, x):
        check_images(self, x, self.in_channels)
        x = self.maxpool(relu(self.bn1(self.conv1(x))))
        for number in range(self.stages):
            x = getattr(self, f"layer{number + 1}")(x)
        return self.fc(x.mean(axis=(2, 3)))


def _stage(block, inputs, width, count, stride):
    """Blocks of one width, of which the first has the stride."""
    first = block(inputs, width, stride)
    return Sequential(first, *[block(width * block.expansion, width, 1) for _ in range(count - 1)])
