"""The transforms that the programs use."""

import numpy as np
from door import torch


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class ToTensor:
    def __call__(self, image):
        array = np.asarray(image)
        array = array[..., None] if array.ndim == 2 else array
        scaled = array.astype(np.float32) / np.float32(255) if array.dtype == np.uint8 else array
        return torch.from_numpy(np.ascontiguousarray(scaled.transpose(2, 0, 1)))


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = (torch.tensor(list(v)).view(-1, 1, 1) for v in (mean, std))

    def __call__(self, image):
        return (image - self.mean) / self.std


class Lambda:
    def __init__(self, function):
        self.function = function

    def __call__(self, image):
        return self.function(image)


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return image.resize((self.size, self.size))


class CenterCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        left, top = ((length - self.size) // 2 for length in image.size)
        return image.crop((left, top, left + self.size, top + self.size))
