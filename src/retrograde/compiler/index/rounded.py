"""Rounded: which values keep the rounding of their own, since something that selects by value may see them.

A product that nothing but a sum needs is otherwise fused with it, and each kernel knows of its own readers only. So a value that
two kernels compute may differ by a rounding, and one that is stored may differ from what another kernel goes on with. Where values
are compared, that is the difference between a maximum that is found and one that is not. The same holds for results of half
precision, which are computed in float32 and rounded where they are stored.
"""

from ...dtypes import is_float

#: Ops that choose by the values of their operands, or whose values jump: on which side of another number they are decides.
_SELECTING = frozenset([
    "abs", "ceil", "clip", "copysign", "elu", "floor", "floor_divide", "leaky_relu", "max", "max_pool2d_with_taps", "maximum",
    "min", "minimum", "nextafter", "relu", "remainder", "round", "segment_max", "segment_min", "sign", "sort", "trunc"])
#: Families of which all ops do so.
_SELECTING_FAMILIES = frozenset(["comparison", "search"])
#: The ops that a sum may be fused with.
PRODUCTS = frozenset(["multiply", "square"])
#: What the results of ops of half precision are.
_ROUNDED = "rounded"


def rounded_values(nodes, facts):
    """The products and the results of half precision among `nodes`, which are in order, that may be computed on the way to what
    selects by value.

    What is found in memory only has one value for all who read it; so the way ends there.
    """
    found, needed = set(), set()
    for node in reversed(nodes):
        if node.op is None:
            continue
        if node in needed:
            if facts.kind(node).is_apart:
                if not is_selecting(node):
                    continue
            elif node.op.name == _ROUNDED or (node.op.name in PRODUCTS and node.dtype.kind == "f"):
                found.add(node)
        elif not is_selecting(node):
            continue
        needed.update(node.inputs)
    return found


def is_selecting(node):
    """Whether a node chooses by the values of its operands. What the ops of others do is not known, so it is said to."""
    op = node.op
    if op.name == "astype":
        return not is_float(node.dtype)
    return op.name in _SELECTING or op.family in _SELECTING_FAMILIES or getattr(op, "is_foreign", False)
