"""Warnings, told at the line of the user's code that led to them."""

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn(message, category):
    """Warn at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
