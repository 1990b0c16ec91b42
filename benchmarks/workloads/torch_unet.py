"""U-Net in PyTorch, with the shapes and keys of milesial/Pytorch-UNet, which are those of `retrograde.models.images.UNet`."""

import importlib
from collections import OrderedDict

DEPTH = 4


def network(inputs, classes, width):
    """Logits of each pixel; images are halved four times, and doubled again by transposed convolutions."""
    torch = importlib.import_module("torch")
    nn = torch.nn

    def convolved(before, after):
        layers = []
        for channels in (before, after):
            layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        return _holding(nn, double_conv=nn.Sequential(*layers))

    class UNet(nn.Module):
        """The encoder, and the decoder that joins what it has of each size."""

        def __init__(self):
            super().__init__()
            self.inc = convolved(inputs, width)
            widths = [width << level for level in range(DEPTH + 1)]
            for level in range(DEPTH):
                block = nn.Sequential(nn.MaxPool2d(2), convolved(widths[level], widths[level + 1]))
                self.add_module(f"down{level + 1}", _holding(nn, maxpool_conv=block))
            for level in range(DEPTH):
                wide, half = widths[DEPTH - level], widths[DEPTH - level - 1]
                up = {"up": nn.ConvTranspose2d(wide, half, 2, stride=2), "conv": convolved(wide, half)}
                self.add_module(f"up{level + 1}", nn.ModuleDict(up))
            self.outc = _holding(nn, conv=nn.Conv2d(width, classes, 1))

        def forward(self, x):
            found = [self.inc(x)]
            for level in range(DEPTH):
                found.append(getattr(self, f"down{level + 1}")(found[-1]))
            x = found.pop()
            for level in range(DEPTH):
                block = getattr(self, f"up{level + 1}")
                x = block["conv"](torch.cat([found.pop(), block["up"](x)], 1))
            return self.outc(x)

    return UNet()


def _holding(nn, **layers):
    """A module that calls its one layer, which has a name."""
    return nn.Sequential(OrderedDict(layers))
