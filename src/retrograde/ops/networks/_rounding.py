"""Activations as integers of 8 bits: each block of a row has a scale of its own."""

import numpy as np

from ..axes.reductions import max as largest
from ..elementary.arithmetic import abs as magnitude
from ..elementary.comparisons import maximum
from ..elementary.rounding import round as rounded
from ..manipulation.movements import reshape

#: So many numbers of a row share a scale, as in llama.cpp's Q8_1; rows of weights are whole blocks of that in all formats.
BLOCK = 32
#: A scale is the largest number of a block times this: a product is rounded alike everywhere, and a division may become one.
STEP = np.float32(1 / 127)
#: The least scale, of which there is a reciprocal. A block of smaller numbers than that is rounded to zeros.
LEAST = np.finfo(np.float32).tiny


def rounded_activations(x):
    """`x`, (..., a multiple of 32), with each block of 32 numbers rounded to multiples of 1/127 of its largest one, half to even.

    A block with a NaN or an infinity is NaN. It is made of ops: arrays become an array, nodes of a graph a node.
    """
    blocks = reshape(x, (*x.shape[:-1], x.shape[-1] // BLOCK, BLOCK))
    scale = maximum(largest(magnitude(blocks), -1, keepdims=True) * STEP, LEAST)
    return reshape(rounded(blocks * (1 / scale)) * scale, x.shape)
