"""Operators on functions of one argument, made into operators on functions of many: autograd.wrap_util."""

from functools import wraps
from typing import Any


def unary_to_nary(operator) -> Any:
    """`operator(function, x, ...)`, for functions of one argument, as `nary(function, argnum=0, ...)(*args, **kwargs)`.

    argnum  the argument in which `function` is looked at, an integer; or a tuple or list of several, which are one tuple `x` then

    >>> @rg.wrap_util.unary_to_nary
    ... def slope(function, x):
    ...     return (function(x + 1e-6) - function(x)) / 1e-6
    >>> round(slope(lambda a, b: a * b, 1)(3.0, 4.0), 5)
    3.0
    """

    @wraps(operator)
    def nary(function, argnum=0, *more, **options):
        @wraps(function)
        def of_arguments(*args, **kwargs):
            of_one, x = in_argument(function, argnum, args, kwargs)
            return operator(of_one, x, *more, **options)

        return of_arguments

    # The operator's own signature is that of functions of one argument.
    nary.__dict__.pop("__wrapped__")
    return nary


def in_argument(function, argnum, args, kwargs):
    """`function` of its argument `argnum` alone, or of the tuple of several, and that argument or tuple."""
    is_single = hasattr(argnum, "__index__")
    numbers = (argnum,) if is_single else argnum

    @wraps(function)
    def of_one(x):
        given = list(args)
        for number, value in zip(numbers, (x,) if is_single else x, strict=True):
            given[number] = value
        return function(*given, **kwargs)

    return of_one, args[argnum] if is_single else tuple([args[number] for number in numbers])
