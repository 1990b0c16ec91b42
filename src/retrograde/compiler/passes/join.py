"""Join: a sum of arrays that are each scattered into zeros becomes one array of them, written once.

Takes  a graph of primitive nodes.
Gives  a graph of the same values in which such sums are made at once: arrays that fill the whole together are put beside each
       other, many lines are stacked and added at their positions.
Keeps  everything else as it is, node by node.

The derivative of a loop over the parts of an array, its rows or its numbers, is such a sum, with a term for each part.
"""

from math import prod

import numpy as np

from ...core.symbol import Outputs, Symbol, renewed, replaced
from ..infer import called
from ..pieces import PIECES, tiled

#: Fewer lines are added up where the sum is needed: each is a comparison and a choice for each number.
_LEAST_LINES = 9


def joined(outputs):
    """The graph of `outputs` with sums of arrays in zeros made at once."""
    nodes = outputs.nodes
    if not any([_is_scattered(node) for node in nodes]):
        return outputs
    made, inner = {}, _inner_sums(nodes, outputs)
    for node in nodes:
        if node not in inner:
            found = _sum_made(node, inner, made) if _is_sum(node) else None
            made[node] = renewed(node, replaced(node.args, made.__getitem__)) if found is None else found
    return Outputs([made[o] if isinstance(o, Symbol) else o for o in outputs])


def _is_scattered(node):
    return isinstance(node, Symbol) and node.op is not None and node.op.name == "scatter_add"


def _scattered_in_steps(node):
    """(array in zeros of more axes, how these become others) of a node that is scattered into zeros at every so many places;
    see `scatter_steps`.
    """
    changes = []
    while isinstance(node, Symbol) and node.op is not None and _joins_axes(node):
        changes.append((node.op.name, repr(node.args[1:])))
        node = node.args[0]
    return (node, tuple(changes)) if changes and _is_scattered(node) else (None, ())


def _joins_axes(node):
    """Whether a node has its argument's axes joined, or the first elements along each."""
    if node.op.name == "getitem":
        return isinstance(node.args[1], tuple) and all([isinstance(part, slice) for part in node.args[1]])
    return node.op.name == "reshape"


def _is_sum(node):
    """Whether a node adds two nodes of its own shape and dtype."""
    return node.op is not None and node.op.name == "add" and all([
        isinstance(a, Symbol) and (a.shape, a.dtype) == (node.shape, node.dtype) for a in node.args])


def _inner_sums(nodes, outputs):
    """The sums that are nothing but a part of another one which has an array in zeros among its terms."""
    # What is given out counts as read twice: it must be there by itself, so it is no mere part of a larger sum.
    uses, scattered, inner = dict.fromkeys([o for o in outputs if isinstance(o, Symbol)], 2), set(), set()
    for node in nodes:
        for read in node.inputs:
            uses[read] = uses.get(read, 0) + 1
        if _is_sum(node) and any([_is_scattered(a) or _scattered_in_steps(a)[1] or a in scattered for a in node.args]):
            scattered.add(node)
    for node in reversed(nodes):
        if node in scattered:
            inner.update([a for a in node.args if a in scattered and uses[a] == 1])
    return inner


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
    terms = _with_steps_together(terms)
    found = [(term, PIECES["scatter_add"](term)) for term in terms if _is_scattered(term)]
    scattered = [(term, pieces[0][0]) for term, pieces in found if pieces is not None]
    parts, joined = _joined(scattered, node.shape) if len(scattered) > 1 else ([], set())
    # Nothing was joined: the node itself stays, so that whoever knows it finds it again.
    if not parts and node.inputs == terms:
        return None
    total, *rest = [*[term for term in terms if term not in joined], *parts]
    for term in rest:
        total = called("add", total, term)
    return total


def _with_steps_together(terms):
    """Terms in which arrays that are scattered in the same steps are added up before their axes are joined."""
    groups, found = {}, []
    for term in terms:
        inner, changes = _scattered_in_steps(term)
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


def _joined(scattered, shape):
    """Arrays whose sum some terms are, and these terms. `scattered` has (term, its piece) of those in zeros, one perhaps twice."""
    # Side by side without a gap: a concatenation, where no number is added to another.
    found = tiled([piece for _, piece in scattered], shape)
    if found is not None:
        name, parts, axis = found
        return [called(name, tuple(parts), axis=axis)], {term for term, _ in scattered}
    groups = {}
    for term, piece in scattered:
        groups.setdefault(_line(piece, shape), []).append((term, piece))
    groups = {line: members for line, members in groups.items() if line is not None and len(members) >= _LEAST_LINES}
    parts = [_stacked(line, [piece for _, piece in members], shape) for line, members in groups.items()]
    return parts, {term for members in groups.values() for term, _ in members}


def _line(piece, shape):
    """The axes along which a line, or a single number, has its place, where it is whole along all others; None of another piece."""
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
    places = [int(np.ravel_multi_index([at for _, at in piece.fixed], sizes)) for piece in pieces]
    # Each line once: no additions, no zeros, the lines are only put in order.
    if sorted(places) == list(range(prod(sizes))):
        sources = [piece.source for _, piece in sorted(zip(places, pieces, strict=True), key=lambda pair: pair[0])]
        return called("reshape", called("stack", tuple(sources), axis=first), shape)
    lines = called("stack", tuple([piece.source for piece in pieces]), axis=first)
    flat = (*shape[:first], prod(sizes), *shape[last:])
    index = (*[slice(None)] * first, np.array(places, np.int64))
    return called("reshape", called("scatter_add", lines, flat, index), shape)
