"""Entries of products as steps of a program: their slots are four places in the table of pointers, then numbers.

The places are of A, B, C and the workspace; the numbers tell where each of the first three starts, in elements.
"""

from .. import ir
from ..entry import Entry
from .emit import I64, POINTER, address
from .kernel import generate

_BYTE = ir.IntType(8)
#: The numbers of a product of rows before its two descriptors: of A and of C where it starts, in elements, and how far it moves
#: with each block, in elements, and with each frame, in bytes; and the bytes of a workspace, of which each frame has one.
_ROWS = ("a_start", "a_block", "a_frame", "c_start", "c_block", "c_frame", "room", "last_block", "descriptor")


def write_product(module, name, spec):
    """The entry of a product cut in chunks; after the starts come the bytes of a chunk's workspace, and the descriptor."""
    product = _product(module, spec, f"{name}_product")
    entry = Entry(module, name)
    room = _moved(entry, 3, entry.builder.mul(entry.chunk, entry.word(7)), _BYTE)
    a, b, c = [_moved(entry, i, entry.word(4 + i), spec.item) for i in range(3)]
    entry.builder.call(product, [entry.chunk, entry.at(8), a, b, c, ir.Constant(POINTER, None), room])
    entry.builder.ret_void()


def write_rows(module, name, specs):
    """The entry of a product that computes one block of rows: `specs` are those of a whole block and of the last one."""
    products = {spec: _product(module, spec, f"{name}_product{i}") for i, spec in enumerate(dict.fromkeys(specs))}
    entry = Entry(module, name)
    builder, item = entry.builder, specs[0].item
    numbers = {label: entry.word(4 + i) for i, label in enumerate(_ROWS)}

    def rows(place, label):
        first = builder.add(numbers[f"{label}_start"], builder.mul(entry.chunk, numbers[f"{label}_block"]))
        in_frame = builder.mul(entry.frame, numbers[f"{label}_frame"])
        return address(builder, _moved(entry, place, first, item), in_frame, _BYTE)

    room = _moved(entry, 3, builder.mul(entry.frame, numbers["room"]), _BYTE)
    operands = [rows(0, "a"), _moved(entry, 1, I64(0), item), rows(2, "c"), ir.Constant(POINTER, None), room]
    whole, last = entry.at(4 + len(_ROWS)), entry.at(builder.add(numbers["descriptor"], I64(4 + len(_ROWS))))
    is_last = builder.icmp_signed("==", entry.chunk, numbers["last_block"])
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


def _moved(entry, place, by, kind):
    """The memory of the buffer in a slot, from element `by` on."""
    return address(entry.builder, entry.pointer(place), by, kind)
