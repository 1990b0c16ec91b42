"""Warnings, told at the line of the user's code that led to them."""

import warnings

from .callers import outside_package

_state = {"given": 0}


def given():
    """How many warnings were given: what gives one is to be asked each time, not known from the last."""
    return _state["given"]


def warn(message, category):
    """Warn at the innermost line outside this package."""
    _state["given"] += 1
    warnings.warn(message, category, stacklevel=outside_package().level)
