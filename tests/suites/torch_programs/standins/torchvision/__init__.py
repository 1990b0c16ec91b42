"""Stands for torchvision: synthetic images, its transforms by Pillow and NumPy, and the nets that the programs take from it."""

from . import datasets, models, transforms, utils
