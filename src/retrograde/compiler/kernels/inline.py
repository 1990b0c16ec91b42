"""What loops compute on the way: elementwise ops, and views and pieces, which turn into addresses."""

from ...core.symbol import Symbol
from ...dtypes import float32, is_complex, name_of
from ...shapes import row_major
from ..graph.views import is_movement
from ..index.box import Store
from ..index.elements import (
    AFTER,
    CHEAP_OPS,
    CHECKS,
    CONVERSIONS,
    IDENTITIES,
    are_within,
    has_elements,
    is_checked,
    is_elementwise,
    is_in_memory,
)
from ..index.emitted import NARROW
from ..index.pieces import MOST_IN_LOOPS, are_tiles
from .kind import Kind
from .loops import LOOPS, result_steps

#: The parts of complex numbers, as they lie beside each other.
PARTS = ("real", "imag")


class Inline(Kind):
    """What loops compute on the way to what needs it."""

    kernel = LOOPS

    def stores(self, node, step, expression):
        return [Store(node, expression.add(node), 0, result_steps(node.shape), name_of(node.dtype), None)]


class Leaf(Inline):
    """What is handed to a program."""

    def is_always_stored(self, node, facts):
        return True

    def operands(self, node, place, bounds, places, facts):
        return []


class Elementwise(Inline):
    """An op on one element of each operand."""

    is_work = True

    def matches(self, node, facts):
        if not node.size or not is_elementwise(node):
            return False
        is_handed_on = node.op.name in CONVERSIONS or node.op.name in IDENTITIES or node.op.name == AFTER
        return is_in_memory(node) if is_handed_on else has_elements(node)

    def entry(self, node, place, guard, expression):
        return expression.applied(node, place, guard)

    def weight(self, node, expensive):
        return 1 if node.op.name in CHEAP_OPS else expensive

    def may_fail(self, node):
        return node.op.name in CHECKS

    def flops(self, node):
        return node.size


class After(Elementwise):
    """The first operand as it is, but not before the second is there."""

    def entry(self, node, place, guard, expression):
        return expression.handed_on(node, place, guard)

    def operands(self, node, place, bounds, places, facts):
        # The second is waited for, not read.
        return [(a, (places.aligned(a, place), bounds)) for a in node.inputs[:1]]

    def weight(self, node, expensive):
        return 0


class Widened(Elementwise):
    """Numbers of half precision as float32, which registers have them in anyhow."""

    is_work = False

    def matches(self, node, facts):
        x = node.args[0]
        is_widening = isinstance(x, Symbol) and name_of(x.dtype) in NARROW and node.dtype == float32
        return bool(node.size) and is_widening

    def entry(self, node, place, guard, expression):
        return expression.handed_on(node, place, guard)

    def weight(self, node, expensive):
        return 0


class Rounded(Elementwise):
    """The result of an op of half precision, which is computed in float32."""

    def matches(self, node, facts):
        # Between other types it is a conversion: registers hold those in types of their own.
        x = node.args[0]
        is_narrowing = isinstance(x, Symbol) and x.dtype == float32 and name_of(node.dtype) in NARROW
        return is_narrowing and super().matches(node, facts)

    def entry(self, node, place, guard, expression):
        # What is stored is rounded where it is written.
        return expression.applied(node, place, guard) if expression.is_rounded(node) else expression.handed_on(node, place, guard)


class View(Inline):
    """Elements of the operand at other places."""

    is_moving = True

    def matches(self, node, facts):
        if not node.size or not isinstance(node.args[0], Symbol) or not is_movement(node):
            return False
        if node.dtype.kind == "c":  # all but new shapes of complex numbers are made of views of their parts
            return node.op.name == "reshape" and facts.index_map(node) is not None
        return is_in_memory(node) and facts.index_map(node) is not None

    def viewed(self, node):
        return node.args[0]

    def index_map(self, node, facts):
        return facts.index_map(node)

    def entry(self, node, place, guard, expression):
        return expression.moved(node, place, guard)

    def operands(self, node, place, bounds, places, facts):
        return [(node.args[0], (places.moved(facts.index_map(node), place), bounds))]


class Reshaped(Inline):
    """The elements of the operand in the same order, in a shape that is no view of what computes them."""

    def matches(self, node, facts):
        has_kernel = node.dtype.kind == "c" or is_in_memory(node)
        return bool(node.size) and isinstance(node.args[0], Symbol) and has_kernel

    def unshaped(self, node):
        return node.args[0]

    def shown(self, node, facts):
        return facts.memory(node.args[0])

    def entry(self, node, place, guard, expression):
        return expression.reshaped(node, place, guard)

    def operands(self, node, place, bounds, places, facts):
        return []


class Part(Inline):
    """The real or the imaginary part of complex numbers in memory."""

    def matches(self, node, facts):
        return bool(node.size) and isinstance(node.args[0], Symbol) and is_complex(node.args[0])

    def viewed(self, node):
        return node.args[0]

    def entry(self, node, place, guard, expression):
        return expression.part(node, place, guard, PARTS.index(node.op.name))


class Pieces(Inline):
    """Arrays that are concatenated, or padded with a border."""

    is_moving = True

    def matches(self, node, facts):
        return bool(node.size) and is_in_memory(node) and _meet(node) and facts.pieces(node) is not None

    def is_always_stored(self, node, facts):
        return len(facts.pieces(node)[0]) > MOST_IN_LOOPS

    def tiles(self, node, facts):
        pieces = facts.pieces(node)[0]
        return pieces if are_tiles(node, pieces) else None

    def domain(self, node, facts):
        tiles = self.tiles(node, facts)
        return (node.shape if tiles is None else tiles[0].source.shape), ()

    def stores(self, node, step, expression):
        tiles = self.tiles(node, expression.facts)
        if tiles is None:
            return super().stores(node, step, expression)
        return [_tile(node, piece, expression.add(piece.source)) for piece in tiles]

    def at_point(self, node, facts):
        tiles = self.tiles(node, facts)
        return [node] if tiles is None else [piece.source for piece in tiles if isinstance(piece.source, Symbol)]

    def entry(self, node, place, guard, expression):
        return expression.assembled(node, place, guard)

    def operands(self, node, place, bounds, places, facts):
        pieces = [p for p in facts.pieces(node)[0] if isinstance(p.source, Symbol)]
        inside = [places.within(piece, place) for piece in pieces]
        return [(p.source, (inner, bounds + more)) for p, (inner, more) in zip(pieces, inside, strict=True)]

    def is_worth_memory(self, places, many):
        return places > many  # what is joined takes little work at each place


class Gather(Inline):
    """Elements of memory at positions along one axis that are computed."""

    is_moving = True

    def matches(self, node, facts):
        source, indices, axis = node.args
        has_positions = hasattr(indices, "shape") and axis is not None and indices.dtype.kind in "iu"
        return bool(node.size) and isinstance(source, Symbol) and has_positions and is_in_memory(node)

    def shown(self, node, facts):
        return facts.memory(node.args[0])

    def entry(self, node, place, guard, expression):
        return expression.gathered(expression.facts.gather(node), place, guard)

    def operands(self, node, place, bounds, places, facts):
        positions, _ = places.chosen(place, facts.gather(node))
        return [(a, (positions, bounds)) for a in node.inputs[1:]]

    def rows_at(self, node):
        source, positions, axis = node.args
        return positions if node.op.name == "take" and axis % source.ndim == 0 else None

    def may_fail(self, node):
        source, positions, axis = node.args
        # Positions that a check has let through, or constants within the axis, cannot fail in this loop.
        return not is_checked(positions) and not are_within(positions, source.shape[axis])


class Several(Inline):
    """What stands for the results of a kernel that has several: each of them is a node of the kernel's."""


def _meet(node):
    """Whether arrays are joined in a type that NumPy has for them too: beside half precision that is not so of whole numbers."""
    return name_of(node.dtype) not in NARROW or all([a.dtype == node.dtype for a in node.inputs])


def _tile(node, piece, value):
    """The store of one of the arrays that fill `node`."""
    # Each array writes its own part of the whole, in one pass: nobody asks at each place whose it is.
    strides, places = row_major(node.shape), [*piece.fixed, *[axis[:2] for axis in piece.axes]]
    start = sum([strides[axis] * at for axis, at in places])
    steps = tuple([0 if n == 1 else strides[axis[0]] for n, axis in zip(piece.source.shape, piece.axes, strict=True)])
    return Store(node, value, start, steps, name_of(node.dtype))
