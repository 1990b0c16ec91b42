"""Synthetic data sets: seeded images whose class can be seen."""

from pathlib import Path

import numpy as np
from door import torch


class MNIST(torch.utils.data.Dataset):
    def __init__(self, root, train=True, download=False, transform=None):
        generator = np.random.default_rng(0 if train else 1)
        count = 400 if train else 100
        labels = generator.integers(0, 10, count)
        pictures = generator.integers(0, 60, (count, 28, 28))
        for picture, label in zip(pictures, labels, strict=True):
            picture[2 + 2 * label:6 + 2 * label, 4:24] += 180
        self.data, self.targets = torch.from_numpy(pictures.astype(np.uint8)), torch.from_numpy(labels)
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        image, label = self.data[index].numpy(), int(self.targets[index])
        return (self.transform(image) if self.transform else image), label


class FakeData(torch.utils.data.Dataset):
    def __init__(self, size=64, image_size=(3, 64, 64), transform=None):
        channels, height, width = image_size
        self.images = np.random.default_rng(0).integers(0, 256, (size, height, width, channels)).astype(np.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index]), index % 10


class ImageFolder(torch.utils.data.Dataset):
    def __init__(self, root, transform=None):
        self.paths, self.transform = sorted(Path(root).rglob("*.png")), transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        from PIL import Image  # only some programs need Pillow

        return self.transform(Image.open(self.paths[index]).convert("RGB")), 0
