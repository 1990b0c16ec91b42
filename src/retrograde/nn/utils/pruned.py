"""Modules some of whose weights are pruned: their classes, on which such weights are properties, and their copies."""

from functools import cache
from typing import Any

from ...errors import ArgumentError
from ..module import Module
from .parametrized import parametrized_names


def pruned(module, name, mask):
    """Let `name` of `module` be the product of a parameter and `mask` from here on."""
    if name in pruned_names(module):
        setattr(module, f"{name}_mask", mask)
        return
    parameter = vars(module)[name]
    names = (*pruned_names(module), name)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", parameter)
    module.register_buffer(f"{name}_mask", mask)
    module.__class__ = _pruned_kind(_plain(type(module)), names)


def restored(module, name):
    """Let `name` of `module` be the parameter that it is made of."""
    if parametrized_names(module):
        names = ", ".join(parametrized_names(module))
        raise ArgumentError(f"weights of {type(module).__name__} are parametrized: {names}; remove the parametrizations first")
    parameter, names = vars(module)[f"{name}_orig"], tuple([other for other in pruned_names(module) if other != name])
    kind = _plain(type(module))
    module.__class__ = _pruned_kind(kind, names) if names else kind
    for ending in ("_orig", "_mask"):
        delattr(module, f"{name}{ending}")
    module.register_parameter(name, parameter)


def pruned_names(module):
    """The names of the weights of `module` that are pruned."""
    return getattr(type(module), "_pruned", ())


def is_pruned(module):
    """Whether `module`, or a module inside of it, has a pruned weight.

    >>> rg.nn.utils.prune.is_pruned(rg.nn.Linear(2, 2))
    False
    """
    return any(pruned_names(part) for part in module.modules())


def _plain(kind):
    return getattr(kind, "_unpruned", kind)


@cache
def _pruned_kind(kind, names):
    """The class `kind` with the weights `names` as properties, which stand on classes: others of that kind keep their weights."""
    facts = {"_unpruned": kind, "_pruned": names, **{name: _weight(name) for name in names}}
    return type(f"Pruned{kind.__name__}", (_Pruned, kind), facts)


def _weight(name):
    """The property of a pruned weight."""

    def read(module):
        attributes = vars(module)
        return attributes[f"{name}_orig"] * attributes[f"{name}_mask"]

    def write(module, _):
        raise ArgumentError(f"{name} of {type(module).__name__} is pruned: write into {name}_orig, or call prune.remove first")

    return property(read, write)


class _Pruned(Module):
    """What the classes of pruned modules add: how copies and pickles of one are made, since no file holds such a class."""

    _unpruned: Any
    _pruned: Any

    def __reduce_ex__(self, protocol):
        _, arguments, *state = super().__reduce_ex__(max(protocol, 2))
        return _made, (self._unpruned, self._pruned, *arguments[1:]), *state


def _made(kind, names, *arguments):
    """A pruned module without its state."""
    kind = _pruned_kind(kind, names)
    return kind.__new__(kind, *arguments)
