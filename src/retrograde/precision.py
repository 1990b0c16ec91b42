"""The setting of how exact compiled convolutions are, of a process: the fewer multiplications they take, the more rounding
errors grow.
"""

import weakref
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import ArgumentError

#: How many results along each side Winograd's tiles may have, by the name of the level.
_TILES = {"highest": (), "high": (2,), "medium": (2, 4)}
_state = {"level": "high"}
#: What keeps programs for one level, and has a method `forget_latest` for the moment when that changes.
keepers = weakref.WeakSet()
#: The innermost `Held` level.
_held: ContextVar = ContextVar("held", default=None)


def set_convolution_precision(level):
    """Set how exact compiled convolutions with kernels of 3x3 are, from the next call on, in all threads.

    level  "highest": each product is computed. "high", the default: Winograd's tiles of 2x2 results where they pay, which take 16
           products in place of 36, with 1.5 to 2 times the rounding errors. "medium": tiles of 4x4 too, 36 products in place of
           144, with 10 to 30 times the errors.

    The levels are called as those of `torch.set_float32_matmul_precision`. Only where images have enough channels is anything else
    computed than by "highest". By tiles an infinite number gives NaN where a sum would be infinite; with tiles of 4x4 it, NaN, and
    the rounding errors of a number that is far larger than those around it reach the other results of its tiles, and float32
    overflows from some 1e36 on. An ArgumentError names the levels.
    """
    if not isinstance(level, str) or level not in _TILES:
        raise ArgumentError(f"the precision of convolutions must be one of {', '.join(_TILES)}, got {level!r}")
    _state["level"] = level
    for keeper in list(keepers):
        keeper.forget_latest()


def get_convolution_precision():
    """The level that `set_convolution_precision` set."""
    held = _held.get()
    return _state["level"] if held is None else held.ask()


def winograd_tiles():
    """How many results along each side Winograd's tiles may have now."""
    return _TILES[get_convolution_precision()]


class Held:
    """A level that stays what it is; `asked` is that level if anybody has asked for it, else None."""

    def __init__(self, level):
        self.level, self.asked = level, None

    def ask(self):
        """The level, which what is being made depends on from here on."""
        self.asked = self.level
        return self.level


@contextmanager
def held_precision(level=None):
    """While one program is made its level is the one that is set now, or `level`, whatever other threads set; gives a `Held`."""
    outer = _held.get()
    held = Held(level or (_state["level"] if outer is None else outer.level))
    token = _held.set(held)
    try:
        yield held
    finally:
        _held.reset(token)
        if outer is not None and held.asked is not None:
            outer.ask()


def is_current(level):
    """Whether a program that was made with this level, or without asking for one (None), is what would be made now."""
    return level is None or level == _state["level"]
