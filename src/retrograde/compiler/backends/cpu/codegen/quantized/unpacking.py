"""The numbers of quantised weights, written to memory."""

from .. import emit
from ..emit import BYTE, I64
from ..entry import Entry
from ..quantized_blocks import Reader


def write_unpacking(module, name, plan):
    """Add the function of a plan to `module`; its slots are the blocks, the numbers, and the words."""
    entry = Entry(module, name)
    b, block = entry.builder, plan.block
    source, target, total, step = entry.pointer(0), entry.pointer(1), entry.word(2), entry.word(3)
    reader, first = Reader(b, plan), b.mul(entry.chunk, step)
    with emit.loop(b, first, emit.minimum(b, b.add(first, step), total)) as place:
        start = b.mul(place.index, I64(block.size))
        pointer = emit.address(b, source, b.mul(place.index, I64(block.nbytes)), BYTE)
        for number, vector in enumerate(block.weights(reader, pointer)):
            emit.store(b, vector, emit.address(b, target, b.add(start, I64(number * plan.lanes)), plan.item))
    b.ret_void()
