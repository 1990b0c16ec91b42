"""A pattern of sums: terms that are each scattered into zeros become one array of them, written once.

The derivative of a loop over the parts of an array, its rows or its numbers, is such a sum, with a term for each part. What becomes
of its terms is a table again, `SUMS`: a row takes the terms of a sum and gives others of the same sum. All rows are applied, one
after the other.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from ...core.symbol import Symbol, renewed
from .. import cost
from ..graph.infer import called
from ..index.pieces import PIECES
from .rule import is_called


class SumRule(NamedTuple):
    """A row of the table.

    name     what the row does, in a few words
    replace  given the terms of a sum, and its shape, terms of the same sum
    why      what is gained
    """

    name: str
    replace: Callable
    why: str


def added_at_once(readers):
    """Sums in which arrays are scattered into zeros, made of fewer terms."""
    scattered = set()
    for node in readers.nodes:
        if _is_sum(node) and any([is_scattered(a) or scattered_in_steps(a)[1] or a in scattered for a in node.args]):
            scattered.add(node)
    # A part of a larger sum: nobody else reads it, so that it need not be there by itself. What is given out is not.
    inner = {node for node in scattered if len(readers.of(node)) == 1 and readers.of(node)[0] in scattered}
    return {node: lambda node, made: _sum_made(node, inner, made) for node in readers.nodes if _is_sum(node) and node not in inner}


def _is_sum(node):
    """Whether a node adds two nodes of its own shape and dtype."""
    return is_called(node, "add") and all([
        isinstance(a, Symbol) and (a.shape, a.dtype) == (node.shape, node.dtype) for a in node.args])


def _sum_made(node, inner, made):
    """A sum made anew; None if it had better stay as it is."""
    terms, stack = [], [node]
    while stack:
        term = stack.pop()
        if term is node or term in inner:
            # Terms from left to right, since rounding depends on the order in which they are added.
            stack.extend(term.args[::-1])
        else:
            terms.append(made[term])
    found = terms
    for rule in SUMS:
        found = rule.replace(found, node.shape)
    # Nothing was joined: the node itself stays, so that whoever knows it finds it again.
    if found == node.inputs:
        return None
    total, *rest = found
    for term in rest:
        total = called("add", total, term)
    return total


def is_scattered(node):
    """Whether a node is an array that is scattered into zeros."""
    return is_called(node, "scatter_add")


def scattered_in_steps(node):
    """(array in zeros of more axes, how these become others) of a node that is scattered into zeros at every so many
    elements; see `adding.added_in_steps`, which makes them.
    """
    changes = []
    while isinstance(node, Symbol) and node.op is not None and _joins_axes(node):
        changes.append((node.op.name, repr(node.args[1:])))
        node = node.args[0]
    return (node, tuple(changes)) if changes and is_scattered(node) else (None, ())


def _joins_axes(node):
    """Whether a node has its argument's axes joined, or the first elements along each."""
    if node.op.name == "getitem":
        return isinstance(node.args[1], tuple) and all([isinstance(part, slice) for part in node.args[1]])
    return node.op.name == "reshape"


def steps_together(terms, _):
    """Arrays that are scattered in the same steps are added up before their axes are joined."""
    # Only what becomes the whole by the same changes of axes can be added up before them.
    groups, found = {}, []
    for term in terms:
        inner, changes = scattered_in_steps(term)
        if inner is None:
            found.append(term)
        else:
            groups.setdefault((inner.shape, changes), []).append((term, inner))
    for members in groups.values():
        (first, total), *rest = members
        for _, inner in rest:
            total = called("add", total, inner)
        found.append(first if not rest else _instead(first, members[0][1], total))
    return found


def _instead(node, inner, other):
    """A node with `other` in place of what is at the bottom of it."""
    if node is inner:
        return other
    return renewed(node, (_instead(node.args[0], inner, other), *node.args[1:]))


def beside_each_other(terms, shape):
    """Arrays that fill the whole together are put beside each other."""
    added = _pieces_of(terms)
    found = _filled([piece for _, piece in added], shape) if len(added) > 1 else None
    if found is None:
        return terms
    name, parts, axis = found
    return [*_others(terms, added), called(name, tuple(parts), axis=axis)]


def lines_together(terms, shape):
    """Many lines are stacked, and added at their positions."""
    groups = {}
    for term, piece in _pieces_of(terms):
        groups.setdefault(_line(piece, shape), []).append((term, piece))
    groups = {line: members for line, members in groups.items() if line is not None and len(members) > cost.CHOICES}
    parts = [_stacked(line, [piece for _, piece in members], shape) for line, members in groups.items()]
    return [*_others(terms, [member for members in groups.values() for member in members]), *parts] if parts else terms


def _pieces_of(terms):
    """(term, its piece) of the terms that are arrays added to zeros; one may be there twice."""
    found = [(term, PIECES["scatter_add"](term)) for term in terms if is_scattered(term)]
    return [(term, pieces[0][0]) for term, pieces in found if pieces is not None]


def _others(terms, joined):
    """The terms that are not among those that were `joined`."""
    gone = {term for term, _ in joined}
    return [term for term in terms if term not in gone]


def _filled(pieces, shape):
    """("concatenate" or "stack", arrays in order, axis) for the sum of `pieces`, each of them in zeros of `shape`; None where they
    do not fill it, side by side along one axis.
    """
    moved = {(i, axis[0]) for piece in pieces for i, axis in enumerate(piece.axes) if axis is not None}
    # Backwards, or along an axis that the whole has not: no row of parts.
    if any([axis is None or axis[2] != 1 for piece in pieces for axis in piece.axes]):
        return None
    if all([piece.fixed for piece in pieces]):
        return _stack_of(pieces, moved, shape)
    return None if any([piece.fixed for piece in pieces]) else _row_of(pieces, shape)


def _stack_of(pieces, moved, shape):
    """As `_filled`, for arrays without the axis along which they stand."""
    axes = {axis for piece in pieces for axis, _ in piece.fixed}
    axis = min(axes)
    others = [i for i in range(len(shape)) if i != axis]
    pieces = sorted(pieces, key=lambda piece: piece.fixed)
    is_full = len(axes) == 1 and [piece.fixed[0][1] for piece in pieces] == list(range(shape[axis]))
    whole = tuple([shape[i] for i in others])
    is_plain = moved == set(enumerate(others)) and all([len(p.fixed) == 1 and p.source.shape == whole for p in pieces])
    return ("stack", [piece.source for piece in pieces], axis) if is_full and is_plain else None


def _row_of(pieces, shape):
    """As `_filled`, for arrays with the axis along which they stand."""
    cut = {axis for piece in pieces for axis, n in enumerate(shape) if piece.source.shape[axis] != n}
    if len(cut) != 1 or any([axis[0] != i for piece in pieces for i, axis in enumerate(piece.axes)]):
        return None
    (axis,), at = cut, 0
    pieces = sorted(pieces, key=lambda piece: piece.axes[axis][1])
    for piece in pieces:
        if piece.axes[axis][1] != at:
            return None
        at += piece.source.shape[axis]
    return ("concatenate", [piece.source for piece in pieces], axis) if at == shape[axis] else None


def _line(piece, shape):
    """The axes along which a line, or a single number, has a position, where it is whole along all others; None of other pieces."""
    fixed = tuple([axis for axis, _ in piece.fixed])
    others = [i for i in range(len(shape)) if i not in fixed]
    is_whole = all([a is None or a[1:] == (0, 1) for a in piece.axes])
    is_plain = is_whole and piece.source.shape == tuple([shape[i] for i in others])
    is_placed = len(fixed) == 1 or fixed == tuple(range(len(fixed)))
    return fixed if fixed and is_plain and is_placed else None


def _stacked(line, pieces, shape):
    """The sum of lines scattered into zeros of `shape`."""
    first, last = line[0], line[-1] + 1
    sizes = shape[first:last]
    positions = [int(np.ravel_multi_index([at for _, at in piece.fixed], sizes)) for piece in pieces]
    # Each line once: no additions, no zeros, the lines are only put in order.
    if sorted(positions) == list(range(prod(sizes))):
        sources = [piece.source for _, piece in sorted(zip(positions, pieces, strict=True), key=lambda pair: pair[0])]
        return called("reshape", called("stack", tuple(sources), axis=first), shape)
    lines = called("stack", tuple([piece.source for piece in pieces]), axis=first)
    flat = (*shape[:first], prod(sizes), *shape[last:])
    index = (*[slice(None)] * first, np.array(positions, np.int64))
    return called("reshape", called("scatter_add", lines, flat, index), shape)


SUMS = (
    SumRule("steps together", steps_together, "one array has its axes joined, not each: the derivative of slices in steps"),
    SumRule("beside each other", beside_each_other, "no zeros and no sum: the derivative of a loop over all parts of an array"),
    SumRule("lines together", lines_together, "each line is added once, not to the whole: the derivative of a loop over rows"),
)
