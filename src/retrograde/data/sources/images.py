"""Image folders: one folder for each class, read with Pillow."""

from pathlib import Path

import numpy as np

from ...errors import ArgumentError, DataError
from ...extras import optional
from .base import Source

#: How files of images end.
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


class Images(Source):
    """Pairs of an image, uint8 of shape (channels, height, width), and the number of its class."""

    def __init__(self, files, labels, classes, mode, size):
        self.files, self.labels, self.classes, self.mode, self.size = files, labels, classes, mode, size

    def __len__(self):
        return len(self.files)

    def row(self, i):
        return self._read(self.files[i]), self.labels[i]

    def where(self, i):
        return str(self.files[i])

    def _read(self, path):
        pillow = optional("PIL.Image", "data")
        try:
            with pillow.open(path) as image:
                image = image.convert(self.mode)
                if self.size is not None:
                    image = image.resize(self.size[::-1], pillow.Resampling.BILINEAR)
                pixels = np.array(image)
        except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
            raise DataError(f"{path} is no image that can be read: {error}") from None
        return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def image_folder(folder, mode="RGB", size=None, endings=ENDINGS):
    """The images below `folder`, in which each folder is a class: rows are (pixels, number of the class). Needs Pillow.

    Pixels are uint8 of shape (channels, height, width). Classes are numbered in the order of their names, which `.classes` lists.

    mode    as Pillow calls it: "RGB", "L" for grey, "RGBA"
    size    (height, width) that all images are scaled to; None: as they are
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder")
    optional("PIL.Image", "data")
    classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    files, labels = [], []
    for number, name in enumerate(classes):
        found = sorted(path for path in (folder / name).rglob("*") if path.suffix.lower() in endings)
        files += found
        labels += [number] * len(found)
    if not files:
        raise DataError(f"{folder} holds no folders with images; images of a class lie in a folder of its name")
    if size is not None and len(size) != 2:
        raise ArgumentError(f"size is (height, width), got {size}")
    return Images(files, labels, classes, mode, size)
