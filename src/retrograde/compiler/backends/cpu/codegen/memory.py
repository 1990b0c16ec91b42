"""Memory: how a kernel builder reads and writes elements."""

from . import ir
from .vecmath.elements import BYTES, NARROW, constant, dtype_of, lanes_of, stored_type_of, suffix_of, vector_type
from .vecmath.half_precision import narrowed, widened

_INDEX = ir.IntType(64)


class Memory:
    """The part of the kernel builder that loads and stores; masks are kept in memory as bytes.

    `is_packed` says that lanes of bfloat16 stand in the order of packing (see `vecmath.half_precision`), `has_payloads` that NaN
    may have bits that bfloat16 has no room for.
    """

    is_packed, has_payloads = False, True

    def offset(self, pointer, index, dtype=None):
        """The address of element `index` (a value of dtype int64, or a Python number)."""
        index = index if isinstance(index, ir.Value) else ir.Constant(_INDEX, index)
        return self.ir.gep(pointer, [index], source_etype=stored_type_of(dtype or self.dtype))

    def load(self, pointer, dtype=None, lanes=None, align=None):
        """Consecutive elements from memory; aligned to one element unless `align` says more bytes."""
        dtype, lanes = dtype or self.dtype, lanes or self.lanes
        found = self.ir.load(pointer, typ=stored_type_of(dtype, lanes), align=align or BYTES[dtype])
        return self.from_stored(found, dtype)

    def store(self, x, pointer, align=None):
        """Write the lanes of `x` to consecutive elements; aligned to one element unless `align` says more bytes."""
        align = align or BYTES[dtype_of(x)]
        self.ir.store(self._as_stored(x), pointer, align=align)

    def coefficient(self, number, like):
        """A constant of a polynomial: an operand in memory where registers are few. LLVM on its own would load it into a register,
        and something else would have to leave.
        """
        target, kind, dtype = self.ir.module.target, like.type, dtype_of(like)
        if lanes_of(like) == 1 or not target.reads_operands:
            return constant(number, kind)
        name, lanes = f"retrograde.constant.{suffix_of(kind)}.{float(number).hex()}", min(kind.count, target.lanes(dtype))
        table = self.ir.module.globals.get(name)
        if table is None:
            # An array of vectors as they are in registers: one long vector would have to stand at a multiple of its length.
            one, count = constant(number, vector_type(kind.element, lanes)), kind.count // lanes
            repeats = ir.Written(ir.ArrayType(one.type, count), f"[{', '.join([str(one)] * count)}]")
            table = ir.Table(self.ir.module, name, repeats, is_hidden=True)
        return self.ir.load(table, typ=kind, align=lanes * BYTES[dtype])

    def load_masked(self, pointer, mask, dtype=None):
        """As `load`, for the lanes of the mask; the others are zero and their memory is not touched."""
        dtype = dtype or self.dtype
        vector = stored_type_of(dtype, lanes_of(mask))
        name, align = f"llvm.masked.load.{suffix_of(vector)}.p0", constant(BYTES[dtype], ir.IntType(32))
        found = self.call_external(name, vector, pointer, align, mask, constant(0, vector))
        return self.from_stored(found, dtype)

    def store_masked(self, x, pointer, mask):
        """As `store`, for the lanes of the mask."""
        align = constant(BYTES[dtype_of(x)], ir.IntType(32))
        x = self._as_stored(x)
        self.call_external(f"llvm.masked.store.{suffix_of(x.type)}.p0", ir.VoidType(), x, pointer, align, mask)

    def first_lanes(self, count):
        """The mask of the first `count` lanes (a scalar int64), for the tail of a loop."""
        vector = ir.VectorType(_INDEX, self.lanes)
        return self.ir.icmp_unsigned("<", ir.Constant(vector, list(range(self.lanes))), self.broadcast(count))

    def from_stored(self, bits, dtype):
        """What registers have for numbers of `dtype` as they are in memory."""
        if dtype == "bool":
            return self.not_equal(bits, 0)
        return widened(self, bits, dtype) if dtype in NARROW else bits

    def as_stored(self, x, dtype):
        """Numbers in the dtype of registers as they are stored in `dtype`: of half precision the bits, which are rounded to it."""
        return narrowed(self, x, dtype) if dtype in NARROW else x

    def _as_stored(self, x):
        return self.ir.zext(x, stored_type_of("bool", lanes_of(x))) if dtype_of(x) == "bool" else x
