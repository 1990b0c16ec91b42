"""Complex numbers in compiled code: two real numbers, each computed by itself.

An op on complex numbers becomes ops on their parts, which are fused like any others. Memory keeps the parts of a number side by
side, as NumPy does: what reads them there meets every other number, and what writes them writes pairs. An op without a rule is a
library call on complex numbers.
"""

import numpy as np

from ...core import registry
from ...core.dispatch import operands_of
from ...core.symbol import Symbol
from ...dtypes import is_complex, parts_dtype
from ...ops.elementary.comparisons import where
from ...ops.manipulation.movements import reshape
from ..graph.views import MOVEMENTS
from ..index.elements import IDENTITIES
from .complex_functions import FUNCTIONS, is_other, one_holds
from .complex_parts import Parts, is_zero, multiplied, plus

#: The ops that put complex numbers together and take them apart; code reads and writes parts where they are in memory.
COMPLEX, REAL, IMAG = (registry.get(name) for name in ("complex", "real", "imag"))
#: Ops that do the same to both parts, whatever else they are told.
_BY_PARTS = frozenset([*MOVEMENTS, *IDENTITIES, "concatenate", "stack", "scatter_add", "add_along_axis", "take", "take_along_axis",
                       "sum", "negative", "after"])


def involves_complex(node):
    """Whether a node makes complex numbers of its arguments, or something of complex numbers."""
    if node.dtype.kind == "c" or any([a.dtype.kind == "c" for a in node.inputs]):
        return True
    return node.op.broadcasts and any([is_complex(a) for a in node.args if a.__class__ is complex or a.__class__ is np.ndarray])


def is_shown_as_it_is(node, args):
    """Whether a node shows complex numbers that are in memory in another shape."""
    return node.op is not None and node.op.name == "reshape" and isinstance(args[0], Symbol) and (
        args[0].dtype.kind == "c" and args[0].op is not COMPLEX)


def in_parts(node, args, parts_of):
    """What a node is, by ops on parts: `Parts` of a complex one, else a value; NotImplemented where it is a library call.

    parts_of  gives the parts of an argument
    """
    name = node.op.name
    if name in _BY_PARTS:
        return _by_parts(node, args, parts_of)
    rule = FUNCTIONS.get(name)
    if rule is not None:
        return rule(*[_widened(parts_of(a), node.dtype) for a in args])
    special = _SPECIAL.get(name)
    return NotImplemented if special is None else special(node, args, parts_of)


def _widened(parts, dtype):
    """Parts in the precision of a result of this dtype, which numbers do not have by themselves."""
    if dtype.kind != "c":
        return parts
    wide = parts_dtype(dtype)
    return Parts(*[part if part.__class__ in (int, float) or part.dtype == wide else part.astype(wide) for part in parts])


def _by_parts(node, args, parts_of):
    """The op on each part. Real operands beside complex ones have no imaginary part."""
    op = node.op
    if node.dtype.kind != "c":  # of what is complex here no part is part of the result: positions, or what is waited for
        return NotImplemented
    # A dtype of complex numbers says nothing of their parts.
    if "dtype" in op.arguments:
        place = op.arguments.index("dtype")
        args = (*args[:place], None, *args[place + 1 :])
    # Where all imaginary parts are known to be zero they stay the number 0, which costs nothing further on.
    is_real = all([is_zero(parts_of(a).imag) for a in operands_of(op, args)])
    found = []
    for number in (0,) if is_real else (0, 1):
        changed = [_part(a, number, parts_of) if is_complex(a) else a for a in args]
        if op.is_variadic:
            changed[0] = type(args[0])([_part(a, number, parts_of) for a in args[0]])
        found.append(op.call(*changed))
    return Parts(*found, *[0] * is_real)


def _part(argument, number, parts_of):
    """One part of an operand, in its shape also where all elements are one number."""
    part = parts_of(argument)[number]
    if part.__class__ in (int, float):
        return np.broadcast_to(np.asarray(part, parts_dtype(argument.dtype)), argument.shape)
    return part


def _where(node, args, parts_of):
    """A choice between parts."""
    condition, x, y = args
    if is_complex(condition):
        return NotImplemented
    x, y = _widened(parts_of(x), node.dtype), _widened(parts_of(y), node.dtype)
    is_real = is_zero(x.imag) and is_zero(y.imag)
    return Parts(where(condition, x.real, y.real), 0 if is_real else where(condition, x.imag, y.imag))


def _astype(node, args, parts_of):
    x = parts_of(args[0])
    if node.dtype.kind == "c":
        return x
    return one_holds(is_other, x) if node.dtype.kind == "b" else x.real


def _pad(node, args, parts_of):
    x, widths, value = args
    if not isinstance(value, (int, float, complex)):
        return NotImplemented
    pad, fill = node.op.call, complex(value)
    is_real = is_zero(parts_of(x).imag) and not fill.imag
    imag = 0 if is_real else pad(_part(x, 1, parts_of), widths, fill.imag)
    return Parts(pad(_part(x, 0, parts_of), widths, fill.real), imag)


def _convolution(node, args, parts_of):
    """The images without the bias, and this added to them."""
    x, weight, bias, *rest = args
    found = _product(node, (x, weight, None, *rest), parts_of)
    if bias is None:
        return found
    return Parts(*[plus(a, b if is_zero(b) else reshape(b, (-1, 1, 1))) for a, b in zip(found, parts_of(bias), strict=True)])


def _product(node, args, parts_of):
    """Sums of products, as four of real numbers: three would lose the digits of a small part beside a large one."""
    x, y, *rest = args
    x, y = [_widened(_factor(a, parts_of), node.dtype) for a in (x, y)]
    return multiplied(x, y, lambda a, b: 0 if is_zero(a) or is_zero(b) else node.op.call(a, b, *rest))


def _factor(argument, parts_of):
    """The parts of one operand of products, as arrays but for a part that is zero. Zeros alone are a real factor like any other."""
    are_zero = [is_zero(part) for part in parts_of(argument)]
    are_zero[0] = are_zero[0] and not are_zero[1]
    return Parts(*[0 if is_none else _part(argument, number, parts_of) for number, is_none in enumerate(are_zero)])


_SPECIAL = {"where": _where, "astype": _astype, "pad": _pad, "conv2d": _convolution, "matmul": _product, "conv2d_input": _product,
            "conv2d_weight": _product}
