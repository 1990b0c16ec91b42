"""Small nets with the parts of ResNet-18 and VGG-16 that the programs touch."""

from types import SimpleNamespace

import numpy as np
from door import nn, torch

VGG16_Weights = SimpleNamespace(IMAGENET1K_V1=None)


class _Block(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride > 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class _ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(_Block(64, 64, 1))
        self.layer2 = nn.Sequential(_Block(64, 96, 2))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(96, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer2(self.layer1(x))), 1))


def resnet18(weights=None):
    return _ResNet()


def vgg16(weights=None):
    """No optimizer has its weights, which stand for trained ones: they are the same for each library."""
    layers, before, generator = [], 3, np.random.default_rng(4)
    for width in (8, 8, "M", 12, 12, "M", 16, 16, 16, "M", 16, 16, 16):
        if width == "M":
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(inplace=True)]
            before = width
            with torch.no_grad():
                for parameter in layers[-2].parameters():
                    values = generator.standard_normal(tuple(parameter.shape)) / np.sqrt(9 * before)
                    parameter.copy_(torch.from_numpy(values.astype(np.float32)))
    return SimpleNamespace(features=nn.Sequential(*layers))
