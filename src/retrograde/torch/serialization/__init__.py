"""PyTorch's files of weights: `torch.save` writes them and `torch.load` reads them, and neither runs code."""

from contextlib import contextmanager

from ..absent import absent_from
from .reading import load
from .writing import save

__all__ = ["add_safe_globals", "load", "safe_globals", "save"]


def add_safe_globals(safe_globals):
    """Nothing: what a file may name is a list of this package's, which does not grow."""


@contextmanager
def safe_globals(safe_globals):
    """Nothing, as `add_safe_globals`."""
    yield


__getattr__ = absent_from("torch.serialization", lambda: __all__)
