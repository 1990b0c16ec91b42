"""Owners: where a function finds the tensors that it uses, so that another tensor in such a place is noticed."""

import inspect
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from ..core.value import Value
from ..errors import TraceError
from .forwarding import Forwarding
from .mappings import CONTAINERS, Attributes, Cell, Items, Length, Vacancy, is_module

_PACKAGE = __name__.partition(".")[0]
#: Longer lists and dictionaries are data, which nobody searches for parameters.
_MOST = 1000
#: The packages whose modules, classes and functions nobody searches.
_NOT_SEARCHED = frozenset([_PACKAGE, "builtins", "numpy", "scipy", "math"])
#: How deep objects that are no modules are searched: a trainer, and the optimizer in it.
_DEPTH = 2


@dataclass(frozen=True)
class Place:
    """A key of a mapping under which a tensor is found, or what leads to `count` of the places found before this one.

    A place that is not of the top (a name of the function itself) is watched only if it leads to what is used; modules
    always are, and whether each is being trained.
    """

    mapping: Any
    key: Any
    value: Any
    count: int = 0
    is_top: bool = False


class Places:
    """The places in which `function` can find tensors.

    It looks at its globals and its closure, at those of functions that it finds there, into modules however deep, and at
    the attributes of other objects. `before` are those at the start of a trace: what that has put where nothing was, another
    call finds there, and is another call for that.
    """

    def __init__(self, function, before=None):
        search = _Search()
        search.function(function)
        self._places, self._modules = search.places, search.modules
        self._filled = [] if before is None else before.filled()

    def tensors(self):
        """The tensors that are found there."""
        return [place.value for place in self._places if isinstance(place.value, Value)]

    def chosen(self, values):
        """(mapping, key, value, whether a change there counts as an edit) for each of the tensors `values` that has a place,
        and for all else that must stay as it is.
        """
        found = {id(v): [] for v in values}
        for number, place in enumerate(self._places):
            if id(place.value) in found:
                found[id(place.value)].append(number)
        used = sorted([number for numbers in found.values() for number in self._to_watch(numbers)])
        needed = [p for n, p in enumerate(self._places) if self._is_needed(n, p, used)]
        chosen = [(p.mapping, p.key, p.value, id(p.mapping) in self._modules) for p in needed]
        return chosen + [(p.mapping, p.key, p.value, False) for p in self._filled]

    def holding(self, value):
        """(mapping, key) of the places in which `value` is found."""
        return [(p.mapping, p.key) for p in self._places if p.value is value]

    def _to_watch(self, numbers):
        """Of the places of a tensor the last one in a module, where a change is an edit; all of them where there is none."""
        in_modules = [number for number in numbers if id(self._places[number].mapping) in self._modules]
        return in_modules[-1:] or numbers

    def filled(self):
        """The places in which there was nothing, and is something now."""
        return [p for p in self._places if p.value is None and p.mapping.get(p.key) is not None]

    def check_rebound(self, captures):
        """Raise a TraceError if one of the `captures` of a trace has given its place to a value of the trace, which has no
        number: what was meant to be stored would be lost. It has its place back then.
        """
        captured = {id(capture.value) for capture in captures}
        for place in self._places:
            if id(place.value) not in captured:
                continue
            now = place.mapping.get(place.key)
            if isinstance(now, Value) and now.is_traced:
                place.mapping[place.key] = place.value
                name = f"`{place.key}`" if isinstance(place.key, str) else f"entry {place.key}"
                raise TraceError(f"{name} held a tensor of shape {place.value.shape} that the jitted function uses, and was given "
                                 "a new value in the trace, which has no number to store; write to the tensor in place, as in "
                                 "`state[...] = new`, or return the new value")

    def _is_needed(self, number, place, used):
        at = bisect_left(used, number - place.count)
        if isinstance(place.value, Value):
            return at < len(used) and used[at] == number
        leads = at < len(used) and used[at] < number
        return leads or place.is_top or id(place.mapping) in self._modules


def _is_ours(value):
    return any([base.__module__.partition(".")[0] == _PACKAGE for base in type(value).__mro__])


def _is_foreign(kind):
    """Whether a class, or a function, is neither of this package nor of those whose objects hold no tensors."""
    return str(getattr(kind, "__module__", "builtins")).partition(".")[0] not in _NOT_SEARCHED


def _beside_dictionary(value):
    """(name, what it is) of the attributes of an object of users that are in slots, or in its class."""
    is_class = isinstance(value, type)
    kinds = [kind for kind in (value if is_class else type(value)).__mro__ if _is_foreign(kind)]
    names = dict.fromkeys(name for kind in kinds for name, found in vars(kind).items()
                          if isinstance(found, (Value, *CONTAINERS)) or not is_class and isinstance(found, MemberDescriptorType))
    return [(name, getattr(value, name)) for name in names if not name.startswith("__") and hasattr(value, name)]


#: What the key of a `Length` is called where somebody is told that it has changed.
_LENGTH = "length of a list, a dictionary or a module"


class _Search:
    def __init__(self):
        self.places, self.modules, self._seen, self._depth = [], set(), {}, 0
        #: Whether the lengths of containers are noted, and where there is nothing yet. Optimizers have many and say themselves
        #: what changes in them.
        self._is_watching = True

    def function(self, function: Any):
        """Search what a function can name."""
        function = inspect.unwrap(function)
        if isinstance(function, partial):
            self._mapping(Items(function.args), list(enumerate(function.args)), is_top=True)
            self._mapping(function.keywords, list(function.keywords.items()), is_top=True)
            function = inspect.unwrap(function.func)
        if isinstance(function, MethodType):
            self.inside(function.__self__)
            function = inspect.unwrap(function.__func__)
        if not isinstance(function, FunctionType):
            self.inside(function)  # an object that is called
        elif self._is_new(function):
            variables, names = function.__globals__, function.__code__.co_names
            items = [(name, variables[name]) for name in names if name in variables]
            self._mapping(variables, items, is_top=True)
            for module in [value for _, value in items if isinstance(value, ModuleType)]:
                if module.__name__.partition(".")[0] not in _NOT_SEARCHED:
                    items = [(name, vars(module)[name]) for name in names if name in vars(module)]
                    self._mapping(vars(module), items, may_be_filled=True)
            self._mapping(Items(function.__defaults__ or ()), list(enumerate(function.__defaults__ or ())))
            self._mapping(function.__kwdefaults__ or {}, list((function.__kwdefaults__ or {}).items()))
            for name, cell in zip(function.__code__.co_freevars, map(Cell, function.__closure__ or ()), strict=True):
                self._mapping(cell, [(name, cell.get(name))], is_top=True)

    def _mapping(self, mapping, items, is_top=False, may_be_filled=False):
        """Note the tensors among `items` of a mapping, what else leads to some and, if it `may_be_filled`, where None is."""
        for key, value in items:
            before = len(self.places)
            if isinstance(value, Value) or self.inside(value, is_top or id(mapping) in self.modules):
                self.places.append(Place(mapping, key, value, len(self.places) - before, is_top))
            elif value is None and (is_top or may_be_filled):
                vacancy = Vacancy(mapping)
                self.places.append(Place(vacancy, key, None, is_top=True))
                if id(mapping) in self.modules:
                    self.modules.add(id(vacancy))

    def inside(self, value, is_top=False):
        """Search a value; whether it leads to tensors. Of one that `is_top` it is noted that it is empty."""
        if isinstance(value, Forwarding):
            return self.inside(inspect.unwrap(value))
        if isinstance(value, (FunctionType, MethodType, partial)) or hasattr(value, "__wrapped__"):
            if not str(getattr(value, "__module__", "")).startswith(f"{_PACKAGE}."):
                self.function(value)
            return False
        if is_module(value):
            return self._module(value)
        if isinstance(value, CONTAINERS):
            return len(value) <= _MOST and self._container(value, is_top)
        is_class = isinstance(value, type)
        is_object = _is_foreign(value if is_class else type(value)) or not is_class and hasattr(value, "__dict__")
        return is_object and not isinstance(value, ModuleType) and self._depth < _DEPTH and self._object(value)

    def _module(self, module):
        """Search a module and those in it."""
        if self._is_new(module):
            attributes = vars(module)
            self.modules.add(id(attributes))
            self.places.append(Place(attributes, "training", module.training))
            self._mapping(attributes, list(attributes.items()), may_be_filled=True)
            length = Length(lambda: [value for value in attributes.values() if isinstance(value, Value) or is_module(value)])
            self.modules.add(id(length))
            self.places.append(Place(length, _LENGTH, length.first))
        return True

    def _container(self, value, is_top):
        """Search a container; whether there are tensors in it."""
        if not self._is_new(value):
            return False
        before = len(self.places)
        if isinstance(value, dict):
            self._mapping(value, list(value.items()), may_be_filled=self._is_watching)
        else:
            self._mapping(Items(value), list(enumerate(value)))
        found = len(self.places) - before
        if self._is_watching and not isinstance(value, tuple) and (found or is_top and not value):
            length = Length(lambda: value)
            self.places.append(Place(length, _LENGTH, length.first, found, is_top=not found))
        return found > 0

    def _object(self, value):
        """Search the attributes of an object, or of a class; whether there are tensors in them."""
        if not self._is_new(value):
            return False
        before, watched = len(self.places), self._is_watching
        self._depth += 1
        self._is_watching = watched and not _is_ours(value)
        if hasattr(value, "__dict__") and not isinstance(value, type):
            self._mapping(vars(value), list(vars(value).items()), may_be_filled=self._is_watching)
        if _is_foreign(value if isinstance(value, type) else type(value)):
            self._mapping(Attributes(value), _beside_dictionary(value), may_be_filled=self._is_watching)
        self._is_watching = watched
        self._depth -= 1
        return len(self.places) > before

    def _is_new(self, value):
        if id(value) in self._seen:
            return False
        self._seen[id(value)] = value  # kept, so that its identity stays its own
        return True
