"""`torch.nn.modules`: the layers by the files in which PyTorch keeps them, which are all one here."""

import sys

from ..absent import absent_from

_LAYERS = sys.modules[__package__]
activation = adaptive = batchnorm = container = conv = distance = dropout = flatten = fold = instancenorm = linear = _LAYERS
loss = module = normalization = padding = pixelshuffle = pooling = rnn = sparse = transformer = upsampling = _LAYERS

__all__ = ["activation", "adaptive", "batchnorm", "container", "conv", "distance", "dropout", "flatten", "fold", "instancenorm",
           "linear", "loss", "module", "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer",
           "upsampling"]
_absent = absent_from("torch.nn.modules", lambda: __all__)


def __getattr__(name):
    return getattr(_LAYERS, name) if not name.startswith("__") else _absent(name)
