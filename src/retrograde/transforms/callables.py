"""What transforms are handed: functions."""

from functools import wraps

from ..errors import DTypeError


def check_function(function):
    """Raise a DTypeError unless `function` can be called."""
    if not callable(function):
        raise DTypeError(f"a transform takes a function, got {type(function).__name__}; write grad(f)(x), not grad(f(x))")


def wrapping(function):
    """`functools.wraps(function)`, for functions only."""
    check_function(function)
    return wraps(function)
