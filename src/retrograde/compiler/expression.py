"""Expressions: what one kernel computes for one point of its domain, with every view folded into addresses.

A domain is a box of loops. An `Affine` is a place along one axis as a number plus whole steps per loop; movement ops and
broadcasting turn into arithmetic on them, and a load knows how far its address moves with each loop.
"""

from dataclasses import dataclass

import numpy as np

from ..core.symbol import Symbol
from ..dtypes import name_of
from ..shapes import row_major


@dataclass(frozen=True)
class Load:
    """A number from memory: element `start` of a buffer plus a step for each loop."""

    buffer: object
    start: int
    steps: tuple
    dtype: str


@dataclass(frozen=True)
class Constant:
    """A number known at compile time; `dtype` None leaves its type to what it meets."""

    value: object
    dtype: str | None
    steps: tuple = ()


@dataclass(frozen=True)
class Apply:
    """An elementwise op on earlier entries, by their numbers."""

    node: Symbol
    arguments: tuple
    steps: tuple  # which loops the result depends on: nonzero where it does


class Expression:
    """The entries of one kernel in the order in which they are computed, each once."""

    def __init__(self, domain, facts, is_stored):
        self.domain, self._facts, self._is_stored = domain, facts, is_stored
        self.entries, self._numbers = [], {}

    def add(self, root):
        """The number of the entry that computes `root` over the whole domain, which is its shape."""
        identity = tuple((0, tuple(int(i == j) for j in range(len(self.domain)))) for i in range(len(self.domain)))
        return self._entry(root, identity)

    def _entry(self, root, place):
        stack = [(root, place)]
        while stack:
            node, place = stack[-1]
            if (id(node), place) in self._numbers:
                stack.pop()
                continue
            parts, make = self._parts(node, place)
            waiting = [p for p in parts if (id(p[0]), p[1]) not in self._numbers]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            self._numbers[id(node), place] = make([self._numbers[id(n), p] for n, p in parts])
        return self._numbers[id(root), place]

    def _append(self, entry):
        self.entries.append(entry)
        return len(self.entries) - 1

    def _parts(self, node, place):
        """What must be computed before `node` at `place`, and how it is computed then."""
        if not isinstance(node, Symbol):
            return [], lambda _: self._append(self._constant(node, place))
        if self._is_stored(node):
            return [], lambda _: self._append(self._load(node, node.shape, node.dtype, place))
        if self._facts.kind(node) == "view":
            source = _moved(self._facts.index_map(node), place, len(self.domain))
            return [(node.args[0], source)], lambda numbers: numbers[0]
        parts = [(a, _aligned(a, place, len(self.domain))) for a in node.args if not _is_dtype(a)]
        return parts, lambda numbers: self._append(self._apply(node, numbers))

    def _apply(self, node, numbers):
        steps = tuple(
            int(any(self.entries[n].steps and self.entries[n].steps[i] for n in numbers)) for i in range(len(self.domain))
        )
        return Apply(node, tuple(numbers), steps)

    def _constant(self, value, place):
        if not hasattr(value, "shape"):
            return Constant(value, None)
        if value.size == 1 or not any(value.strides):
            return Constant(value.flat[0].item(), name_of(value.dtype))
        return self._load(value, value.shape, value.dtype, place)

    def _load(self, buffer, shape, dtype, place):
        strides = row_major(shape)
        start = sum(s * at for s, (at, _) in zip(strides, place, strict=True))
        steps = tuple(
            sum(s * along[j] for s, (_, along) in zip(strides, place, strict=True)) for j in range(len(self.domain))
        )
        return Load(buffer, start, steps, name_of(dtype))


def _is_dtype(argument):
    return isinstance(argument, (np.dtype, type))


def _aligned(argument, place, loops):
    """The place in an operand that broadcasting pairs with `place` in the result."""
    shape = getattr(argument, "shape", ())
    tail = place[len(place) - len(shape) :]
    return tuple((0, (0,) * loops) if n == 1 else p for n, p in zip(shape, tail, strict=True))


def _moved(source, place, loops):
    """The place in a view's source, through its index map, that corresponds to `place` in the view."""
    moved = []
    for offset, steps in source:
        at = offset + sum(s * p[0] for s, p in zip(steps, place, strict=True))
        along = tuple(sum(s * p[1][j] for s, p in zip(steps, place, strict=True)) for j in range(loops))
        moved.append((at, along))
    return tuple(moved)
