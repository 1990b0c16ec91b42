"""Tapes: the values of all rounds of a run, kept in memory for those who read them later."""

from . import ir
from .vecmath.elements import dtype_of, lanes_of

_INDEX, _BYTES = ir.IntType(64), 8


class Tapes:
    """Reads and writes the tapes of a kernel, which lie one behind the other in the memory of this chunk."""

    def __init__(self, plan, entry, builder):
        self._runs, self._k, self._kinds = plan.runs, builder, {}
        self._room, self._places, at = plan.lanes * _BYTES, {}, 0
        for number, (run, slots) in enumerate(zip(plan.runs, plan.tapes, strict=True)):
            for slot in slots:
                self._places[number, slot] = at
                at += run.count * self._room
        self._base = None
        if plan.tape is not None:
            offset = entry.ir.mul(entry.chunk, entry.numbers["tape_bytes"])
            self._base = entry.ir.gep(entry.pointers[id(plan.tape)], [offset], source_etype=ir.IntType(8))

    def keep(self, run, slot, counter, value):
        """Write the value of a round, if anybody reads it."""
        key = self._runs.index(run), slot
        if key in self._places:
            self._kinds[key] = dtype_of(value), lanes_of(value)
            self._k.store(value, self._address(key, counter))

    def read(self, argument, counter):
        """The value that an argument from a tape has in this round."""
        ir_builder = self._k.ir
        index = ir_builder.add(_INDEX(argument.first), ir_builder.mul(counter, _INDEX(argument.stride)))
        return self._loaded((argument.run, argument.slot), index)

    def recalled(self, number):
        """The value of an entry inside a run."""
        run = next(i for i, run in enumerate(self._runs) if run.start <= number < run.stop)
        index, slot = self._runs[run].place(number)
        return self._loaded((run, slot), _INDEX(index))

    def _loaded(self, key, index):
        return self._k.load(self._address(key, index), *self._kinds[key])

    def _address(self, key, index):
        b = self._k.ir
        place = b.add(_INDEX(self._places[key]), b.mul(index, _INDEX(self._room)))
        return b.gep(self._base, [place], source_etype=ir.IntType(8))
