"""Eager: the compiled code that eager ops call for large arrays."""

from importlib import import_module

from .backends import chosen, chosen_name


def eager(name):
    """The function of compiled code that eager ops call by this name; where NumPy runs programs, it gives NotImplemented."""
    if name == "shaped" and chosen_name() != "reference":  # whole programs, of any backend that is faster than NumPy
        return import_module(f"{__package__}.shaped").shaped
    return chosen().eager(name)
