"""Eager: the compiled code that eager ops call for large arrays."""

from importlib import import_module

from .ways import way

#: What eager ops call for large arrays, by the modules that have it.
_EAGER = {"fill": "drawing", "function": "functions", "product": "direct", "shaped": "shaped"}


def eager(name):
    """The function of compiled code that eager ops call by this name; where NumPy is the way now, it gives NotImplemented."""
    if way() != "native":
        return lambda *_: NotImplemented
    return getattr(import_module(f"{__package__}.{_EAGER[name]}"), name)
