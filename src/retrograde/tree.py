"""Trees: nested lists, tuples, dictionaries, dataclasses and None, with anything else as leaves.

A class of named tuples may list in `_tree_constants` those of its fields, integers in arrays or None, that say how the others are
to be read: they are no leaves, and belong to the structure.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import lru_cache, wraps
from typing import Any

from .errors import ArgumentError, DTypeError

_LEAF = object()


def _of_any_depth(function):
    """`function` of a tree, with an error of ours where that is nested deeper than Python can follow."""

    @wraps(function)
    def checked(tree):
        try:
            return function(tree)
        except RecursionError:
            raise ArgumentError("lists, tuples and dictionaries are nested here deeper than Python can follow; an argument that "
                                "holds arrays must be flatter") from None

    return checked


@_of_any_depth
def flatten(tree) -> tuple[list, Callable[[Iterable], Any]]:
    """The leaves of `tree` in order, and a function that builds the same tree from other leaves.

    >>> leaves, build = rg.tree.flatten({"b": 1, "a": (2, None)})
    >>> leaves, build([10, 20])
    ([1, 2], {'b': 10, 'a': (20, None)})
    """
    kind = type(tree)
    if _is_leaf(kind):
        return [tree], _first
    if kind in (list, tuple) and all([_is_leaf(type(part)) for part in tree]):
        return list(tree), kind
    leaves = []
    plan = _plan(tree, leaves)
    return leaves, lambda new: _build(plan, iter(new))


@lru_cache(1024)
def _is_leaf(kind):
    """Whether whatever is of that type is a leaf."""
    is_sequence = kind in (list, tuple) or issubclass(kind, tuple) and hasattr(kind, "_fields")
    return not (is_sequence or issubclass(kind, dict) or kind is type(None) or is_dataclass(kind))


def _first(new):
    return next(iter(new))


@_of_any_depth
def structure(tree):
    """What two trees have in common that differ in nothing but their leaves; hashable.

    >>> rg.tree.structure([1, (2, None)]) == rg.tree.structure(["a", ("b", None)])
    True
    """
    return _structure(tree)


def _structure(tree):
    kind = type(tree)
    if _is_leaf(kind):
        return _LEAF
    if tree is None:
        return None
    if hasattr(kind, "_tree_constants"):
        names, kept = _split(tree)
        return kind, *[_frozen(constant) for constant in kept.values()], *[_structure(getattr(tree, name)) for name in names]
    if kind in (list, tuple) or isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind, *[_structure(part) for part in tree]
    if isinstance(tree, dict):
        return kind, *[(key, _structure(part)) for key, part in tree.items()]
    return kind, *[_structure(getattr(tree, f.name)) for f in fields(tree)]


def map(function, tree, *others):  # noqa: A001 - read as `tree.map`
    """`tree` with `function` applied to each leaf, together with the leaves of `others`, trees of the same structure."""
    if not others and _is_leaf(type(tree)):
        return function(tree)
    leaves, build = flatten(tree)
    columns = [flatten(other)[0] for other in others]
    for column in columns:
        if len(column) != len(leaves):
            raise DTypeError(f"trees must have the same structure, got {len(leaves)} and {len(column)} leaves")
    return build([function(*row) for row in zip(leaves, *columns, strict=True)])


@_of_any_depth
def leaves(tree):
    """The leaves of `tree`, in order."""
    found = []
    _gather(tree, found)
    return found


@_of_any_depth
def paths(tree):
    """For each leaf of `tree`, in order, the keys, places and names of fields that lead to it.

    >>> rg.tree.paths({"b": 1, "a": (2, None)})
    [('b',), ('a', 0)]
    """
    if _is_leaf(type(tree)):
        return [()]
    return [(step, *rest) for step, part in zip(_steps(tree), _parts(tree), strict=True) for rest in paths(part)]


def _steps(tree):
    """What leads to each part of a tree that is no leaf."""
    if tree is None:
        return ()
    if isinstance(tree, dict):
        return tree.keys()
    if hasattr(type(tree), "_tree_constants"):
        return _split(tree)[0]
    if isinstance(tree, (list, tuple)):
        return getattr(tree, "_fields", range(len(tree)))
    return [f.name for f in fields(tree)]


def _gather(tree, found):
    if _is_leaf(type(tree)):
        found.append(tree)
        return
    for part in _parts(tree):
        _gather(part, found)


def _parts(tree):
    """What a tree that is no leaf consists of."""
    if tree is None:
        return ()
    if isinstance(tree, dict):
        return tree.values()
    if hasattr(type(tree), "_tree_constants"):
        return [getattr(tree, name) for name in _split(tree)[0]]
    return tree if isinstance(tree, (list, tuple)) else [getattr(tree, f.name) for f in fields(tree)]


def _plan(tree, leaves):
    """How to build `tree` again: a constructor and the plans of its parts."""
    kind = type(tree)
    if _is_leaf(kind):
        leaves.append(tree)
        return _LEAF, ()
    if tree is None:
        return (lambda parts: None), ()
    if kind in (list, tuple):
        return kind, [_plan(part, leaves) for part in tree]
    if hasattr(kind, "_tree_constants"):
        names, kept = _split(tree)
        return _maker(kind, names, kept), [_plan(getattr(tree, name), leaves) for name in names]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return (lambda parts: kind(*parts)), [_plan(part, leaves) for part in tree]
    if isinstance(tree, dict):
        return (lambda parts: kind(zip(tree, parts, strict=True))), [_plan(part, leaves) for part in tree.values()]
    names = [f.name for f in fields(tree)]
    return _maker(kind, names, {}), [_plan(getattr(tree, name), leaves) for name in names]


def _split(tree):
    """The names of the fields of a named tuple that are parts, and its constants by name."""
    kept = {name: getattr(tree, name) for name in tree._tree_constants}  # noqa: SLF001 - documented above
    return [name for name in tree._fields if name not in kept], kept  # noqa: SLF001 - as every named tuple has it


def _maker(kind, names, kept):
    """What makes a `kind` of its parts, and of the fields that are `kept`."""
    return lambda parts: kind(**kept, **dict(zip(names, parts, strict=True)))


def _frozen(constant):
    """Integers in an array as something hashable."""
    return tuple(constant.tolist()) if hasattr(constant, "tolist") else tuple(constant) if isinstance(constant, list) else constant


def _build(plan, leaves):
    make, parts = plan
    if make is _LEAF:
        return next(leaves)
    return make([_build(part, leaves) for part in parts])
