"""Rule, one derivative rule and how its arguments are gathered when an op is recorded."""

from ..errors import ArgumentError

RESULT, _SHAPE = -1, -2


class Rule:
    """A function from a cotangent and what it names to the cotangent of an input.

    `sources` says for each argument after the leading ones where it comes from: the position of an argument of the op,
    or `RESULT`, or the position of an argument whose shape is meant. `pack(arrays, result)` gathers them.
    """

    __slots__ = ("function", "pack", "sources")

    def __init__(self, op, function, leading):
        code = function.__code__
        names = code.co_varnames[leading : code.co_argcount]
        self.function = function
        self.sources = tuple(_source(op, name) for name in names)
        self.pack = _PACKS.get(self.sources) or self._pack

    def _pack(self, arrays, result):
        return tuple([_pick(source, arrays, result) for source in self.sources])

    def revive(self, saved, argument, result):
        """`saved` with operands and result as values of the graph, so that the rule's own ops are recorded."""
        return tuple([
            x if kind == _SHAPE else result(x) if kind == RESULT else argument(x, kind)
            for x, (kind, _) in zip(saved, self.sources, strict=True)
        ])


_X, _Y, _Z = (0, None), (1, None), (RESULT, None)
# The commonest rules, spelled out: packing is on the path of every recorded op.
_PACKS = {
    (_X,): lambda arrays, z: (arrays[0],),
    (_Y,): lambda arrays, z: (arrays[1],),
    (_Z,): lambda arrays, z: (z,),
    (_X, _Y): lambda arrays, z: (arrays[0], arrays[1]),
}


def _source(op, name):
    if name == "z":
        return RESULT, None
    if name in op.arguments:
        return op.arguments.index(name), None
    stem = name.removesuffix("_shape")
    if stem != name and stem in op.arguments:
        return _SHAPE, op.arguments.index(stem)
    known = ", ".join(["z", *op.arguments, *(f"{a}_shape" for a in op.arguments)])
    raise ArgumentError(f"a rule of {op.name} reads {name!r}, which must be one of {known}")


def _pick(source, arrays, result):
    kind, i = source
    if kind == RESULT:
        return result
    if kind != _SHAPE:
        return arrays[kind]
    operand = arrays[i]
    return [shape_of(x) for x in operand] if isinstance(operand, (tuple, list)) else shape_of(operand)


def shape_of(x):
    """The shape of an array or a traced value; () of a Python number."""
    return getattr(x, "shape", ())
