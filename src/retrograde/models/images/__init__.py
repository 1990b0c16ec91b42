"""Image models: networks with the keys of torchvision's and timm's files, their weights, and what is done to pixels before."""

from .config import preprocess_of
from .files import load
from .mobilenet import MobileNetV2
from .named import create
from .preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocess
from .resnet import BasicBlock, Bottleneck, ResNet
from .unet import UNet
from .vision_transformer import VisionTransformer
