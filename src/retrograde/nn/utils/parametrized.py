"""Modules some of whose weights are computed: their classes, on which such weights are properties, and their copies."""

from functools import cache
from typing import Any

from ...core.edits import edited
from ...core.mode import no_grad
from ...errors import ArgumentError, DTypeError, ShapeError
from ...tensor.creation import asarray
from ..container import ModuleDict
from ..module import Module
from ..parameter import Parameter


def parametrized(module, name, make):
    """`module`, whose attribute `name` is from here on what the module that `make(weight)` returns gives."""
    if not isinstance(module, Module):
        raise DTypeError(f"what is parametrized is a weight of a Module, got {module!r}")
    weight = vars(module).get(name)
    if not isinstance(weight, Parameter):
        raise ArgumentError(f"{type(module).__name__} has no parameter {name!r} that could be parametrized")
    made = make(weight)
    if "parametrizations" not in vars(module):
        module.parametrizations = ModuleDict()
    module.parametrizations.add_module(name, made)
    delattr(module, name)
    module.__class__ = parametrized_kind(type(module), parametrized_names(module))
    edited()
    return module


def parametrized_names(module):
    """The names of the weights of `module` that are parametrized."""
    made = vars(module).get("parametrizations")
    return () if made is None else tuple([name for name, _ in made.own(Module)])


def parametrized_kind(kind, names):
    """The class of a module of the class `kind`, which may be of this sort already, with the weights `names` parametrized."""
    plain = getattr(kind, "_kind", kind)
    return _parametrized_kind(plain, names) if names else plain


@cache
def _parametrized_kind(kind, names):
    """The class `kind` with the weights `names` as properties, which stand on classes: others of that kind keep their weights."""
    return type(f"Parametrized{kind.__name__}", (_Parametrized, kind), {"_kind": kind, **{name: _weight(name) for name in names}})


def _weight(name):
    """The property of a parametrized weight."""

    def read(module):
        return vars(module.parametrizations)[name]()

    def write(module, value):
        made, value = vars(module.parametrizations)[name], asarray(value).detach()
        if value.shape != made.shape:
            raise ShapeError(f"{name} is parametrized and keeps its shape, {made.shape}, got {value.shape}")
        with no_grad():
            made.assign(value)

    return property(read, write)


class _Parametrized:
    """What the classes of parametrized modules add: how copies and pickles of one are made, since no file holds such a class."""

    #: The class of the module before it was parametrized.
    _kind: Any

    def __reduce_ex__(self, protocol):
        _, arguments, *state = super().__reduce_ex__(max(protocol, 2))
        return _made, (self._kind, parametrized_names(self), *arguments[1:]), *state


def _made(kind, names, *arguments):
    """A parametrized module without its state."""
    kind = _parametrized_kind(kind, names)
    return kind.__new__(kind, *arguments)
