"""Activations as integers of 8 bits, 32 of which share a scale: see `ops.networks._rounding`, whose numbers these are.

A row is its codes, and beside them, for each 32, two numbers of float32: the scale, and the scale times the sum of the codes.
"""

from ......ops.networks._rounding import BLOCK, LEAST, STEP
from .. import emit, ir
from ..chunks import part
from ..emit import BYTE, I32, I64
from ..entry import Entry
from ..vecmath.elements import constant

#: Added to a number of less than 2²², this makes its last bits the nearest integer, the even one of two.
_ROUNDING, _ROUNDING_BITS = 1.5 * 2.0**23, 0x4B400000
_FLOAT = ir.FloatType()


def write_activations(module, name, _plan):
    """Add the function, the same for all plans, to `module`; its slots are x, the codes, the scales, and the words."""
    entry = Entry(module, name)
    b = entry.builder
    x, codes, scales = (entry.pointer(i) for i in range(3))
    with emit.loop(b, *part(entry, 3)) as place:
        start = b.mul(place.index, I64(BLOCK))
        found, scale, total_of_codes = _rounded(b, emit.load(b, emit.address(b, x, start, _FLOAT), ir.VectorType(_FLOAT, BLOCK)))
        b.store(found, emit.address(b, codes, start, BYTE), align=BLOCK)
        where = emit.address(b, scales, b.mul(place.index, I64(2)), _FLOAT)
        emit.store(b, scale, where)
        emit.store(b, b.fmul(scale, total_of_codes), emit.address(b, where, 1, _FLOAT))
    b.ret_void()


def _rounded(b, x):
    """(codes, scale, sum of codes) of 32 numbers."""
    integers = ir.VectorType(I32, BLOCK)
    # As integers: the bits of numbers without a sign are in the order of the numbers, with infinity and NaN above them.
    bits = b.and_(b.bitcast(x, integers), constant(0x7FFFFFFF, integers))
    largest = b.bitcast(b.call_external(f"llvm.vector.reduce.smax.v{BLOCK}i32", I32, [bits]), _FLOAT)
    scale = b.fmul(largest, constant(float(STEP), _FLOAT))
    scale = b.select(b.fcmp_ordered("<", scale, constant(float(LEAST), _FLOAT)), constant(float(LEAST), _FLOAT), scale)
    # Of an infinity this is NaN, as of NaN: whatever its codes are, so is what they make.
    is_fit = b.fcmp_ordered("<=", scale, constant(3.4028234663852886e38, _FLOAT))
    inverse = b.fdiv(constant(1, _FLOAT), scale)
    moved = b.fadd(b.fmul(x, emit.splat(b, inverse, BLOCK)), constant(_ROUNDING, x.type))
    codes = b.sub(b.bitcast(moved, integers), constant(_ROUNDING_BITS, integers))
    total = b.call_external(f"llvm.vector.reduce.add.v{BLOCK}i32", I32, [codes])
    scale = b.select(is_fit, scale, constant(float("nan"), _FLOAT))
    return b.trunc(codes, ir.VectorType(BYTE, BLOCK)), scale, b.sitofp(total, _FLOAT)
