"""Rule, one derivative rule and how its arguments are gathered when an op is recorded."""

from functools import cache, cached_property

from ..errors import ArgumentError

RESULT, _SHAPE = -1, -2


class Rule:
    """A function from a cotangent and what it names to the cotangent of an input.

    `sources` says for each argument after the leading ones where it comes from: the position of an argument of the op,
    or `RESULT`, or the position of an argument whose shape is meant. `pack(arrays, result)` gathers them.
    """

    def __init__(self, op, function, leading):
        code = function.__code__
        names = code.co_varnames[leading : code.co_argcount]
        self.function = function
        self.sources = tuple([_source(op, name) for name in names])

    @cached_property
    def pack(self):
        """What gathers the sources."""
        return packer(self.sources)


@cache
def packer(sources):
    """A function of the arguments of an op and its result that gathers `sources` of them.

    Written as source once for all rules that read the same: gathering is on the path of every recorded op.
    """
    return eval(f"lambda x, z: {_gathering(sources)}", {"shapes_of": shapes_of})  # noqa: S307 - our own text


@cache
def pair_packer(first, second):
    """As `packer` for both rules of an op of two operands at once: a function of these, of its result and of the operands' records.
    It gives () for an operand without a record.
    """
    both = f"() if p is None else {_gathering(first)}, () if q is None else {_gathering(second)}"
    # By name, so that no tuple of the two is made at each call.
    text = both.replace("x[0]", "a").replace("x[1]", "b")
    return eval(f"lambda a, b, z, p, q: ({text})", {"shapes_of": shapes_of})  # noqa: S307 - our own text


def _gathering(sources):
    """The source of a tuple of what a rule reads, of arguments `x` and result `z`."""
    texts = ["z" if kind == RESULT else f"shapes_of(x[{i}])" if kind == _SHAPE else f"x[{kind}]" for kind, i in sources]
    return f"({''.join(text + ', ' for text in texts)})"


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


def shapes_of(operand):
    """The shape of an operand, or those of a sequence of them."""
    return [shape_of(x) for x in operand] if operand.__class__ in (tuple, list) else shape_of(operand)


def shape_of(x):
    """The shape of an array or a traced value; () of a Python number."""
    return getattr(x, "shape", ())
