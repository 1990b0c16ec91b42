"""Mappings: what may hold tensors, looked at as a mapping of which one key is asked for at each call."""

from collections import deque

from ..core.value import Value

CONTAINERS = list, tuple, dict, deque


def is_module(value):
    """Whether `value` is a module, of ours or like one."""
    return callable(getattr(type(value), "modules", None))


class Items:
    """What has positions, such as a list, as a mapping."""

    def __init__(self, items):
        self._items = items

    def get(self, key, default=None):
        """The entry at a position."""
        return self._items[key] if key < len(self._items) else default

    def __setitem__(self, key, value):
        self._items[key] = value


class Cell:
    """A variable of an enclosing function as a mapping."""

    def __init__(self, cell):
        self._cell = cell

    def get(self, key, default=None):
        """What the variable holds now."""
        try:
            return self._cell.cell_contents
        except ValueError:  # not assigned yet, or deleted
            return default

    def __setitem__(self, key, value):
        self._cell.cell_contents = value


class Attributes:
    """The attributes of an object, wherever it has them, as a mapping."""

    def __init__(self, owner):
        self._owner = owner

    def get(self, key, default=None):
        """The attribute of a name."""
        return getattr(self._owner, key, default)

    def __setitem__(self, key, value):
        setattr(self._owner, key, value)


class Vacancy:
    """A mapping that has nothing under a key but what is, or may lead to, a tensor."""

    def __init__(self, mapping):
        self._mapping = mapping

    def get(self, key, default=None):
        """What is there, or None."""
        found = self._mapping.get(key)
        return found if found is not None and (isinstance(found, (Value, *CONTAINERS)) or is_module(found)) else None


class Length:
    """How many `entries()` of a container or a module there are, as a mapping with one key."""

    def __init__(self, entries):
        self._entries, self.first = entries, len(entries())

    def get(self, key, default=None):
        """How many there were at first, as long as there are as many."""
        return self.first if len(self._entries()) == self.first else default
