"""Plain: transforms take functions, and hand out arrays where arrays came in. While a function is traced, values stand for both."""

from functools import wraps

import numpy as np

from .. import tree
from ..core.dispatch import kind_of
from ..core.leaving import unwrapped
from ..core.mode import current
from ..core.value import Value, of_kind
from ..errors import DTypeError
from ..ops._arrays import arrays
from ..tensor.creation import asarray


def check_function(function):
    """Raise a DTypeError unless `function` can be called."""
    if not callable(function):
        raise DTypeError(f"a transform takes a function, got {type(function).__name__}; write grad(f)(x), not grad(f(x))")


def wrapping(function):
    """`functools.wraps(function)`, for functions only."""
    check_function(function)
    return wraps(function)


def is_tensor(x):
    """Whether `x` is a tensor, or stands for one in a trace."""
    return isinstance(x, Value) and not (x.is_traced and (tracer := _tracer()) is not None and tracer.is_plain(x))


def plain(value):
    """The array of a value, or a value that stands for it in a trace."""
    return _noted(value.unlinked(), True) if value.is_traced else value.raw


def tensor(value):
    """A value without its history, which stands for a tensor in a trace."""
    return _noted(value.unlinked(), False)


def owned(results):
    """`results`, a tree, as values in memory of their own: what is written to them shows nowhere else, nor the other way round. A
    loop that ends at once, and a function that returns its argument, give what others hold.
    """
    return tree.map(_owned, results)


def _owned(x):
    return x.algebra.separate(x) if isinstance(x, Value) else x.copy() if x.__class__ is np.ndarray else x


def array_of_table(x):
    """The array of a table of pandas', which has labels beside its numbers; any other argument as it is."""
    return x.to_numpy() if hasattr(x, "to_numpy") and not hasattr(x, "dims") else x


def numbers_kept(function, args, kwargs):
    """`function(*args, **kwargs)`, while it is traced; raises what NumPy has hidden of an error of ours."""
    try:
        return function(*args, **kwargs)
    except (SystemError, TypeError, ValueError) as error:
        raise unwrapped(error) from None


def pushed(change, primals, tangents, hand_out):
    """The `change` that a pushforward gives: with its history if a tangent has one, else by `hand_out`; a tensor if one of the
    leaves `primals` and `tangents` is.
    """
    found = change if any([isinstance(v, Value) and v.record is not None for v in tangents]) else hand_out(change)
    is_linked = isinstance(found, Value) and found.record is not None
    if is_linked or not any(map(is_tensor, [*primals, *tangents])):
        return found
    return of_kind(tensor(asarray(found)), kind_of(arrays, [*primals, *tangents]))


def _noted(value, is_plain):
    tracer = _tracer() if value.is_traced else None
    if tracer is not None:
        tracer.note_kind(value, is_plain)
    return value


def _tracer():
    mode = current()
    return None if mode is None else mode.tracer
