"""Statics: which arguments of a jitted function are constants of the compiled code, whatever they are."""

import inspect
import operator
from inspect import Parameter
from types import MethodType
from typing import Any

from ..errors import ArgumentError

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Static:
    """A static argument, which is a leaf whatever it is."""

    def __init__(self, value):
        self.value = value


class Statics:
    """What `static_argnums` and `static_argnames` name; one argument may be named in both ways.

    Raises an ArgumentError for a name or a place that `function` does not have.
    """

    def __init__(self, function, numbers: Any, names: Any):
        self._names = (names,) if isinstance(names, str) else tuple(names)
        self._numbers = tuple(map(_integer, numbers if isinstance(numbers, (tuple, list, set, frozenset, range)) else (numbers,)))
        #: What `_placed` found for the function itself, and for it as a method, which has one argument less.
        self._known = {}
        if self._names or self._numbers:
            self._placed(function)

    def marked(self, function, args, kwargs):
        """The arguments of a call of `function` with static ones as leaves of their own."""
        if not self._names and not self._numbers:
            return args, kwargs
        is_method = isinstance(function, MethodType)
        if is_method not in self._known:
            self._known[is_method] = self._placed(function)
        places, names = self._known[is_method]
        args = tuple([Static(a) if i in places else a for i, a in enumerate(args)])
        return args, {name: Static(a) if name in names else a for name, a in kwargs.items()}

    def _placed(self, function):
        """The places and the names of the arguments of `function` that are static."""
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # not every function of C tells its own
            return set(self._numbers), set(self._names)
        kinds, positional = {p.kind for p in parameters}, [p.name for p in parameters if p.kind in _POSITIONAL]
        named = {p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)}
        for name in self._names:
            if name not in named and name not in positional and Parameter.VAR_KEYWORD not in kinds:
                raise ArgumentError(f"static_argnames has {name!r}, and {_told(function)} has no argument of that name; it has "
                                    f"{', '.join(p.name for p in parameters) or 'none'}")
        for number in self._numbers:
            if not -len(positional) <= number < len(positional) and (number < 0 or Parameter.VAR_POSITIONAL not in kinds):
                raise ArgumentError(f"static_argnums has {number}, and {_told(function)} takes {len(positional)} arguments by "
                                    f"place ({', '.join(positional)}), counted from 0")
        places = {n + len(positional) if n < 0 else n for n in self._numbers}
        places |= {i for i, name in enumerate(positional) if name in self._names}
        return places, {*self._names, *[name for i, name in enumerate(positional) if i in places]}


def _integer(number):
    try:
        return operator.index(number)
    except TypeError:
        raise ArgumentError(f"static_argnums takes one integer or several, got {number!r}; for names there is "
                            "static_argnames") from None


def _told(function):
    return getattr(function, "__name__", "the function")


def exact(value):
    """What is equal for values of equal type only: 1, 1.0 and True differ, as do zeros of different sign."""
    if isinstance(value, tuple):
        return type(value), *map(exact, value)
    return type(value), repr(value) if isinstance(value, (float, complex)) else value
