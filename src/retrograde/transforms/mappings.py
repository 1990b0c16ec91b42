"""Mappings: what may hold tensors, looked at as a mapping.

A mapping has `get` and `__setitem__`. For code that asks without calling these, it has a `target`, and an `expression` in which
that is `at`; a dictionary stands for itself.
"""

from collections import deque

CONTAINERS = list, tuple, dict, deque


def is_module(value):
    """Whether `value` is a module, of ours or like one."""
    return callable(getattr(type(value), "modules", None))


class _Mapping:
    """Base of mappings over a `target`."""

    expression = "{at}[{key}]"

    def __init__(self, target):
        self.target = target


class Items(_Mapping):
    """What has positions, such as a list."""

    def get(self, key, default=None):
        """The entry at a position."""
        return self.target[key] if key < len(self.target) else default

    def __setitem__(self, key, value):
        self.target[key] = value


class Elements(_Mapping):
    """An array of objects."""

    expression = "{at}.flat[{key}]"

    def get(self, key, default=None):
        """The element at a position."""
        return self.target.flat[key] if key < self.target.size else default

    def __setitem__(self, key, value):
        self.target.flat[key] = value


class Members(_Mapping):
    """A set, whose members are their own keys."""

    def get(self, key, default=None):
        """The member itself, if it is one."""
        return next((member for member in self.target if member is key), default)

    def __setitem__(self, key, value):
        self.target.remove(key)
        self.target.add(value)


class Cell(_Mapping):
    """A variable of an enclosing function."""

    expression = "{at}.cell_contents"

    def get(self, key, default=None):
        """What the variable holds now."""
        try:
            return self.target.cell_contents
        except ValueError:  # not assigned yet, or deleted
            return default

    def __setitem__(self, key, value):
        self.target.cell_contents = value


class Attributes(_Mapping):
    """The attributes of an object, wherever it has them."""

    expression = "getattr({at}, {key}, None)"

    def get(self, key, default=None):
        """The attribute of a name."""
        return getattr(self.target, key, default)

    def __setitem__(self, key, value):
        setattr(self.target, key, value)


class OfClass(Attributes):
    """What is in the dictionary of a class."""

    expression = "{at}.__dict__[{key}]"

    def get(self, key, default=None):
        """The attribute of a name, as it is in the class."""
        return vars(self.target).get(key, default)
