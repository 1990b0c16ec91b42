"""Eager: the compiled code that eager ops call for large arrays."""

from importlib import import_module

from ..backends import chosen


def eager(name):
    """The function of compiled code that eager ops call by this name; where NumPy runs programs, it gives NotImplemented."""
    if name == "shaped" and chosen().is_faster:  # whole programs, of any backend
        return import_module(f"{__package__}.shaped").shaped
    return chosen().eager(name)
