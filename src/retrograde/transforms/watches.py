"""Watches: what is asked before each call of what is compiled, whether the function would find the tensors there that it found.

Each has `is_same()`; those that are asked at every call have `test(i)` as well: an expression that is true if all is as it was, and
what the names in it stand for, which `i` numbers.
"""

from ..core.value import Value
from .mappings import CONTAINERS, is_module

#: So many entries are looked at one by one, which takes less time than a loop.
_FEW = 16
_ENTRIES = "entries of a list, a dictionary, an object or a module, in their order,"


def may_fill(value):
    """Whether something that came to stand where nothing was is, or may lead to, a tensor."""
    return isinstance(value, (Value, *CONTAINERS)) or is_module(value)


class Held:
    """A mapping must hold `value` under a key."""

    def __init__(self, mapping, key, value):
        self._mapping, self._key, self._value = mapping, key, value
        self.told = f"`{key}`" if isinstance(key, str) else f"entry {key if isinstance(key, int) else '...'} of what"

    def is_same(self):
        """Whether it does."""
        return self._mapping.get(self._key, self) is self._value

    def test(self, i):
        """See the module."""
        expression = getattr(self._mapping, "expression", "{at}[{key}]")
        target = getattr(self._mapping, "target", self._mapping)
        return _numbered(expression + " is {held}", i, at=target, key=self._key, held=self._value)


class Vacant:
    """A mapping must hold nothing under a key, or what leads to no tensor."""

    def __init__(self, mapping, key):
        self._mapping, self._key, self.told = mapping, key, f"`{key}`"

    def is_same(self):
        """Whether that is so."""
        found = self._mapping.get(self._key)
        return found is None or not may_fill(found)

    def test(self, i):
        """See the module."""
        return _numbered("({get}({key}) is None or {same}())", i, get=self._mapping.get, key=self._key, same=self.is_same)


class Without:
    """A mapping must not hold `value`, which the trace has left there, under a key."""

    def __init__(self, mapping, key, value):
        self._mapping, self._key, self._value, self.told = mapping, key, value, f"`{key}`"

    def is_same(self):
        """Whether it does not."""
        return self._mapping.get(self._key) is not self._value

    def test(self, i):
        """See the module."""
        return _numbered("{get}({key}) is not {left}", i, get=self._mapping.get, key=self._key, left=self._value)


class Order:
    """A `container`, whose (key, value) `entries()` gives, must have the keys that it has, in their order; those of values that
    do not lead to tensors, by `leads`, may come and go.
    """

    told = _ENTRIES

    def __init__(self, container, entries, leads):
        self._container, self._entries, self._leads = container, entries, leads
        self._all, self._leading = list(container), self._now()

    def _now(self):
        return [key for key, value in self._entries() if self._leads(value)]

    def is_same(self):
        """Whether it has these."""
        now = list(self._container)
        if _are_same(now, self._all):
            return True
        if not _are_same(self._now(), self._leading):
            return False
        self._all[:] = now
        return True

    def test(self, i):
        """See the module."""
        is_named = all([key.__class__ is str for key in self._all])
        expression = "([*{at}] == {all} or {same}())" if is_named else "{same}()"
        return _numbered(expression, i, at=self._container, all=self._all, same=self.is_same)


class Length:
    """A list must have as many entries that lead to tensors, by `leads`, as it has."""

    told = _ENTRIES

    def __init__(self, container, leads):
        self._container, self._leads, self._length = container, leads, [len(container)]
        self._count = self._now()

    def _now(self):
        return sum(map(self._leads, self._container))

    def is_same(self):
        """Whether it has."""
        if len(self._container) == self._length[0]:
            return True
        if self._now() != self._count:
            return False
        self._length[0] = len(self._container)
        return True

    def test(self, i):
        """See the module."""
        return _numbered("(len({at}) == {length}[0] or {same}())", i, at=self._container, length=self._length, same=self.is_same)


class Row:
    """A list, a set or an array of objects must hold what it holds, in this order."""

    told = _ENTRIES

    def __init__(self, container):
        self._container, self._held = container, list(container)

    def is_same(self):
        """Whether it does."""
        return _are_same(list(self._container), self._held)

    def test(self, i):
        """See the module."""
        known = {"at": self._container, "held": self._held, "count": len(self._held)}
        if not isinstance(self._container, list) or len(self._held) > _FEW:
            return _numbered("(len({at}) == {count} and all(map(is_, {at}, {held})))", i, **known)
        tests = [f"{{at}}[{n}] is {{held}}[{n}]" for n in range(len(self._held))]
        return _numbered(" and ".join(["(len({at}) == {count}", *tests]) + ")", i, **known)


class Read:
    """What `read()` gives must stay what it is."""

    def __init__(self, read, told):
        self._read, self._seen, self.told = read, read(), told

    def is_same(self):
        """Whether it is."""
        return self._read() == self._seen


def _are_same(these, others):
    return len(these) == len(others) and all(map(_is_same, these, others))


def _is_same(one, other):
    return one is other or one.__class__ is other.__class__ is str and one == other


def _numbered(expression, i, **known):
    return expression.format(**{name: f"{name}{i}" for name in known}), {f"{name}{i}": value for name, value in known.items()}
