"""Warnings, told at the line of the user's code that led to them."""

import warnings

from .callers import outside_package


def warn(message, category):
    """Warn at the innermost line outside this package."""
    warnings.warn(message, category, stacklevel=outside_package().level)
