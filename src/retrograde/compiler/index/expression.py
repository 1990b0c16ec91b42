"""Expressions: what one kernel computes for one point of its domain, with every view folded into addresses.

A domain is a box of loops. Where a point is in each array is a place, and a load knows how far its address moves with each loop.
Pieces that are joined (a border, a concatenation) are computed where the point is inside them.
"""

from typing import NamedTuple

import numpy as np

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...shapes import row_major
from .access_maps import AccessMaps
from .elements import are_within
from .emitted import ELEMENTS
from .pieces import FILLED


class Load(NamedTuple):
    """A number from memory: element `start` of a buffer plus a step for each loop, where the entry `guard` holds.

    `chosen` adds to the address: (entry of a position, elements per position, number of positions, whether the position is known to
    be one of them). `part` says which part of a complex number it is, whose first part is element `start`; of other numbers None.
    Where it `follows`, the position is the first of a ring of links, from a vector of them: all numbers of the ring are added up.
    """

    buffer: object
    start: int
    steps: tuple
    dtype: str
    guard: int | None = None
    chosen: tuple = ()
    depends: tuple | None = None  # which loops it depends on, where `steps` do not tell
    part: int | None = None
    follows: bool = False

    @property
    def moves(self):
        """How addresses move with each loop."""
        return (self.steps,)

    def in_loops(self, pick_moves, pick_flags):
        """The same entry in other loops."""
        depends = None if self.depends is None else pick_flags(self.depends)
        return self._replace(steps=pick_moves(self.steps), depends=depends)

    def renumbered(self, places):
        """The same entry where other entries have other numbers."""
        if self.guard is None and not self.chosen:
            return self
        chosen = tuple([(places[number], *how) for number, *how in self.chosen])
        return self._replace(guard=None if self.guard is None else places[self.guard], chosen=chosen)


class Constant(NamedTuple):
    """A number known at compile time; `dtype` None leaves its type to what it meets."""

    value: object
    dtype: str | None
    steps: tuple = ()
    moves = ()

    def renumbered(self, _):
        """The same entry where other entries have other numbers."""
        return self


class Apply(NamedTuple):
    """An elementwise op on earlier entries, by their numbers; `is_rounded` says that it is not to be fused with a sum."""

    node: Symbol
    arguments: tuple
    steps: tuple  # which loops the result depends on: nonzero where it does
    is_rounded: bool = False
    moves = ()

    def in_loops(self, _, pick_flags):
        """The same entry in other loops."""
        return self._replace(steps=pick_flags(self.steps))

    def renumbered(self, places):
        """The same entry where other entries have other numbers."""
        return self._replace(arguments=tuple([places[number] for number in self.arguments]))


class Inside(NamedTuple):
    """Whether the point is inside a piece: each of `bounds`, (start, steps per loop, size), lies from 0 to below its size,
    and the entry `outer`, if any, holds too.
    """

    bounds: tuple
    outer: int | None
    steps: tuple
    dtype: str = "bool"

    @property
    def moves(self):
        """How places move with each loop."""
        return tuple([along for _, along, _ in self.bounds])

    def in_loops(self, pick_moves, pick_flags):
        """The same entry in other loops."""
        bounds = tuple([(at, pick_moves(along), size) for at, along, size in self.bounds])
        return Inside(bounds, self.outer, pick_flags(self.steps))

    def renumbered(self, places):
        """The same entry where other entries have other numbers."""
        return self if self.outer is None else self._replace(outer=places[self.outer])


class Select(NamedTuple):
    """Entry `inside` where the entry `guard` holds, entry `outside` elsewhere."""

    guard: int
    inside: int
    outside: int
    dtype: str
    steps: tuple
    moves = ()

    def in_loops(self, _, pick_flags):
        """The same entry in other loops."""
        return self._replace(steps=pick_flags(self.steps))

    def renumbered(self, places):
        """The same entry where other entries have other numbers."""
        return self._replace(guard=places[self.guard], inside=places[self.inside], outside=places[self.outside])


class Expression:
    """The entries of one kernel in the order in which they are computed, each once; nodes `rounded` are so by themselves."""

    def __init__(self, domain, facts, is_stored, rounded=frozenset()):
        self.domain, self.facts, self._is_stored, self._rounded = domain, facts, is_stored, rounded
        self.entries, self._numbers, self._equal = [], {}, {}
        # On which loops each entry depends, and what several together do.
        self._flags, self._unions = [], {}
        self._places = AccessMaps(domain)

    def add(self, root, at=None):
        """The number of the entry that computes `root` at a place; without one over the whole domain, which is its shape."""
        start = self._places.start if at is None else at, None
        # What is on the stack has a key, a node and, once its parts have been looked for, how it is made of which.
        numbers, stack = self._numbers, [((id(root), *start), root, None, ())]
        while stack:
            key, node, make, keys = stack.pop()
            if key in numbers:
                continue
            if make is None:
                parts, make = self._parts(node, key[1], key[2])
                keys, height = [], len(stack)
                for part, place, guard in parts:
                    needed = id(part), place, guard
                    keys.append(needed)
                    if needed not in numbers:
                        stack.append((needed, part, None, ()))
                if len(stack) > height:
                    # Below its parts, so that they are made first; a recursion would end at a thousand nodes.
                    stack.insert(height, (key, node, make, keys))
                    continue
            numbers[key] = make(tuple(map(numbers.__getitem__, keys)))
        return numbers[id(root), *start]

    def _append(self, entry):
        self.entries.append(entry)
        self._flags.append(depends_of(entry))
        return len(self.entries) - 1

    def _once(self, entry):
        """The number of an entry, which is appended if there is no equal one."""
        if entry not in self._equal:
            self._equal[entry] = self._append(entry)
        return self._equal[entry]

    def _parts(self, node, place, guard):
        """(node, place, guard) of what must be computed before `node` at `place`, and how it is computed then."""
        if not isinstance(node, Symbol):
            return [], lambda _: self._append(self._constant(node, place, guard))
        if self._is_stored(node):
            return [], lambda _: self._append(self._load(node, node.shape, node.dtype, place, guard))
        return self.facts.kind(node).entry(node, place, guard, self)

    def is_rounded(self, node):
        """Whether a node is rounded by itself, whatever reads it."""
        return node in self._rounded

    # What the kinds of nodes become; see `Kind.entry`

    def applied(self, node, place, guard):
        """An op on one element of each operand."""
        read = [a for a in node.args if isinstance(a, Symbol) or not isinstance(a, (np.dtype, type))]
        parts = [(a, self._places.aligned(a, place), guard) for a in read]
        return parts, lambda numbers: self._append(Apply(node, numbers, self._depends(numbers), node in self._rounded))

    def handed_on(self, node, place, guard):
        """The first operand itself."""
        return [(node.args[0], self._places.aligned(node.args[0], place), guard)], lambda numbers: numbers[0]

    def moved(self, node, place, guard):
        """The operand at the place where a view shows it."""
        return [(node.args[0], self._places.moved(self.facts.index_map(node), place), guard)], lambda numbers: numbers[0]

    def reshaped(self, node, place, guard):
        """The memory that is seen in the shape of the node."""
        source = self._memory(node.args[0])
        return [], lambda _: self._append(self._load(source, node.shape, source.dtype, place, guard))

    def part(self, node, place, guard, which):
        """A part of complex numbers: 0 for the real one, 1 for the imaginary one."""
        return [], lambda _: self._append(self._part(node, place, guard, which))

    def _depends(self, numbers):
        """On which loops the entries depend."""
        steps = tuple(map(self._flags.__getitem__, numbers))
        found = self._unions.get(steps)
        if found is None:
            moving = [s for s in steps if s]
            columns = zip(*moving, strict=True) if moving else [()] * len(self.domain)
            found = self._unions[steps] = tuple([int(any(column)) for column in columns])
        return found

    def _constant(self, value, place, guard):
        if not hasattr(value, "shape"):
            return Constant(value, None)
        if value.size == 1 or not any(value.strides):
            # Numbers of bfloat16 are no Python numbers by themselves.
            number = value.flat[0].item() if name_of(value.dtype) in ELEMENTS else float(value.flat[0])
            return Constant(number, name_of(value.dtype))
        value = np.ascontiguousarray(value)
        return self._load(value, value.shape, value.dtype, place, guard)

    def _part(self, node, place, guard, which):
        """A part of complex numbers in memory, where the parts of each stand beside each other."""
        source, facts = node.args[0], self.facts
        while not self._is_stored(source) and (index_map := facts.kind(source).index_map(source, facts)) is not None:
            place, source = self._places.moved(index_map, place), source.args[0]
        return self._load(self._memory(source), source.shape, node.dtype, place, guard, which)

    def _memory(self, node):
        """What is in memory and holds the elements of `node` in the same order: the first one that does. What is under it may be
        gone by now, since nobody is said to read it.
        """
        while not self._is_stored(node) and (below := self.facts.kind(node).unshaped(node)) is not None:
            node = below
        return node

    def _load(self, buffer, shape, dtype, place, guard, part=None):
        strides, place = row_major(shape) if part is None else doubled(row_major(shape)), self._places[place]
        start = sum([s * at for s, (at, _) in zip(strides, place, strict=True)])
        steps = tuple([
            sum([s * along[j] for s, (_, along) in zip(strides, place, strict=True)]) for j in range(len(self.domain))
        ])
        depends = None
        if guard is not None:
            depends = tuple([int(bool(a or b)) for a, b in zip(steps, self.entries[guard].steps, strict=True)])
        return Load(buffer, start, steps, name_of(dtype), guard, depends=depends, part=part)

    def assembled(self, node, place, guard):
        """Each piece where the point is inside it, the fill value elsewhere."""
        pieces, fill = self.facts.pieces(node)
        parts, guards = [], []
        for piece in pieces:
            inner, bounds = self._places.within(piece, place)
            inside = guard if not bounds else self._once(Inside(bounds, guard, self._bounded(bounds, guard)))
            guards.append(inside if bounds else None)
            parts.append((piece.source, inner, inside))
        dtype = name_of(node.dtype)
        if node.op.name in FILLED:
            guards[-1] = None  # what is in no other piece is in the last

        def make(numbers):
            result = self._append(Constant(fill, dtype))
            for inside, number in zip(reversed(guards), reversed(numbers), strict=True):
                if inside is None:
                    result = number
                else:
                    result = self._append(Select(inside, number, result, dtype, self._depends([inside, number, result])))
            return result

        return parts, make

    def _bounded(self, bounds, guard):
        columns = [along for _, along, _ in bounds] + ([self.entries[guard].steps] if guard is not None else [])
        return tuple([int(any(column)) for column in zip(*columns, strict=True)])

    def gathered(self, chosen, place, guard, follows=False):
        """The element at a position that is computed along one axis, `chosen` as `Facts.gather` has it; the sum of all to which
        positions lead, one after the other, where it `follows` them.
        """
        source, axis, indices, _ = chosen
        positions, inner = self._places.chosen(place, chosen)
        stride, size = row_major(source.shape)[axis], source.shape[axis]
        is_known = follows or are_within(indices, size)

        def make(numbers):
            load = self._load(self._memory(source), source.shape, source.dtype, inner, guard)
            depends = tuple([int(bool(a or b)) for a, b in zip(depends_of(load), self._depends(numbers), strict=True)])
            chosen = ((numbers[0], stride, size, is_known),)
            return self._append(load._replace(depends=depends, chosen=chosen, follows=follows))

        return [(indices, positions, guard)], make

    def rows(self, target, positions):
        """Where a loop over rows and what they hold is in a node `target` that has them at `positions` along its first axis: (first
        element, steps, the position as `Load.chosen` has it, the place among the positions).
        """
        place, inner = self._places.chosen(self._places.start, (target, 0, positions, False))
        load = self._load(target, target.shape, target.dtype, inner, None)
        chosen = self.add(positions, place), row_major(target.shape)[0], target.shape[0], False
        return load.start, load.steps, (chosen,), place


def doubled(strides):
    """The strides of complex numbers, counted in parts."""
    return tuple([2 * stride for stride in strides])


def arguments_of(entry):
    """The numbers of the entries that an entry reads."""
    if isinstance(entry, Apply):
        return entry.arguments
    if isinstance(entry, Select):
        return entry.guard, entry.inside, entry.outside
    guard = entry.outer if isinstance(entry, Inside) else getattr(entry, "guard", None)
    chosen = [number for number, *_ in getattr(entry, "chosen", ())]
    return (*chosen, *(() if guard is None else (guard,)))


def depends_of(entry):
    """Which loops an entry depends on: nonzero where it does."""
    return entry.depends if isinstance(entry, Load) and entry.depends is not None else entry.steps


def dtype_of_entry(entry):
    """The dtype of an entry's value, None for a number that takes it from what it meets."""
    return name_of(entry.node.dtype) if isinstance(entry, Apply) else entry.dtype
