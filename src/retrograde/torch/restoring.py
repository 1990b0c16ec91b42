"""The Python state around a function, so that a trace that fails leaves nothing behind in lists and attributes."""

from collections import deque
from types import CellType, FunctionType, MethodType

from .. import nn as rg

_CONTAINERS = (list, dict, set, deque)
_OTHERS = (rg.Module, FunctionType, MethodType, CellType, tuple)


class State:
    """What the modules, lists, dictionaries and sets that a function reaches held when this was made.

    They are those in its closure, in the globals that it names, in the object that it is a method of, and in what these hold.
    """

    def __init__(self, function):
        self._seen = {}
        self._reach(function)

    def restore(self):
        """Let all of them hold what they held."""
        for found, held in self._seen.values():
            if held is None or _is_alike(found, held):
                continue
            found.clear()
            found.update(held) if isinstance(found, (dict, set)) else found.extend(held)

    def _reach(self, start):
        waiting = [start]
        while waiting:
            found = waiting.pop()
            if id(found) not in self._seen and isinstance(found, (*_CONTAINERS, *_OTHERS)):
                self._seen[id(found)] = found, found.copy() if isinstance(found, _CONTAINERS) else None
                waiting += _inside(found)


def _is_alike(found, held):
    """Whether a container holds the very same as before. Tensors are not compared: `==` of theirs is a tensor."""
    one, other = (list(x.items() if isinstance(x, dict) else x) for x in (found, held))
    parts = [(a, b) for a, b in zip(one, other, strict=False)]
    return len(one) == len(other) and all([a is b or isinstance(found, dict) and a[0] == b[0] and a[1] is b[1] for a, b in parts])


def _inside(found):
    """What a function, a module or a container holds."""
    if isinstance(found, MethodType):
        return [found.__self__, found.__func__]
    if isinstance(found, FunctionType):
        named = [found.__globals__[name] for name in found.__code__.co_names if name in found.__globals__]
        return [*(found.__closure__ or ()), *named]
    if isinstance(found, CellType):
        try:
            return [found.cell_contents]
        except ValueError:  # a name that is not set yet
            return []
    return [vars(found)] if isinstance(found, rg.Module) else list(found.values() if isinstance(found, dict) else found)
