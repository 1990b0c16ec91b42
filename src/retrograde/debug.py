"""Looking at graphs: `rg.debug.show(value)`."""

import inspect
from typing import Any

from . import tree
from .core.graph import ancestors
from .core.rule import RESULT
from .core.symbol import Symbol, ordered
from .core.value import Projection, Value
from .tensor.elsewhere import absent_from
from .tensor.lazy import Lazy

#: Of graphs with more nodes than this the middle is left out.
_MOST = 60
_WIDEST = 48


__getattr__ = absent_from(__name__)


class Text(str):
    """Text that a prompt shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def show(*values, limit=_MOST):
    """The graph behind `values`, tensors or trees of them, as text: one line a node, inputs before what uses them.

    A value that is lazy, or traced by jit, shows what is to be computed, without computing it; any other tensor shows what
    `backward` will walk through. Each node stands there once, under its number. A question mark stands for what is not known
    any more, since no derivative reads it. The middle of a graph with more than `limit` nodes is left out.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> rg.debug.show((rg.sin(x) * x).sum())
    recorded, 4 nodes
    %0 = leaf                float32[2]
    %1 = sin(%0)             float32[2]
    %2 = multiply(%1, %0)    float32[2]
    %3 = sum(%2)             float32[]
    """
    found = [value for value in tree.leaves(values) if isinstance(value, Value)]
    waiting = [symbol for value in found if (symbol := _symbol(value)) is not None]
    there = [value for value in found if _symbol(value) is None]
    pages = []
    if waiting:
        what = "lazy" if any([value.__class__ is Lazy for value in found]) else "traced"
        pages += _page(what, _of_symbols(waiting), limit)
    if there:
        pages += _page("recorded", _of_records(there), limit)
    return Text("\n".join(pages) or "no tensors")


def _symbol(value):
    """The node of a value that has no numbers yet; None for any other. Computes nothing."""
    if value.__class__ is Lazy:
        return value.holder.symbol
    return value.raw if isinstance(value.raw, Symbol) else None


def _page(what, lines, limit):
    """The lines of one graph, each (text, spec), with numbers, without the middle if there are too many."""
    width = min(max([len(text) for text, _ in lines], default=0), _WIDEST)
    digits = len(str(len(lines) - 1))
    full = [f"%{i:<{digits}} = {text:<{width}}  {'  ' if spec else ''}{spec}".rstrip() for i, (text, spec) in enumerate(lines)]
    if len(full) > limit:
        first = -(-limit // 2)
        full[first : len(full) - limit // 2] = [f"... {len(full) - limit} nodes ..."]
    return [f"{what}, {len(lines)} node{'s' if len(lines) != 1 else ''}", *full]


def _of_symbols(symbols):
    nodes = ordered(symbols)
    numbers = {node: i for i, node in enumerate(nodes)}
    return [(_called(node, numbers), _spec(node)) for node in nodes]


def _called(node, numbers):
    """A node as a call of its op, without the parameters that have their defaults."""
    if node.op is None:
        return "input"
    if not hasattr(node.op, "kernel"):
        return f"{node.op.name}({_told(node.args[0], numbers)}, {node.args[1]})"
    words = []
    for argument, parameter in zip(node.args, inspect.signature(node.op.kernel).parameters.values(), strict=True):
        is_named = parameter.kind is not parameter.POSITIONAL_ONLY
        if not is_named or isinstance(argument, Symbol) or not _is_default(argument, parameter.default):
            words.append(f"{parameter.name}={_told(argument, numbers)}" if is_named else _told(argument, numbers))
    return f"{node.op.name}({', '.join(words)})"


def _is_default(argument, default):
    return argument is default or (argument.__class__ is default.__class__ and repr(argument) == repr(default))


def _told(argument, numbers):
    if isinstance(argument, Symbol):
        return f"%{numbers[argument]}"
    if argument.__class__ in (tuple, list):
        inside = ", ".join([_told(a, numbers) for a in argument])
        return f"[{inside}]" if argument.__class__ is list else f"({inside}{',' if len(argument) == 1 else ''})"
    if getattr(argument, "shape", None):
        return _spec(argument)
    text = str(argument) if hasattr(argument, "dtype") else repr(argument)
    return text if len(text) <= 40 else text[:37] + "..."


def _spec(x):
    return "" if x.shape is None else f"{x.dtype}{list(x.shape)}"


def _of_records(values):
    constants = [value for value in values if value.record is None]
    records = ancestors([value.record for value in values if value.record is not None])
    numbers = {record: i for i, record in enumerate(records)}
    known = _known(records, values)
    lines = []
    for record in records:
        shape, dtype = known.get(record, (None, None))
        spec = f"{'?' if dtype is None else dtype}{'[?]' if shape is None else list(shape)}"
        lines.append((_recorded(record, numbers), spec))
    return lines + [("constant", _spec(value.raw)) for value in constants]


def _recorded(record, numbers):
    if record.op is None:
        return "leaf"
    if record.__class__ is Projection:
        return f"pick(%{numbers[record.parents[0]]}, {record.saved[0][0]})"
    return f"{record.name}({', '.join(['_' if p is None else f'%{numbers[p]}' for p in record.parents])})"


def _known(records, values):
    """(shape, dtype) of what records made, each None where it is not known: records keep only what rules read."""
    known = {value.record: (value.raw.shape, value.raw.dtype) for value in values if value.record is not None}
    for record in reversed(records):
        if record.op is None:
            target = record.target()
            if target is not None:
                known[record] = target.shape, target.dtype
        elif record.__class__ is not Projection:
            shapes = _kept_shapes(record)
            if record not in known and "z" in shapes:
                known[record] = shapes["z"]
            for i, parent in enumerate(record.parents):
                if parent is not None and parent not in known:
                    known[parent] = _of_parent(record, i, shapes, known.get(record, (None, None)))
    return known


def _of_parent(record, i, shapes, own):
    """(shape, dtype) of input `i` of a record, from what the cotangent is brought to, or from what a rule reads."""
    if record.fits is not None and record.fits[i] is not None:
        return record.fits[i]
    if getattr(record.op, "broadcasts", False):
        return own
    shape, dtype = shapes.get(i, (None, None))
    return shape, own[1] if dtype is None else dtype


def _kept_shapes(record):
    """(shape, dtype) of inputs by their number, and of the result as "z", from what the rules of a record keep."""
    op, found = record.op, {}
    rules, saved = ([op.joint], [record.saved]) if op.rules is None else (op.rules, record.saved or ())
    for rule, group in zip(rules, saved, strict=False):
        sources: Any = getattr(rule, "sources", ())
        for (kind, i), kept in zip(sources, group or (), strict=False):
            position = kind if kind >= 0 else i
            if kind == RESULT:
                found["z"] = _shape_of(kept)
            elif op.is_variadic and position == 0:
                found.update({number: _shape_of(x) for number, x in enumerate(kept)})
            elif position in op.operands:
                found.setdefault(op.operands.index(position), _shape_of(kept))
    return found


def _shape_of(kept):
    """(shape, dtype) of an array, or of what a rule keeps of one, its shape."""
    if isinstance(kept, tuple):
        return kept, None
    return (kept.shape, kept.dtype) if hasattr(kept, "dtype") else (None, None)
