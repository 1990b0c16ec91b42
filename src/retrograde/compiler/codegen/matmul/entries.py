"""Entries of products as steps of a program: their slots are four places in the table of pointers, then numbers.

The places are of A, B, C and the workspace; the numbers tell where each of the first three starts, in elements.
"""

from llvmlite import ir

from ..parallel import FRAME_BIT
from .emit import I64, POINTER, number
from .kernel import generate

_BYTE = ir.IntType(8)
#: The numbers of a product of rows before its two descriptors: of A and of C where it starts, in elements, and how far it moves
#: with each block, in elements, and with each frame, in bytes; and the bytes of a workspace, of which each frame has one.
_ROWS = ("a_start", "a_block", "a_frame", "c_start", "c_block", "c_frame", "room", "last_block", "descriptor")


def write_product(module, name, spec):
    """The entry of a product cut in chunks; after the starts come the bytes of a chunk's workspace, and the descriptor."""
    product = _product(module, spec, f"{name}_product")
    entry = _Entry(module, name)
    room = entry.moved(3, entry.b.mul(entry.chunk, entry.word(7)), _BYTE)
    a, b, c = [entry.moved(i, entry.word(4 + i), spec.item) for i in range(3)]
    entry.b.call(product, [entry.chunk, entry.at(8), a, b, c, ir.Constant(POINTER, None), room])
    entry.b.ret_void()


def write_rows(module, name, specs):
    """The entry of a product that computes one block of rows: `specs` are those of a whole block and of the last one."""
    products = {spec: _product(module, spec, f"{name}_product{i}") for i, spec in enumerate(dict.fromkeys(specs))}
    entry = _Entry(module, name)
    builder, item = entry.b, specs[0].item
    numbers = {label: entry.word(4 + i) for i, label in enumerate(_ROWS)}
    block, frame = builder.and_(entry.chunk, I64((1 << FRAME_BIT) - 1)), builder.lshr(entry.chunk, I64(FRAME_BIT))

    def rows(place, label):
        first = builder.add(numbers[f"{label}_start"], builder.mul(block, numbers[f"{label}_block"]))
        return builder.gep(entry.moved(place, first, item), [builder.mul(frame, numbers[f"{label}_frame"])], source_etype=_BYTE)

    room = entry.moved(3, builder.mul(frame, numbers["room"]), _BYTE)
    operands = [rows(0, "a"), entry.moved(1, I64(0), item), rows(2, "c"), ir.Constant(POINTER, None), room]
    whole, last = entry.at(4 + len(_ROWS)), entry.at(builder.add(numbers["descriptor"], I64(4 + len(_ROWS))))
    is_last = builder.icmp_signed("==", block, numbers["last_block"])
    if len(products) == 1:
        builder.call(products[specs[0]], [I64(0), builder.select(is_last, last, whole), *operands])
    else:
        with builder.if_else(is_last) as (then, otherwise):
            with then:
                builder.call(products[specs[1]], [I64(0), last, *operands])
            with otherwise:
                builder.call(products[specs[0]], [I64(0), whole, *operands])
    builder.ret_void()


def _product(module, spec, name):
    product = generate(spec, name, module)
    product.linkage = "internal"
    return product


class _Entry:
    """An entry `void(table, slots, chunk)` under construction."""

    def __init__(self, module, name):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64]), name)
        self._table, self._slots, self.chunk = function.args
        self.b = ir.IRBuilder(function.append_basic_block("entry"))

    def at(self, place):
        """Where a slot is."""
        return self.b.gep(self._slots, [number(place)], source_etype=I64)

    def word(self, place):
        """The number in a slot."""
        return self.b.load(self.at(place), typ=I64)

    def moved(self, place, by, kind):
        """The memory of the buffer in a slot, from element `by` on."""
        base = self.b.load(self.b.gep(self._table, [self.word(place)], source_etype=POINTER), typ=POINTER)
        return self.b.gep(base, [by], source_etype=kind)
