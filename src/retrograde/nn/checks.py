"""What layers check of the numbers that they are made with."""

from numbers import Integral

from ..errors import ArgumentError


def check_counts(owner, **counts):
    """Raise an ArgumentError, which names the layer `owner`, unless all `counts` are integers of at least 1."""
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ArgumentError(f"{type(owner).__name__} needs {name} to be an integer of at least 1, got {count!r}")
