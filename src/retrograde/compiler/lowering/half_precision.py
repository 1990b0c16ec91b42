"""Half precision in compiled code: ops on float16 and bfloat16 are ops on float32, whose results are rounded.

Memory keeps numbers in their own type. What reads them there widens them, and what stores them rounds; a result that goes on to
another op in the same pass is rounded only where something may be compared or selected by it (see `index.rounded`). What moves
numbers moves them as they are. An op that is not in the lists is a library call on its own type.
"""

import numpy as np

from ...core import registry
from ...core.symbol import Symbol
from ...dtypes import bfloat16, common_dtype, float16, float32
from ..graph.constants import first, is_uniform
from ..graph.infer import infer
from ..index.elements import AFTER, CHECKS, IDENTITIES, is_emittable

ASTYPE, ROUNDED = registry.get("astype"), registry.get("rounded")
NARROW = (float16, bfloat16)
#: Ops beside elementwise ones that are computed in float32.
_WIDE = frozenset([
    "sum", "prod", "max", "min", "any", "all", "cumsum", "cumprod", "cumsum_from_end", "linear_recurrence", "matmul", "conv2d",
    "conv2d_input", "conv2d_weight", "attention_with_sums", "attention_backward", "scatter_add", "add_along_axis", "avg_pool2d",
    "avg_pool2d_input", "max_pool2d_with_taps", "max_pool2d_input", "max_pool2d_output", "segment_max", "segment_min",
    "segment_prod", "sort", "argsort", "top_indices", "rank_indices", "running_indices", "between_ranks"])
#: Elementwise ops that are not: they hand numbers on, or depend on what is beside a number in its type.
_AS_IT_IS = frozenset([AFTER, "nextafter", "complex", *CHECKS, *IDENTITIES])


def is_narrow(argument):
    """Whether an argument is an array of half precision."""
    return getattr(argument, "dtype", None) in NARROW and hasattr(argument, "shape")


def is_computed_wide(node, args):
    """Whether a node, whose op has these arguments, is computed in float32 in the place of half precision."""
    op = node.op
    if op.name not in _WIDE and (not op.broadcasts or op.name in _AS_IT_IS or op.is_foreign or not is_emittable(op)):
        return False
    return node.dtype in NARROW or any([is_narrow(a) for a in _flat(args)])


def in_float32(node, args, node_of):
    """The arguments with which the op of a node computes in float32 what it is in half precision, and the dtype of its result; None
    where it would give something else.

    node_of  gives the node of an op on arguments, with a shape and a dtype
    """
    op = node.op
    common = _common(node, args) if op.broadcasts else None

    def wide(argument):
        if argument.__class__ in (tuple, list):
            return argument.__class__([wide(a) for a in argument])
        if common is not None:
            argument = _met(argument, common, node_of)
        return _widened(argument, node_of) if is_narrow(argument) else argument

    args = tuple(map(wide, args))
    if "dtype" in op.arguments:
        place = op.arguments.index("dtype")
        told = args[place]
        if told is not None and np.dtype(told) in NARROW:
            args = (*args[:place], float32, *args[place + 1 :])
    if node.shape is None:
        return args, None
    dtype = float32 if node.dtype in NARROW else node.dtype
    return (args, dtype) if infer(op, args) == (node.shape, dtype) else None


def is_widened(node, dtype):
    """Whether a node in float32 is nothing but numbers of `dtype`, such as what is left of a product with one: rounded to it, they
    are what they were.
    """
    return isinstance(node, Symbol) and node.op is ASTYPE and is_narrow(node.args[0]) and node.args[0].dtype == dtype


def _common(node, args):
    """The type of half precision that all operands of an elementwise op meet in; None if it is another one."""
    if node.dtype in NARROW:
        return node.dtype
    known = [a.dtype for a in args if hasattr(a, "shape") and a.dtype.kind != "b"]
    found = common_dtype(known) if known else None
    return found if found in NARROW else None


def _met(argument, common, node_of):
    """An operand that meets others of type `common` as what it is there: arrays of whole numbers are rounded to it."""
    if argument.__class__ in (int, float):
        # A number of Python's takes NumPy's own type, and meets bfloat16, which is none of them, as it is.
        if common == bfloat16:
            return argument
        with np.errstate(over="ignore"):
            return float(np.asarray(argument).astype(common))
    if not hasattr(argument, "shape") or argument.dtype.kind not in "iu":
        return argument
    if isinstance(argument, Symbol):
        return node_of(ASTYPE, (argument, common, True, None), argument.shape, common)
    return _array(argument, common)


def _widened(argument, node_of):
    """Numbers of half precision as float32."""
    if not isinstance(argument, Symbol):
        return _array(argument, float32)
    return node_of(ASTYPE, (argument, float32, True, None), argument.shape, float32)


def _array(array, dtype):
    """A constant in another type; many equal elements stay one."""
    return np.broadcast_to(first(array).astype(dtype), array.shape) if is_uniform(array) else array.astype(dtype)


def _flat(args):
    for a in args:
        if a.__class__ in (tuple, list):
            yield from _flat(a)
        else:
            yield a
