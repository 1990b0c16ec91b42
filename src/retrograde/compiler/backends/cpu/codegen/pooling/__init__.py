"""Pooling as generated machine code: vectors along the rows of results, and code of their own for the windows at borders."""

from .backward import write_backward
from .forward import write_forward
from .pool import Pool

__all__ = ["Pool", "write_backward", "write_forward"]
