"""Owners: where a function finds the tensors that it uses, so that another tensor in such a place is noticed."""

from collections import deque
from typing import Any

import numpy as np

from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import TraceError
from .searching import MOST, Search, holds
from .watches import Held, Length, Order, Read, Row, Vacant, Without, may_fill

_data = Value.__dict__["data"]


class Places:
    """The places in which `function` can find tensors.

    It looks at its globals and its closure, at those of functions and methods that it finds there, and at what objects hold,
    however deep. `before` are those at the start of a trace: what that has put where nothing was, another call finds there, and is
    another call for that.
    """

    def __init__(self, function, before=None):
        self._search = Search(function)
        self._before = before
        modules = [node.value for node in self._search.nodes.values() if node.is_edited] if before is None else []
        self._hooks = [(module, _hooks(module)) for module in modules]

    def tensors(self):
        """The tensors that are found there."""
        return [edge.value for node in self._search.nodes.values() for edge in node.edges if isinstance(edge.value, Value)]

    def holding(self, value):
        """(mapping, key) of the places in which `value` is found."""
        return [(edge.mapping, edge.key) for node in self._search.nodes.values() for edge in node.edges
                if edge.value is value and not edge.is_fixed]

    def watches(self, values):
        """What must stay as it is for a program that uses the tensors `values`: at each call, and after an edit.

        All that leads to one of them is watched, but for what refers back to that by which it was found. Of objects that the
        function names it is watched what they hold in all.
        """
        leading, always, edits = self._leading(values), [], []
        self._check_found(values, leading)
        for node in self._search.nodes.values():
            found = edits if node.is_edited else always
            used = [e for e in node.edges if not e.is_fixed and _matters(node, e.value, leading) and not _is_above(e.value, node)]
            if node.is_edited:
                edits.append(Read(lambda module=node.value: (module.training, _hooks(module)), "mode or the hooks of a module"))
            is_watched = self._is_watched(node, leading)
            if is_watched and not node.is_ours:
                found += self._entries(node, used)
            rows = [row for row in node.rows if _is_row(row, used)]
            found += [Row(row) for row in rows]
            found += [Held(e.mapping, e.key, e.value) for e in used if not any([_is_of(e.mapping, row) for row in rows])]
        for node, mapping, key, is_named in self._search.vacancies:
            if is_named or not node.is_ours and self._is_watched(node, leading):
                (edits if node.is_edited else always).append(Vacant(mapping, key))
        if self._before is not None:
            always += [Vacant(*place) for place in self._before.filled()]
            always += [Without(*edge[:3]) for edge in self._left_where_none_were(self._before)]
        return always, edits

    def _left_where_none_were(self, before):
        """The values of the trace that are left in objects that held no such value `before`: another call may read them, and is
        traced for that. Where there were some, of an earlier trace, nobody has read them.
        """
        known = {id(node.value) for node, _ in before.left()}
        return [edge for node, edge in self.left() if id(node.value) not in known]

    def left(self):
        """(node, edge) of the values that a trace has left where the function finds them, and which have no number."""
        return [(node, edge) for node in self._search.nodes.values() if not node.is_ours for edge in node.edges
                if not edge.is_fixed and isinstance(edge.value, Value) and _is_of_a_trace(edge.value)]

    def _is_watched(self, node, leading):
        """Whether it matters what a node holds in all: the function names it, or it leads to what is used, or it is empty and
        within such a one.
        """
        if id(node.value) in leading or node.is_top or node.is_edited:
            return True
        above = node.above
        return not any(map(len, node.rows)) and (id(above.value) in leading or above.is_top or above.is_edited)

    def _leading(self, values):
        """The identities of `values`, and of all that leads to one of them."""
        sources = {}
        for node in self._search.nodes.values():
            for edge in node.edges:
                sources.setdefault(id(edge.value), []).append(id(node.value))
        found = set()
        stack = [id(value) for value in values]
        while stack:
            key = stack.pop()
            if key not in found:
                found.add(key)
                stack += sources.get(key, ())
        return found

    def _check_found(self, values, leading):
        if not self._search.is_cut:
            return
        reached = {id(edge.value) for node in self._search.nodes.values() for edge in node.edges}
        for value in values:
            if id(value) not in reached:
                raise TraceError(f"a tensor of shape {value.shape} that the jitted function uses is not among the first {MOST:,} "
                                 "objects that it can reach, so that another one in its place would not be noticed; pass it as an "
                                 "argument, or let the function name what holds it")

    def _entries(self, node, used):
        """What a node must have, in their order."""
        for row in node.rows:
            if isinstance(row, dict):
                yield Order(row, row.items, holds)
            elif isinstance(row, (list, deque)) and not _is_row(row, used):
                yield Length(row, holds)

    def filled(self):
        """The places in which there was nothing, and is something now."""
        return [(mapping, key) for _, mapping, key, _ in self._search.vacancies
                if (found := mapping.get(key)) is not None and may_fill(found)]

    def check_hooks(self):
        """Raise a TraceError if a module has another hook than it had; it has those again then."""
        changed = [(module, hooks) for module, hooks in self._hooks if _hooks(module) != hooks]
        for module, hooks in changed:
            getattr(module, "_hooks").restore(hooks)  # noqa: B009
        if changed:
            name = type(changed[0][0]).__name__
            raise TraceError(f"a hook of {name}, a module from outside, was registered or removed in a jitted function, which "
                             "would be done while it is traced and at no call; register it before the function is called, or "
                             "remove it before the function returns")

    def check_rebound(self, captures):
        """Raise a TraceError if one of the `captures` of a trace has given its place to a value of the trace, which has no
        number: what was meant to be stored would be lost. It has its place back then.
        """
        captured = {id(capture.value) for capture in captures}
        for node in self._search.nodes.values():
            for mapping, key, value in [edge[:3] for edge in node.edges if id(edge.value) in captured and not edge.is_fixed]:
                now = mapping.get(key)
                if isinstance(now, Value) and now.is_traced:
                    mapping[key] = value
                    name = f"`{key}`" if isinstance(key, str) else f"entry {key}"
                    raise TraceError(f"{name} held a tensor of shape {value.shape} that the jitted function uses, and was given "
                                     "a new value in the trace, which has no number to store; write to the tensor in place, as in "
                                     "`state[...] = new`, or return the new value")


def _is_of_a_trace(value):
    try:
        return isinstance(_data.__get__(value), Symbol)
    except AttributeError:  # a parameter, which keeps its data elsewhere
        return False


def _matters(node, value, leading):
    """Whether another value in its place is another program: it leads to what is used, or is part of a module, whatever it does."""
    return id(value) in leading or node.is_edited and not isinstance(value, Value) and holds(value)


def _is_above(value, node):
    """Whether `value` is what `node` was found by."""
    while node is not None:
        if node.value is value:
            return True
        node = node.above
    return False


def _is_row(row, used):
    """Whether all that a list, a set or an array of objects holds is watched: it can be looked at as a whole."""
    return not isinstance(row, dict) and len(row) > 0 and len([e for e in used if _is_of(e.mapping, row)]) == len(row)


def _is_of(mapping, row):
    target = getattr(mapping, "target", mapping)
    return target is row or isinstance(target, np.ndarray) and (row is target or getattr(row, "base", None) is target)


def _hooks(module):
    """The hooks of a module."""
    hooks: Any = getattr(module, "_hooks", None)
    return hooks.listed() if hasattr(hooks, "listed") else ()


