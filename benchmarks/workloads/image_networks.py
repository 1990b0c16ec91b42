"""Training steps of image models: those of `retrograde.models.images`, and the same networks of torchvision and timm in PyTorch."""

import importlib
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from . import libraries, torch_unet, training

MOMENTUM = 0.9
#: What our convolutions are asked for by the rival of this name: the setting of the library, and its value.
F4, F4_SETTING = "retrograde, F(4×4)", ("set_convolution_precision", "medium")


@dataclass(frozen=True)
class Task:
    """What is trained: a network by the name that `retrograde.models.images.create` knows, on random images.

    images            (batch, channels, height, width)
    classes           of each image, or of each pixel
    options           of our network beside its classes
    is_channels_last  whether PyTorch is faster if it has the channels of a pixel side by side
    """

    network: str
    images: tuple[int, int, int, int]
    classes: int
    is_of_pixels: bool = False
    optimizer: str = "SGD"
    options: dict = field(default_factory=dict)
    is_channels_last: bool = False

    def data(self):
        """Images and labels."""
        rng = np.random.default_rng(1)
        batch, _, height, width = self.images
        shape = (batch, height, width) if self.is_of_pixels else (batch,)
        return rng.standard_normal(self.images, np.float32), rng.integers(0, self.classes, shape)


def retrograde(task, threads):
    """The whole step compiled."""
    lib = libraries.modules("retrograde")
    create = importlib.import_module("retrograde.models").images.create
    return _trained(lib, task, create(task.network, num_classes=task.classes, **task.options), threads, compiled=lib.library.jit)


def retrograde_f4(task, threads):
    """As `retrograde`, with convolutions that trade accuracy for fewer multiplications, from now on in this process."""
    name, value = F4_SETTING
    library = libraries.modules("retrograde").library
    if not hasattr(library, name):
        raise ImportError(f"this retrograde has no {name}, which asks for convolutions as F(4×4, 3×3)")
    getattr(library, name)(value)
    return retrograde(task, threads)


def torch(task, threads):
    """Op by op, with the fused optimizer."""
    return _trained(libraries.modules("torch"), task, _their_network(task), threads, fused=True)


def torch_compile(task, threads):
    """The loss compiled, forward and backward, with the fused optimizer."""
    if not shutil.which(os.environ.get("CXX", "g++")):
        raise ImportError("torch.compile needs a C++ compiler, and none was found; install g++, or name one in the variable CXX")
    lib = libraries.modules("torch")
    return _trained(lib, task, _their_network(task), threads, wrapped_loss=lib.library.compile, fused=True)


def _trained(lib, task, model, threads, compiled=lambda step: step, wrapped_loss=lambda loss_of: loss_of, **options):
    lib.library.set_num_threads(threads)
    model = libraries.load_matrices(lib, model.train())
    if task.optimizer == "SGD":
        options["momentum"] = MOMENTUM
    loss_of = wrapped_loss(lambda x, y: lib.functional.cross_entropy(model(x), y))
    optimizer = partial(getattr(lib.optim, task.optimizer), **options)
    return training.with_modules(lib, model.parameters(), loss_of, optimizer, compiled)(*task.data())


def torchvision():
    """torchvision, with names for its own ops, which nobody calls, where it cannot load them: beside a PyTorch of another build."""
    with suppress(RuntimeError):
        return importlib.import_module("torchvision")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = importlib.import_module("torch").library
    for op in ("nms", "qnms"):
        library.define(f"torchvision::{op}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    return importlib.import_module("torchvision")


def _their_network(task):
    network, torch = _THEIRS[task.network](task), importlib.import_module("torch")
    return network.to(memory_format=torch.channels_last) if task.is_channels_last else network


def _their_resnet(task):
    nn, model = importlib.import_module("torch").nn, torchvision().models.resnet18(num_classes=task.classes)
    if task.options.get("small"):
        model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return model


def _their_mobilenet(task):
    return torchvision().models.mobilenet_v2(num_classes=task.classes, dropout=task.options["dropout"])


def _their_transformer(task):
    torchvision()  # timm imports it
    return importlib.import_module("timm").create_model(task.network, num_classes=task.classes)


def _their_unet(task):
    return torch_unet.network(task.images[1], task.classes, task.options["width"])


_THEIRS = {"resnet18": _their_resnet, "mobilenet_v2": _their_mobilenet, "vit_tiny_patch16_224": _their_transformer,
           "unet": _their_unet}
#: The package that the networks of PyTorch come from.
PACKAGES = dict.fromkeys(("torch", "torch.compile"), "torchvision")
EAGER = {"retrograde": retrograde, "torch": torch}
CONVOLVED = {"retrograde": retrograde, F4: retrograde_f4, "torch": torch, "torch.compile": torch_compile}


def rivals(task, made):
    """Rivals that train for `task`, by name: `made` has what makes each."""
    return {name: partial(make, task) for name, make in made.items()}
