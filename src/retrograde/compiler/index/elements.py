"""What loops compute for one element: which ops there is code for, what they cost, and how reductions combine numbers."""

import numpy as np

from ...core.symbol import Symbol
from ...dtypes import name_of
from .emitted import ELEMENTS, EMITTED, IN_MEMORY, OF_FLOATS

#: How each reduction combines two numbers, by the name of the builder's operation, and where it starts.
REDUCTIONS = {"sum": ("add", 0), "prod": ("multiply", 1), "max": ("maximum", -np.inf), "min": ("minimum", np.inf),
              "any": ("bitwise_or", False), "all": ("bitwise_and", True)}
#: Ops that take the processor about as long as reading a number.
CHEAP_OPS = frozenset(["add", "subtract", "multiply", "negative", "astype", "rounded", "maximum", "minimum", "where", "less",
                       "less_equal", "greater", "greater_equal", "equal", "not_equal", "relu", "abs", "square", "positive",
                       "after"])
#: Ops whose values are found together for little more than one of them takes, by the function that finds both.
PAIRS = {"sincos": ("sin", "cos"), "gelu_and_slope": ("gelu_erf", "gelu_erf_slope"),
         "gelu_tanh_and_slope": ("gelu_tanh", "gelu_tanh_slope"), "silu_and_slope": ("silu", "silu_slope")}
#: For each of these ops (the function, which of the two it is, the other one).
PARTNERS = {name: (both, i, names[1 - i]) for both, names in PAIRS.items() for i, name in enumerate(names)}
#: Ops that bring numbers to another type.
CONVERSIONS = frozenset(["astype", "rounded"])
#: Ops that only hand their argument on.
IDENTITIES = frozenset(["positive", "contiguous", "contiguous_backward", "copy_to_device"])
#: The op that hands its first argument on once the second is there.
AFTER = "after"
#: Ops that hand their argument on and stop the program where it is not what it must be.
CHECKS = frozenset(["checked_positions"])


def is_emittable(op):
    """Whether the code generator knows the op: by its own `emit`, or by the operation of the same name."""
    return op.emit is not None or op.name in EMITTED


def is_elementwise(node):
    """Whether a loop can compute the node, if it `has_elements`."""
    op = node.op
    if op.name in CONVERSIONS or op.name in IDENTITIES:
        return True
    return op.broadcasts and is_emittable(op) and (op.name not in OF_FLOATS or node.dtype.kind == "f")


def operation_key(op):
    """What the code of an op on one element depends on: its name, and for ops of users their `emit` itself."""
    code = getattr(op.emit, "__code__", None)
    if code is None or op.emit.__module__.startswith("retrograde."):
        return op.name
    return op.name, code.co_code.hex(), repr(code.co_consts), code.co_names


def has_elements(node):
    """Whether kernels can compute in all dtypes that a node meets."""
    return _has_dtypes(node, ELEMENTS)


def is_in_memory(node):
    """Whether kernels can read and write all dtypes that a node meets, which is enough for what moves numbers or converts them."""
    return _has_dtypes(node, IN_MEMORY)


def _has_dtypes(node, names):
    return name_of(node.dtype) in names and all([_has_dtype(a, node.dtype, names) for a in node.args])


def _has_dtype(argument, known, names):
    """Whether the dtype of an argument, which is often that of its node, `known`, is among `names`."""
    if argument.__class__ in (tuple, list):
        return all([_has_dtype(a, known, names) for a in argument])
    if not hasattr(argument, "dtype") or isinstance(argument, type):
        return argument.__class__ is not complex
    return argument.dtype is known or name_of(argument.dtype) in names


def has_float_operands(operands):
    """Whether arrays have one dtype, float32 or float64, which is what the kernels of whole matrices and images compute in."""
    dtype = operands[0].dtype
    return name_of(dtype) in ("float32", "float64") and all([x.dtype == dtype for x in operands[1:]])


def start_of(name, dtype):
    """Where a reduction over numbers of `dtype` starts, as a number of Python's."""
    start = REDUCTIONS[name][1]
    if np.dtype(dtype).kind == "f":
        return float(start)
    limits = np.iinfo(dtype) if np.isinf(start) else None
    return int(start) if limits is None else limits.max if start > 0 else limits.min


def is_checked(node):
    """Whether a node is positions that are in range, or else its own step has failed."""
    return isinstance(node, Symbol) and node.op is not None and node.op.name in CHECKS


def only_part(index):
    """What an index is made of, if it is of one part."""
    while isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    return index


def positions_of(index):
    """The positions of an index that is one array of integers, which there is code for; None of others."""
    index = only_part(index)
    is_array = isinstance(index, (Symbol, np.ndarray)) and index.ndim and name_of(index.dtype) in ("int32", "int64")
    return index if is_array else None


def are_within(positions, size):
    """Whether positions are constants that count from the front and lie in an axis of so many elements."""
    if not isinstance(positions, np.ndarray):
        return False
    return not positions.size or (positions.min() >= 0 and positions.max() < size)
