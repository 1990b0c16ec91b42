"""Image models by the names that torchvision and timm give them."""

from functools import partial
from inspect import signature
from typing import Any

from ...errors import ArgumentError
from ..checks import check_options
from .mobilenet import MobileNetV2
from .resnet import BasicBlock, Bottleneck, ResNet
from .unet import UNet
from .vision_transformer import VisionTransformer

ARCHITECTURES: dict[str, Any] = {
    "mobilenet_v2": MobileNetV2,
    "resnet18": partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    "resnet34": partial(ResNet, BasicBlock, (3, 4, 6, 3)),
    "resnet50": partial(ResNet, Bottleneck, (3, 4, 6, 3)),
    "resnet101": partial(ResNet, Bottleneck, (3, 4, 23, 3)),
    "resnet152": partial(ResNet, Bottleneck, (3, 8, 36, 3)),
    "unet": UNet,
    "vit_tiny_patch16_224": partial(VisionTransformer, embed_dim=192, num_heads=3),
    "vit_small_patch16_224": partial(VisionTransformer, embed_dim=384, num_heads=6),
    "vit_base_patch16_224": VisionTransformer,
    "vit_base_patch32_224": partial(VisionTransformer, patch_size=32)}
#: What others call the same networks.
ALIASES = {"mobilenetv2_100": "mobilenet_v2", "vit_b_16": "vit_base_patch16_224", "vit_b_32": "vit_base_patch32_224"}


def create(architecture, **options):
    """A new network with random weights: `architecture` is a name such as "resnet50", `options` go to its class.

    Names are resnet18, 34, 50, 101 and 152, mobilenet_v2, unet, vit_tiny_patch16_224, vit_small_patch16_224, vit_base_patch16_224
    and vit_base_patch32_224; and as others call the same: mobilenetv2_100, vit_b_16, vit_b_32.

    >>> network = rg.models.images.create("resnet18", num_classes=10, small=True)
    >>> sum(parameter.size for parameter in network.parameters())
    11173962
    """
    known = ALIASES.get(architecture, architecture)
    if known not in ARCHITECTURES:
        raise ArgumentError(f"no image model is called {architecture!r}; there are {', '.join(sorted([*ARCHITECTURES, *ALIASES]))}")
    make = ARCHITECTURES[known]
    check_options(architecture, options, signature(make).parameters)
    return make(**options)
