"""Launches: calls of compiled code, as the steps of a native program."""

from dataclasses import dataclass

from .units import Unit


@dataclass(frozen=True)
class Launch:
    """One step as a call of `entry`, a function of `unit`, for each of `chunks`.

    `buffers` and then the numbers `words` are its slots; `lasts` says that it writes what outlives the program; `seconds` is
    a rough guess of how long one thread takes.
    """

    step: object
    unit: Unit
    entry: str
    buffers: tuple
    words: tuple
    chunks: int
    lasts: bool
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory of the code's own."""

    nbytes: int
