"""Sentences of two made-up languages, one the other with its words turned round."""

import numpy as np

from . import multi30k


def Multi30k(split="train", language_pair=("de", "en")):  # noqa: N802 - torchtext's name
    generator = np.random.default_rng(len(split))
    sentences = [[f"w{i}" for i in generator.integers(0, 30, generator.integers(3, 9))] for _ in range(96)]
    return [(" ".join(sentence), " ".join(word[::-1] for word in sentence[::-1])) for sentence in sentences]
