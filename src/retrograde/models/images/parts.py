"""What image models share: a check of their images, the head, and the first weights of convolutions."""

from numbers import Integral

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ...nn import init
from ...nn.container import Identity
from ...nn.convolution import Conv2d
from ...nn.linear import Linear


def check_images(owner, x, channels, size=None):
    """Raise an error of ours unless `x` is of floats and (batch, channels, height, width), of this `size` if it is given."""
    needed = ("batch", channels, *(("height", "width") if size is None else size))
    if x.ndim != 4 or x.shape[1] != channels or size is not None and tuple(x.shape[2:]) != size:
        raise ShapeError(f"{type(owner).__name__} needs images of shape ({', '.join(map(str, needed))}), got {tuple(x.shape)}")
    if x.dtype.kind in "biu":
        raise DTypeError(f"{type(owner).__name__} needs images of floats, got {np.dtype(x.dtype).name}; models.images.Preprocess "
                         "makes them of pixels")


def check_classes(num_classes, least=0):
    """Raise an ArgumentError unless there is such a number of classes."""
    if not isinstance(num_classes, Integral) or isinstance(num_classes, bool) or num_classes < least:
        raise ArgumentError(f"num_classes must be an integer of at least {least}, got {num_classes!r:.80}")


def head_of(features, num_classes):
    """The layer that makes logits of features; with no classes the features are what the network gives."""
    check_classes(num_classes)
    return Linear(features, num_classes) if num_classes else Identity()


def draw_convolutions(network):
    """Draw weights with which gradients keep their variance through convolutions and ReLU (He et al., 2015), as torchvision's."""
    for module in network.modules():
        if isinstance(module, Conv2d):
            init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
