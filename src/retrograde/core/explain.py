"""Explanations: errors that say which op or function was called, and with what, whatever went wrong inside."""

from functools import wraps
from typing import Any

from .. import array_errors
from ..errors import ArgumentError, AxisError, DTypeError, OutOfRangeError, RetrogradeError, ShapeError
from ..shapes import mismatch
from .mode import current, settled_whole
from .value import Value

NESTED = frozenset([tuple, list])
_CONVERSIONS = ((array_errors.AxisError, AxisError), (IndexError, OutOfRangeError), (TypeError, DTypeError),
                (ValueError, ShapeError), ((OverflowError, ZeroDivisionError), ArgumentError))


def explained(op, error, args):
    """`error` as an error of ours that names the op and what it was called with; of ops inside each other the outermost."""
    bare = getattr(error, "bare", str(error))
    if getattr(error, "names_op", False) and (op.is_foreign or not hasattr(error, "bare")):
        return error
    found: Any = None
    if isinstance(error, RetrogradeError):
        found = type(error)
    elif (what := unlike_an_array(error, args)) is not None:
        found, bare = DTypeError, what
    elif isinstance(error, ValueError) and (what := _misfit(op, args)) is not None:
        found, bare = ShapeError, what
    else:
        found = next((ours for theirs, ours in _CONVERSIONS if isinstance(error, theirs)), None)
    return error if found is None else _named(found, op.told, args, {}, bare)


def explaining(function):
    """`function`, which is made of ops, so that errors of these name it, and what it was called with, in place of the op."""

    @wraps(function)
    def called(*args, **kwargs):
        mode = current()
        try:
            if mode is not None and mode.settles is not None:
                return settled_whole(function.__name__, function, args, kwargs)
            return function(*args, **kwargs)
        except RetrogradeError as error:
            raise renamed(error, function.__name__, args, kwargs) from None

    return called


def renamed(error, name, args, kwargs):
    """`error` with the function `name` in place of the op that it names, if any; itself if it names that one already."""
    is_told = error.named == name if hasattr(error, "bare") else error.names_op or str(error).startswith(name)
    return error if is_told else _named(type(error), name, args, kwargs, getattr(error, "bare", str(error)))


def _named(kind, name, args, kwargs, bare):
    words = ", ".join([*map(described, args), *[f"{key}={described(value)}" for key, value in kwargs.items()]])
    found: Any = kind(f"{name}({words}): {bare}" if name else bare)
    found.names_op, found.bare, found.named = True, bare, name
    return found


def _misfit(op, args):
    """What is wrong with the shapes of the operands of `op`, in our own words; None if that is not known."""
    data = [a.raw if isinstance(a, Value) else a for a in args]
    if op.result_shape is not None:
        try:
            op.result_shape(*data)
        except RetrogradeError as error:
            return str(error)
        except Exception:  # noqa: BLE001 - what the rule makes of wrong arguments says no more than the error that there is
            return None
    if not op.broadcasts:
        return None
    return mismatch([data[i].shape for i in op.operands if hasattr(data[i], "shape")])


def unlike_an_array(error, args):
    """What is wrong if `error` is that one of `args` was used as an array and is none; None for all other errors."""
    if not isinstance(error, AttributeError) or error.name is None or not any([_is_same(error.obj, a) for a in args]):
        return None
    if error.name not in _OF_ARRAYS or hasattr(error.obj, "__array_function__"):
        return None
    return (f"an array or a tensor is needed, got {described(error.obj)} of type {type(error.obj).__name__}; make one with "
            "rg.tensor(...)")


def _is_same(x, argument):
    """Whether `x` is `argument`, or the copy of a list that a kernel is handed."""
    return x is argument or (x.__class__ in NESTED and x.__class__ is argument.__class__ and len(x) == len(argument))


#: What code that is handed an array reads of it.
_OF_ARRAYS = frozenset(["shape", "ndim", "dtype", "size", "reshape", "astype", "sum", "T", "data", "device", "copy", "mean", "max"])


def described(argument):
    """An argument in the words of an error."""
    if isinstance(argument, Value):
        return argument.algebra.describe(argument.raw)
    if hasattr(argument, "shape") and hasattr(argument, "dtype"):
        return f"{argument.dtype}{list(argument.shape)}"
    if argument.__class__ in NESTED and any(isinstance(a, Value) for a in argument):
        return f"[{', '.join(map(described, argument))}]"
    text = repr(argument)
    return text if len(text) <= 60 else text[:57] + "..."
