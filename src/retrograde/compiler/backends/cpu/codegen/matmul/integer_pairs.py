"""Pairs of integers: products of integers of 16 bits, two numbers of k at a time, that are added up in 32 bits.

As for `pairs`, two neighbours along k are moved as one number of float32 would be, and so are the sums, whose bits are integers.
"""

from dataclasses import dataclass

from ..... import cost
from .. import emit, ir
from ..chunks import InChunks, part
from ..emit import BYTE, I32, I64
from ..entry import Entry
from ..vecmath.elements import type_of

_HALF = ir.IntType(16)
#: By lanes of 32 bits what multiplies two pairs and adds up their products, and what it needs.
_INSTRUCTIONS = {4: ("llvm.x86.sse2.pmadd.wd", "sse2"), 8: ("llvm.x86.avx2.pmadd.wd", "avx2"),
                 16: ("llvm.x86.avx512.pmaddw.d.512", "avx512bw")}
#: So many bytes are widened at once.
_AT_ONCE = 32


def products_added(b, x, y, z):
    """Sums with the products of pairs added to them: in each lane both of one pair."""
    count = z.type.count
    halves, whole = ir.VectorType(_HALF, 2 * count), ir.VectorType(I32, count)
    x, y = b.bitcast(x, halves), b.bitcast(y, halves)
    name, feature = _INSTRUCTIONS.get(count, ("", None))
    if b.module.target.has_instructions(feature):
        return added(b, b.bitcast(b.call_external(name, whole, [x, y]), z.type), z)
    for first in (0, 1):
        left, right = (b.sext(emit.shuffle(b, v, v, range(first, 2 * count, 2)), whole) for v in (x, y))
        z = added(b, b.bitcast(b.mul(left, right), z.type), z)
    return z


def added(b, x, y):
    """The sum of integers that are moved as floats."""
    whole = emit.like(x.type, I32)
    return b.bitcast(b.add(b.bitcast(x, whole), b.bitcast(y, whole)), x.type)


@dataclass(frozen=True)
class Widening(InChunks):
    """`units` integers of 8 bits become such of 16."""

    is_signed: bool
    units: int

    @property
    def key(self):
        """What the code depends on."""
        return "widening", self.is_signed

    @property
    def step(self):
        """How many a chunk has: whole vectors."""
        return -(-cost.LOOPS.share(self.units, self.units) // _AT_ONCE) * _AT_ONCE


def write_widening(module, name, plan):
    """Add the function of a plan to `module`; its slots are the source, the target, and the words."""
    entry = Entry(module, name)
    b = entry.builder
    source, target, (first, last) = entry.pointer(0), entry.pointer(1), part(entry, 2)
    whole = b.add(first, b.and_(b.sub(last, first), I64(-_AT_ONCE)))
    for start, stop, count in ((first, whole, _AT_ONCE), (whole, last, 1)):
        with emit.loop(b, start, stop, count) as place:
            found = emit.load(b, emit.address(b, source, place.index, BYTE), type_of("int8", count))
            wide = (b.sext if plan.is_signed else b.zext)(found, type_of("int16", count))
            emit.store(b, wide, emit.address(b, target, place.index, _HALF))
    b.ret_void()
