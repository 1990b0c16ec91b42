"""The setting of how exact compiled convolutions are, of a process: the fewer multiplications they take, the more rounding
errors grow.
"""

import weakref

from .errors import ArgumentError

#: How many results along each side Winograd's tiles may have, by the name of the level.
_TILES = {"highest": (), "high": (2,), "medium": (2, 4)}
_state = {"level": "high"}
#: What keeps programs for one level, and has a method `forget_latest` for the moment when that changes.
keepers = weakref.WeakSet()


def set_convolution_precision(level):
    """Set how exact compiled convolutions with kernels of 3x3 are, from the next call on.

    level  "highest": each product is computed. "high", the default: Winograd's tiles of 2x2 results where they pay, which take 16
           products in place of 36, with 1.5 to 2 times the rounding errors. "medium": tiles of 4x4 too, 36 products in place of
           144, with 10 to 30 times the errors.

    The levels are called as those of `torch.set_float32_matmul_precision`. Only where images have enough channels is anything else
    computed than by "highest". An ArgumentError names the levels.
    """
    if level not in _TILES:
        raise ArgumentError(f"the precision of convolutions must be one of {', '.join(_TILES)}, got {level!r}")
    _state["level"] = level
    for keeper in list(keepers):
        keeper.forget_latest()


def get_convolution_precision():
    """The level that `set_convolution_precision` set."""
    return _state["level"]


def winograd_tiles():
    """How many results along each side Winograd's tiles may have now."""
    return _TILES[_state["level"]]
