"""Entries: the functions that the runner calls, `void(table, slots, chunk)`.

`slots` holds words: places of buffers in the `table` of pointers, and numbers. A pass of a nest finds in its chunk from bit
`FRAME_BIT` on which frame is its own.
"""

from . import ir
from .parallel import FRAME_BIT

_INDEX, _POINTER = ir.IntType(64), ir.PointerType()


class Entry:
    """An entry under construction, with its `builder`, its `chunk` and its `frame`."""

    def __init__(self, module, name):
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _INDEX]), name)
        self._table, self._slots, named = self.function.args
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        # One argument for both, so that the runner calls all kernels alike, in nests or outside of them.
        self.chunk = self.builder.and_(named, _INDEX((1 << FRAME_BIT) - 1))
        self.frame = self.builder.lshr(named, _INDEX(FRAME_BIT))

    def at(self, place):
        """Where slot number `place` is."""
        place = place if isinstance(place, ir.Value) else _INDEX(place)
        return self.builder.gep(self._slots, [place], source_etype=_INDEX)

    def word(self, place):
        """The number in a slot."""
        return self.builder.load(self.at(place), typ=_INDEX)

    def pointer(self, place):
        """The memory of the buffer whose place in the table a slot holds."""
        where = self.builder.gep(self._table, [self.word(place)], source_etype=_POINTER)
        return self.builder.load(where, typ=_POINTER)
