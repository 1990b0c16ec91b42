"""Proxies: what `jit` makes of an object that is called, such as a model, can be used wherever the object is used."""

from functools import wraps
from inspect import ismethod
from typing import Any


class Forwarding:
    """Attributes and items are those of the object in `_function`, for reading and writing. What a subclass defines is its own, as
    are its `slots`.

    A method of the object that returns the object, as `eval()` does, returns what stands for it.
    """

    _function: Any
    #: The attributes that are not the object's.
    slots: Any = frozenset(["_function", "_statics", "_memory", "_methods"])

    @property
    def __class__(self):
        """The type of the object, so that `isinstance` knows a compiled model for a model."""
        return type(self._function)

    @property
    def __dict__(self):
        """The attributes of the object, for `vars`; those of its own lie past this."""
        return vars(self._function)

    def __getattr__(self, name):
        # Copies and pickles ask for methods of their own, and ask before there is an object.
        if name in Forwarding.slots or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name, obj=self)
        target: Any = self._function
        found = getattr(target, name)
        return _standing(self, found) if ismethod(found) and found.__self__ is target else found

    def __setattr__(self, name, value):
        if name in Forwarding.slots or name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._function, name, value)

    def __delattr__(self, name):
        delattr(self._function, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *dir(self._function)})

    def __get__(self, instance, owner=None):
        return self

    def __len__(self):
        return len(self._function)

    def __bool__(self):
        return bool(self._function)

    def __getitem__(self, key):
        return self._function[key]

    def __iter__(self):
        return iter(self._function)

    def __repr__(self):
        return f"jit({self._function!r})"


def _standing(self, method):
    """`method` of the object that `self` stands for, which returns `self` where it would return the object."""

    @wraps(method)
    def called(*args, **kwargs):
        found = method(*args, **kwargs)
        return self if found is method.__self__ else found

    return called
