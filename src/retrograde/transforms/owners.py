"""Owners: where a function finds the tensors that it uses, so that another tensor in such a place is noticed."""

import inspect
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ..core.value import Value

_PACKAGE = __name__.partition(".")[0]
#: Longer lists and dictionaries are data, which nobody searches for parameters.
_MOST = 1000
#: How deep objects that are no modules are searched: a trainer, and the optimizer in it.
_DEPTH = 2


def places_of(function):
    """(mapping, key, value) for the tensors that `function` can find, the modules and containers on the way to them, and
    whether each module is being trained.

    It looks at its globals and its closure, at those of functions that it finds there, into modules however deep, and at
    the attributes of other objects.
    """
    search = _Search()
    search.function(function)
    return search.places


class _Items:
    """A list or tuple as a mapping."""

    def __init__(self, items):
        self._items = items

    def get(self, key, default=None):
        """The entry at a position."""
        return self._items[key] if key < len(self._items) else default


class _Cell:
    """A variable of an enclosing function as a mapping."""

    def __init__(self, cell):
        self._cell = cell

    def get(self, key, default=None):
        """What the variable holds now."""
        try:
            return self._cell.cell_contents
        except ValueError:  # not assigned yet, or deleted
            return default


class _Search:
    def __init__(self):
        self.places, self._seen, self._depth = [], {}, 0

    def function(self, function):
        """Search what a function can name."""
        function: Any = inspect.unwrap(function)
        if isinstance(function, partial):
            self._mapping(_Items(function.args), list(enumerate(function.args)))
            self._mapping(function.keywords, list(function.keywords.items()))
            function = inspect.unwrap(function.func)
        if isinstance(function, MethodType):
            self.inside(function.__self__)
            function = inspect.unwrap(function.__func__)
        if not isinstance(function, FunctionType):
            self.inside(function)  # an object that is called
        elif self._is_new(function):
            variables, names = function.__globals__, function.__code__.co_names
            self._mapping(variables, [(name, variables[name]) for name in names if name in variables])
            for cell in map(_Cell, function.__closure__ or ()):
                self._mapping(cell, [(0, cell.get(0))])

    def _mapping(self, mapping, items):
        """Note the tensors among `items` of a mapping, and what else leads to some."""
        for key, value in items:
            if isinstance(value, Value) or self.inside(value):
                self.places.append((mapping, key, value))

    def inside(self, value):
        """Search a value; whether it leads to tensors."""
        if isinstance(value, (FunctionType, MethodType, partial)) or hasattr(value, "__wrapped__"):
            if not str(getattr(value, "__module__", "")).startswith(f"{_PACKAGE}."):
                self.function(value)
            return False
        if callable(getattr(type(value), "modules", None)):
            return self._module(value)
        if type(value) in (list, tuple, dict):
            return len(value) <= _MOST and self._searched(value)
        is_object = not isinstance(value, (type, ModuleType)) and hasattr(value, "__dict__")
        return is_object and self._depth < _DEPTH and self._searched(value)

    def _module(self, module):
        """Search a module and those in it."""
        if self._is_new(module):
            attributes = vars(module)
            self.places.append((attributes, "training", module.training))
            self._mapping(attributes, list(attributes.items()))
        return True

    def _searched(self, value):
        """Search a container, or the attributes of an object; whether there are tensors in it."""
        if not self._is_new(value):
            return False
        before = len(self.places)
        if isinstance(value, dict):
            self._mapping(value, list(value.items()))
        elif isinstance(value, (list, tuple)):
            self._mapping(_Items(value), list(enumerate(value)))
        else:
            self._depth += 1
            self._mapping(vars(value), list(vars(value).items()))
            self._depth -= 1
        return len(self.places) > before

    def _is_new(self, value):
        if id(value) in self._seen:
            return False
        self._seen[id(value)] = value  # kept, so that its identity stays its own
        return True
