"""The numbers of quantised weights, written to memory."""

from .. import emit
from ..chunks import part
from ..emit import BYTE, I64
from ..entry import Entry
from ..quantized_blocks import Reader


def write_unpacking(module, name, plan):
    """Add the function of a plan to `module`; its slots are the blocks, the numbers, and the words."""
    entry = Entry(module, name)
    b, block = entry.builder, plan.block
    source, target, reader = entry.pointer(0), entry.pointer(1), Reader(b, plan)
    with emit.loop(b, *part(entry, 2)) as place:
        start = b.mul(place.index, I64(block.size))
        pointer = emit.address(b, source, b.mul(place.index, I64(block.nbytes)), BYTE)
        for number, vector in enumerate(block.weights(reader, pointer)):
            emit.store(b, vector, emit.address(b, target, b.add(start, I64(number * plan.lanes)), plan.item))
    b.ret_void()
