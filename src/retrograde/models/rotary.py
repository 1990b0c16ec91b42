"""Rotary embeddings: queries and keys are turned by angles that grow with their positions, so that products know distances.

Su et al., "RoFormer: Enhanced transformer with rotary position embedding" (2021).
"""

import math
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..ops.elementary.trigonometric import cos, sin
from ..ops.manipulation.joins import concatenate, stack
from ..ops.manipulation.movements import expand_dims, reshape


class Rotary:
    """The angles of a head of `size` numbers by base `theta`, stretched as `scaling` says, where that is not None.

    `factor` multiplies cosines and sines. `factors` of a file divide the frequencies. With the scaling "dynamic" texts that are
    read whole are stretched as far as they are longer than `context`; those in a cache are not longer.
    """

    def __init__(self, size, theta, scaling=None, is_in_pairs=False, context=None, factors=None):
        self.size, self.is_in_pairs = size, is_in_pairs
        frequencies = theta ** -(np.arange(0, size, 2, dtype=np.float64) / size)
        kind = None if scaling is None else scaling.get("rope_type", scaling.get("type"))
        if kind is not None and (not isinstance(kind, str) or kind not in (_DYNAMIC, *_SCALINGS)):
            raise CheckpointError(f"angles of positions are scaled by {kind!r}, and retrograde knows "
                                  f"{', '.join(sorted([_DYNAMIC, *_SCALINGS]))}")
        self.factor, self.factors = 1.0, factors
        self.dynamic: Any = (theta, scaling.get("factor"), context) if kind == _DYNAMIC and scaling is not None else None
        if kind in _SCALINGS:
            frequencies, self.factor = _scaled(kind, frequencies, scaling, theta, size, context)
        elif self.dynamic is not None:
            _scaled("linear", frequencies, scaling, theta, size, context)  # asks for the same factor
        self.frequencies = (frequencies if factors is None else frequencies / factors).astype(np.float32)

    def angles(self, positions):
        """(cosines, sines) for `positions` (..., n), each (..., n, 1, size / 2), the axis of heads being that of 1."""
        turned = expand_dims(expand_dims(positions.astype(np.float32), -1) * self._frequencies(positions), -2)
        return (cos(turned), sin(turned)) if self.factor == 1 else (cos(turned) * self.factor, sin(turned) * self.factor)

    def _frequencies(self, positions):
        """Those of a text that is read whole, whose positions are known; longer ones have slower waves."""
        if self.dynamic is None or not isinstance(positions, np.ndarray):
            return self.frequencies
        theta, factor, context = self.dynamic
        longer = max(int(positions.max()) + 1, context) / context
        base = theta * (factor * longer - (factor - 1)) ** (self.size / (self.size - 2))
        frequencies = base ** -(np.arange(0, self.size, 2, dtype=np.float64) / self.size)
        return (frequencies if self.factors is None else frequencies / self.factors).astype(np.float32)

    def turn(self, x, angles):
        """`x` (..., n, heads, size) turned by `angles`."""
        cosines, sines = angles
        half = self.size // 2
        if self.is_in_pairs:
            pairs = reshape(x, (*x.shape[:-1], half, 2))
            first, second = pairs[..., 0], pairs[..., 1]
            return reshape(stack([first * cosines - second * sines, second * cosines + first * sines], -1), x.shape)
        first, second = x[..., :half], x[..., half:]
        return concatenate([first * cosines - second * sines, second * cosines + first * sines], -1)


def _scaled(kind, frequencies, scaling, *others):
    """(frequencies, factor) by a scaling; a CheckpointError if it lacks a number that this kind needs, or has none in its place."""
    if not isinstance(by := scaling.get("factor"), (int, float)) or not 0 < by < math.inf:
        raise CheckpointError(f"angles of positions cannot be scaled by {scaling!r:.200}: factor must be a positive number")
    try:
        with np.errstate(all="ignore"):  # what is divided by zero is found below
            found, factor = _SCALINGS[kind](frequencies, scaling, *others)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"angles of positions cannot be scaled by {scaling!r:.200}: {error}") from None
    if not np.all(np.isfinite(found)) or not np.all(found > 0) or not 0 < factor < math.inf:
        raise CheckpointError(f"angles of positions cannot be scaled by {scaling!r:.200}: frequencies must be positive")
    return found, factor


def _linear(frequencies, scaling, theta, size, context):  # noqa: ARG001 - each scaling has all of these
    return frequencies / scaling["factor"], 1.0


def _llama3(frequencies, scaling, theta, size, context):  # noqa: ARG001
    """Long waves are stretched, short ones are not, those between are so in part."""
    factor, low, high = scaling["factor"], scaling["low_freq_factor"], scaling["high_freq_factor"]
    if not 0 < low < high:
        raise ValueError("low_freq_factor and high_freq_factor must be positive, and the first one less")
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    part = ((turns - low) / (high - low)).clip(0, 1)
    return (1 - part) * frequencies / factor + part * frequencies, 1.0


def _yarn(frequencies, scaling, theta, size, context):
    """Peng et al., "YaRN: Efficient context window extension of large language models" (2023)."""
    factor = scaling["factor"]
    original = scaling.get("original_max_position_embeddings") or context
    fast, slow = scaling.get("beta_fast") or 32, scaling.get("beta_slow") or 1

    def place(turns):
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = place(fast), place(slow)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    part = 1 - ((np.arange(size // 2) - low) / max(high - low, 0.001)).clip(0, 1)
    return frequencies / factor * (1 - part) + frequencies * part, _yarn_factor(scaling, factor)


def _yarn_factor(scaling, factor):
    if scaling.get("attention_factor") is not None:
        return float(scaling["attention_factor"])

    def scale(weight):
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0

    whole, all_dimensions = scaling.get("mscale"), scaling.get("mscale_all_dim")
    return scale(whole) / scale(all_dimensions) if whole and all_dimensions else scale(1)


#: The scaling that depends on the length of a text.
_DYNAMIC = "dynamic"
_SCALINGS = {"linear": _linear, "llama3": _llama3, "yarn": _yarn}
