"""Entries of products as steps of a program: their slots are four places in the table of pointers, then numbers.

The places are of A, B, C and the workspace; the numbers tell where each of the first three starts, in bytes.
"""

from ..emit import BYTE, I64, address
from ..entry import Entry
from . import dots, packing, product, stream, tiles
from .spec import BlockPacking, Dots, IntegerPairTile, Loops, Packing, PairPacking, PairTile, Stream, Tile

#: The numbers of a product of rows before its two descriptors: of A and of C where it starts, and how far it moves with each block
#: and with each frame; the size of a workspace, of which each frame has one, all in bytes; and the words of a descriptor.
_ROWS = ("a_start", "a_block", "a_frame", "c_start", "c_block", "c_frame", "room", "last_block", "words")


def write(module, name, spec):
    """Write the code of a spec: the function `name`, and with the loops `name`_rows and `name`_panels."""
    _WRITERS[type(spec)](module, name, spec)


def _write_loops(module, name, _):
    """The entries of products made of tiles: one cut in chunks, one that computes a block of rows, and one that packs B."""
    chunk = product.build(module, f"{name}_chunk")
    _write_product(module, name, chunk)
    _write_rows(module, f"{name}_rows", chunk)
    _write_product(module, f"{name}_panels", product.build_panels(module, f"{name}_pack"))


def _write_product(module, name, chunk):
    """After the starts come the bytes of a chunk's workspace, and the descriptor."""
    entry = Entry(module, name)
    operands = [_moved(entry, place, entry.word(4 + place)) for place in range(3)]
    room = _moved(entry, 3, entry.builder.mul(entry.chunk, entry.word(7)))
    entry.builder.call(chunk, [entry.chunk, entry.at(8), *operands, room])
    entry.builder.ret_void()


def _write_rows(module, name, chunk):
    """The last block has a descriptor of its own."""
    entry = Entry(module, name)
    builder = entry.builder
    numbers = {label: entry.word(4 + i) for i, label in enumerate(_ROWS)}

    def rows(place, label):
        in_block = builder.mul(entry.chunk, numbers[f"{label}_block"])
        in_frame = builder.mul(entry.frame, numbers[f"{label}_frame"])
        return _moved(entry, place, builder.add(numbers[f"{label}_start"], builder.add(in_block, in_frame)))

    # Which of two descriptors is a select, not a branch: both are there, one behind the other.
    is_last = builder.icmp_signed("==", entry.chunk, numbers["last_block"])
    descriptor = entry.at(builder.add(builder.select(is_last, numbers["words"], I64(0)), I64(4 + len(_ROWS))))
    room = _moved(entry, 3, builder.mul(entry.frame, numbers["room"]))
    builder.call(chunk, [I64(0), descriptor, rows(0, "a"), entry.pointer(1), rows(2, "c"), room])
    builder.ret_void()


def _moved(entry, place, nbytes):
    """The memory of the buffer in a slot, from a byte on."""
    return address(entry.builder, entry.pointer(place), nbytes, BYTE)


def _with_entry(build):
    """What writes the function of a chunk and the entry that calls it."""
    return lambda module, name, spec: _write_product(module, name, build(module, spec, f"{name}_chunk"))


_WRITERS = {
    Loops: _write_loops,
    Tile: lambda module, name, spec: tiles.build(module, spec, name),
    PairTile: lambda module, name, spec: tiles.build(module, spec, name),
    IntegerPairTile: lambda module, name, spec: tiles.build(module, spec, name),
    Packing: lambda module, name, spec: packing.build(module, spec, name),
    PairPacking: lambda module, name, spec: packing.build(module, spec, name),
    BlockPacking: lambda module, name, spec: packing.build(module, spec, name),
    Dots: _with_entry(dots.build),
    Stream: _with_entry(stream.build),
}
