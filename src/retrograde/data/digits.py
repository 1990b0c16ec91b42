"""Handwritten digits: 1,797 images of 8×8 from the UCI repository, which scikit-learn brings along."""

from typing import NamedTuple

import numpy as np

from ..extras import optional

# One image in five is held out. The seed is part of the data set: the split never changes.
_HELD_OUT, _SEED = 360, 0


class Digits(NamedTuple):
    """Images (N, 1, 8, 8) float32 from 0 to 1 and their digits (N,) int64, to learn from and held out."""

    images: np.ndarray
    labels: np.ndarray
    held_out_images: np.ndarray
    held_out_labels: np.ndarray


def digits():
    """The handwritten digits, split in the same way each time. Needs scikit-learn, which the extra `demo` installs.

    >>> rg.data.digits().images.shape  # doctest: +SKIP
    (1437, 1, 8, 8)
    """
    raw, labels = optional("sklearn.datasets", "demo").load_digits(return_X_y=True)
    order = np.random.default_rng(_SEED).permutation(len(labels))
    images = (raw[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = labels[order].astype(np.int64)
    cut = len(labels) - _HELD_OUT
    return Digits(images[:cut], labels[:cut], images[cut:], labels[cut:])
