"""Searching: the objects that a function can reach, nearest first, and how it reaches them."""

import sys
import weakref
from collections import deque
from functools import cache, partial
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from ..core.value import Value
from .mappings import Attributes, Cell, Elements, Items, Members, OfClass, is_module
from .proxy import Forwarding

_PACKAGE = __name__.partition(".")[0]
#: So many objects are searched.
MOST = 50_000
#: The packages whose functions and classes nobody searches.
_NOT_SEARCHED = frozenset([_PACKAGE, "builtins", "numpy", "scipy", "math"])
#: The modules of Python's library whose objects hold what users put there.
_HOLDERS = frozenset(["collections", "types", "weakref", "functools", "argparse", "_thread", "_threading_local", "dataclasses"])
#: Types of what never leads to a tensor.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, np.generic, np.dtype, ModuleType, CodeType,
          np.random.Generator)
#: Attributes of tensors that the engine has put there.
_OF_TENSORS = frozenset(["data", "_grad", "base", "views", "path", "body", "options", "recorder", "seen"])
#: Attributes of jitted functions and of optimizers in which these keep what is compiled.
_OF_OURS = Forwarding.slots | {"_packs", "_compiled"}
#: Attributes of classes that tell of them, and hold nothing.
_TELLING = frozenset(["__annotations__", "__dataclass_fields__", "__orig_bases__", "__parameters__", "__doc__", "__hash__"])


class Edge(NamedTuple):
    """That a mapping holds `value` under a key. What `is_fixed` stays so."""

    mapping: Any
    key: Any
    value: Any
    is_fixed: bool


class Node:
    """An object that is searched.

    above     the node by which it was found first
    is_top    whether the function names it
    is_ours   whether it is of this package, which says itself what changes in it, unless it is a module
    is_edited whether each change of it is an edit: it is the dictionary of a module of ours
    rows      its mappings with (key, value) of all that they hold, if that may change
    """

    __slots__ = ("above", "edges", "is_edited", "is_ours", "is_top", "rows", "value")

    def __init__(self, value, above, is_top):
        self.value, self.above, self.is_top = value, above, is_top
        self.is_ours = self.is_edited = False
        self.edges, self.rows = [], []


class Search:
    """All that is reached from `function`, up to `MOST` objects; `is_cut` says whether there are more."""

    def __init__(self, function):
        self.nodes, self.vacancies, self.is_cut = {}, [], False
        self._own, self._queue = str(getattr(function, "__module__", "")).partition(".")[0], deque()
        self._add(function, None, True)
        while self._queue:
            self._visit(self._queue.popleft())

    def _add(self, value, above, is_top):
        if id(value) in self.nodes:
            return
        if len(self.nodes) >= MOST:
            self.is_cut = True
            return
        node = self.nodes[id(value)] = Node(value, above, is_top)
        self._queue.append(node)

    def _row(self, node, mapping, items, is_top=False, is_fixed=False):
        """Note what a mapping holds that may lead to tensors, and where there is nothing."""
        for key, value in items:
            if value is None:
                if not is_fixed:
                    self.vacancies.append((node, mapping, key, is_top))
            elif leads(value):
                node.edges.append(Edge(mapping, key, value, is_fixed))
                if not isinstance(value, Value) or vars(value).keys() - _OF_TENSORS:
                    self._add(value, node, is_top)

    def _fixed(self, node, *values, is_top=False):
        self._row(node, None, enumerate(values), is_top, is_fixed=True)

    def _visit(self, node):
        value = node.value
        if isinstance(value, Forwarding):
            self._fixed(node, value._function, is_top=node.is_top)  # noqa: SLF001 - what it stands for
        elif isinstance(value, FunctionType):
            self._function(node, value)
        elif isinstance(value, MethodType):
            self._fixed(node, value.__self__, value.__func__, is_top=node.is_top)
        elif isinstance(value, (BuiltinFunctionType, BuiltinMethodType)):
            self._fixed(node, value.__self__)
        elif isinstance(value, partial):
            self._fixed(node, value.func, *value.args, is_top=node.is_top)
            self._row(node, value.keywords, list(value.keywords.items()), is_top=node.is_top)
            self._attributes(node, value)
        elif isinstance(value, (staticmethod, classmethod)):
            self._fixed(node, value.__func__)
        elif isinstance(value, property):
            self._fixed(node, value.fget, value.fset)
        elif isinstance(value, type):
            self._class(node, value)
        else:
            self._holder(node, value)

    def _holder(self, node, value):
        """Search a container, and the attributes of an object."""
        node.is_ours = _is_ours(type(value)) or type(value) in (dict, list) and node.above is not None and node.above.is_ours
        if isinstance(value, dict):
            node.rows.append(value)
            self._row(node, value, list(value.items()))
        elif isinstance(value, (tuple, frozenset)):
            self._fixed(node, *value)
        elif isinstance(value, (list, deque)):
            node.rows.append(value)
            self._row(node, Items(value), list(enumerate(value)))
        elif isinstance(value, set):
            node.rows.append(value)
            self._row(node, Members(value), [(member, member) for member in value])
        elif isinstance(value, np.ndarray):
            node.rows.append(value.reshape(-1) if value.flags.c_contiguous else value.flat)
            self._row(node, Elements(value), list(enumerate(value.flat)))
        elif isinstance(value, weakref.ref):
            self._fixed(node, value())
        if is_module(value):
            node.is_edited = node.is_ours
            node.is_ours = False
        self._attributes(node, value)

    def _attributes(self, node, value):
        kind = type(value)
        found = getattr(value, "__dict__", None)
        if isinstance(found, dict):
            hidden = _OF_TENSORS if isinstance(value, Value) else _OF_OURS if _root(kind) == _PACKAGE else ()
            if hidden is _OF_OURS and "_function" in found:
                self._fixed(node, found["_function"], is_top=node.is_top)
            if found or not isinstance(value, (Value, *_CONTAINERS)):
                node.rows.append(found)
            self._row(node, found, [(name, v) for name, v in found.items() if name not in hidden])
        if self._is_searched(kind):
            slots = [name for base in kind.__mro__ for name, v in vars(base).items() if isinstance(v, MemberDescriptorType)]
            if slots and not isinstance(value, Value):
                self._row(node, Attributes(value), [(name, getattr(value, name, None)) for name in dict.fromkeys(slots)])
            self._fixed(node, kind)

    def _class(self, node, kind):
        for base in kind.__mro__:
            if self._is_searched(base):
                self._row(node, OfClass(base), [(name, v) for name, v in vars(base).items() if name not in _TELLING])

    def _function(self, node, function):
        """Search what a function can name."""
        if not self._is_searched(function) and node.above is not None:
            self._row(node, vars(function), list(vars(function).items()))
            return
        variables, names = function.__globals__, _names(function.__code__)
        self._named(node, variables, names, True)
        defaults = function.__kwdefaults__ or {}
        self._fixed(node, *(function.__defaults__ or ()))
        self._row(node, defaults, list(defaults.items()))
        for name, cell in zip(function.__code__.co_freevars, map(Cell, function.__closure__ or ()), strict=True):
            self._row(node, cell, [(name, cell.get(name))], is_top=True)
        if vars(function):
            node.rows.append(vars(function))
            self._row(node, vars(function), list(vars(function).items()))

    def _named(self, node, variables, names, is_top):
        """Search what `names` stand for among the `variables` of a module, and in modules that are found there."""
        seen, stack = {id(variables)}, [(variables, is_top)]
        while stack:
            variables, is_top = stack.pop()
            items = [(name, variables[name]) for name in names if name in variables]
            self._row(node, variables, items, is_top)
            for module in [value for _, value in items if isinstance(value, ModuleType)]:
                if not _is_library(module.__name__.partition(".")[0]) and id(vars(module)) not in seen:
                    seen.add(id(vars(module)))
                    stack.append((vars(module), False))

    def _is_searched(self, kind):
        """Whether a class, or a function, is of the user's own code."""
        root = str(getattr(kind, "__module__", None) or "builtins").partition(".")[0]
        return root == self._own and root not in _NOT_SEARCHED or not _is_library(root) and not _is_installed(root)


_CONTAINERS = list, tuple, dict, deque, set, frozenset, np.ndarray, weakref.ref


def leads(value):
    """Whether something is a tensor, or may lead to one."""
    if isinstance(value, np.ndarray):
        return value.dtype == object
    if isinstance(value, (BuiltinFunctionType, BuiltinMethodType)):
        return value.__self__ is not None and not isinstance(value.__self__, ModuleType)
    return _kind_leads(type(value)) and not (isinstance(value, type) and _is_library(_root(value)))


def holds(value, depth=4):
    """As `leads`, but of containers only those that hold something which does."""
    if depth and isinstance(value, (list, tuple, deque, set, frozenset)):
        return any([holds(v, depth - 1) for v in value])
    if depth and isinstance(value, dict):
        return any([holds(v, depth - 1) for v in value.values()])
    return leads(value)


@cache
def _kind_leads(kind):
    if issubclass(kind, _PLAIN) or issubclass(kind, (GetSetDescriptorType, MemberDescriptorType)):
        return False
    if issubclass(kind, (Value, FunctionType, MethodType, partial, staticmethod, classmethod, property, type, *_CONTAINERS)):
        return True
    root = _root(kind)
    if root == _PACKAGE:
        return not kind.__module__.startswith(f"{_PACKAGE}.core.")
    if root == "builtins" or root in ("numpy", "scipy", "math"):
        return False
    return root in _HOLDERS or root not in sys.stdlib_module_names


def _root(kind):
    return str(getattr(kind, "__module__", None) or "builtins").partition(".")[0]


def _is_ours(kind):
    return any([_root(base) == _PACKAGE for base in kind.__mro__])


def _is_library(root):
    return root in _NOT_SEARCHED or root in sys.stdlib_module_names


@cache
def _is_installed(root):
    """Whether a package was installed, and is not the user's own code: what its functions use changes for all who use it."""
    path = str(getattr(sys.modules.get(root), "__file__", None) or "")
    return "site-packages" in path or "dist-packages" in path


@cache
def _names(code):
    """The names of all that a piece of code, and that within it, takes from its module."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return tuple(dict.fromkeys([*code.co_names, *[name for part in inner for name in _names(part)]]))
