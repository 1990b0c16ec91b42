"""Differentiable: how each function of NumPy is made to take tensors.

The functions that stand for NumPy's on tensors are in `tensor.counterparts`; here is only the choice between the two.
"""

import types
from functools import wraps
from inspect import unwrap
from typing import Any

import numpy as np

from ..core.value import Value
from ..errors import DTypeError
from ..tensor import counterparts
from ..tensor.counterparts.operands import data_of, holds_value, stacked
from ..tensor.protocols import ufunc_counterpart
from ..tensor.tensor import Tensor


def namespace(module, choose=None):
    """The public names of `module` with its functions made differentiable by `choose`."""
    made = {}
    for name in dir(module):
        if not name.startswith("_"):
            found = getattr(module, name)
            made[name] = (choose or chosen)(found) if _is_function(found) else found
    return made


def _is_function(found):
    return callable(found) and not isinstance(found, (type, types.ModuleType, np.number))


def chosen(theirs):
    """`theirs`, or our counterpart where a tensor is among the arguments."""
    if isinstance(theirs, np.ufunc):
        return chosen_ufunc(theirs)
    if not hasattr(theirs, "__name__"):
        return theirs
    try:
        ours = counterparts.counterpart(theirs)
    except DTypeError as error:
        return refusing(theirs, str(error))
    # What is passed on to NumPy takes lists as NumPy does: edges of a histogram along each axis are no table.
    takes_sequences = counterparts.OF_SEQUENCES.get(theirs.__name__) is ours or theirs.__name__ in counterparts.passing.NAMES
    return either(theirs, ours, takes_sequences)


def either(theirs, ours, takes_sequences=False):
    """`theirs`, or `ours` where a tensor is among the arguments; lists with tensors become one unless `takes_sequences`."""

    @wraps(theirs)
    def function(*args, **kwargs):
        if not (holds_value(args) or kwargs and holds_value(kwargs.values())):
            return theirs(*args, **kwargs)
        if takes_sequences or args and (args[0].__class__ is Tensor or isinstance(args[0], Value)):
            return ours(*args, **kwargs)
        return ours(*[stacked(a) if _is_list_of_values(a) else a for a in args], **kwargs)

    return function


_SEQUENCES = frozenset([list, tuple])


def _is_list_of_values(x):
    return isinstance(x, (list, tuple)) and holds_value(x)


def chosen_ufunc(theirs, ours=None) -> Any:
    """A ufunc with a short way for the commonest calls; NumPy's protocol takes care of all others.

    `ours` stands for it on tensors, if not the op of its name. With SCIPY_ARRAY_API=1, SciPy's are functions around ufuncs.
    """
    theirs = unwrap(theirs)
    try:
        ours = ours or ufunc_counterpart(theirs)
    except DTypeError:
        ours = theirs  # raises that error when it meets a tensor

    def general(*args, **kwargs):
        if _SEQUENCES.isdisjoint(map(type, args)):
            return theirs(*args, **kwargs)
        return theirs(*[stacked(a) if _is_list_of_values(a) else a for a in args], **kwargs)

    function = {1: _of_one, 2: _of_two}.get(theirs.nin, lambda ours, general: general)(ours, general)
    for method in ("reduce", "accumulate", "outer", "reduceat", "at", "nin", "nout", "identity"):
        setattr(function, method, getattr(theirs, method))
    function.__name__, function.__doc__ = theirs.__name__, theirs.__doc__
    return function


def _of_one(ours, general):
    def function(x, /, *args, **kwargs):
        return ours(x) if x.__class__ is Tensor and not args and not kwargs else general(x, *args, **kwargs)

    return function


def _of_two(ours, general):
    def function(x, y, /, *args, **kwargs):
        if (x.__class__ is Tensor or y.__class__ is Tensor) and not args and not kwargs:
            return ours(stacked(x) if x.__class__ is list else x, stacked(y) if y.__class__ is list else y)
        return general(x, y, *args, **kwargs)

    return function


def refusing(theirs, reason):
    """`theirs`, which raises a DTypeError rather than lose the gradient of a tensor among its arguments."""

    @wraps(theirs)
    def function(*args, **kwargs):
        if holds_value(args) or holds_value(kwargs.values()):
            if _needs_gradient((args, list(kwargs.values()))):
                raise DTypeError(reason)
            return theirs(*_numbers_in(data_of(args)), **_numbers_in(data_of(kwargs)))
        return theirs(*args, **kwargs)

    return function


def _numbers_in(arguments) -> Any:
    """Arrays of no axes as NumPy's numbers: some functions take nothing else."""
    if isinstance(arguments, dict):
        return {name: _number(x) for name, x in arguments.items()}
    return tuple(map(_number, arguments))


def _number(x):
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def drawn(theirs):
    """A function of np.random."""
    name = getattr(theirs, "__name__", "")
    return refusing(theirs, f"np.random.{name} has no gradient in its parameters; draw standard numbers and scale them, as in "
                            "mean + deviation * np.random.standard_normal(size)")


def _needs_gradient(arguments):
    if isinstance(arguments, (list, tuple)):
        return any(_needs_gradient(a) for a in arguments)
    return isinstance(arguments, Value) and arguments.requires_grad
