"""The loops of each step of a schedule, as boxes."""

from ..dtypes import name_of
from ..shapes import row_major
from .codegen.box import Box, Store
from .expression import Expression


class Boxes:
    """The box of each loop step of a schedule, made once; its buffers are nodes and arrays."""

    def __init__(self, schedule):
        self._schedule, self._made = schedule, {}

    def __getitem__(self, step):
        if step not in self._made:
            self._made[step] = self._box(step)
        return self._made[step]

    def _box(self, step):
        """The loops of a step, what they compute and what they store."""
        schedule = self._schedule
        expression = Expression(step.domain, schedule.facts, lambda node: schedule.is_loaded(node, step.stage))
        stores = []
        for root in step.roots:
            if schedule.facts.is_tiled(root):
                pieces = schedule.facts.pieces(root)[0]
                stores += [_tile(root, piece, expression.add(piece.source)) for piece in pieces]
                continue
            is_reduction = schedule.facts.kind(root) == "reduction"
            value = expression.add(root.args[0] if is_reduction else root)
            shape = tuple(1 if i in step.reduced else n for i, n in enumerate(step.domain)) if is_reduction else root.shape
            combine = root.op.name if is_reduction else None
            stores.append(Store(root, value, 0, _strides(shape), name_of(root.dtype), combine))
        is_reduced = tuple(i in step.reduced for i in range(len(step.domain)))
        return Box(step.domain, is_reduced, tuple(expression.entries), tuple(stores))


def _tile(node, piece, value):
    """The store of one of the arrays that fill `node`."""
    strides, places = row_major(node.shape), [*piece.fixed, *[axis[:2] for axis in piece.axes]]
    start = sum([strides[axis] * at for axis, at in places])
    steps = tuple([0 if n == 1 else strides[axis[0]] for n, axis in zip(piece.source.shape, piece.axes, strict=True)])
    return Store(node, value, start, steps, name_of(node.dtype))


def _strides(shape):
    return tuple(0 if n == 1 else step for n, step in zip(shape, row_major(shape), strict=True))
