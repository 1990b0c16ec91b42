"""The runs of a loop kernel: rounds of entries that repeat, written once, as a loop."""

from ....index.expression import Load, arguments_of, dtype_of_entry
from . import ir
from .counting import counted
from .vecmath.elements import lanes_of

_INDEX = ir.IntType(64)


class Rounds:
    """The part of a kernel's writer that computes runs."""

    def _recall(self, number):
        """Bring arguments back that were computed in an early round of a run."""
        for n in arguments_of(self.box.entries[number]) if self.tapes else ():
            if n not in self.values:
                self.values[n] = self.tapes.recalled(n)

    def _repeat(self, run):
        """The rounds of a run as a loop."""
        firsts = {a.slot: a.first for arguments in run.arguments for a in arguments if a.kind == "carried"}
        for n in (a.first for arguments in run.arguments for a in arguments if a.kind in ("carried", "outer")):
            if n not in self.values:
                self.values[n] = self.tapes.recalled(n)
        starts = {slot: self._widened(run.start + slot, self.values[first]) for slot, first in firsts.items()}
        before, outside = self.ir.block, self.k.inline
        with counted(self.ir, _INDEX(0), _INDEX(run.count)) as counter:
            carried = {slot: self.ir.phi(start.type) for slot, start in starts.items()}
            # Around runs the body is long and runs once, so that functions are called there. A round is short and runs often.
            self.k.inline = None
            made = self._round(run, counter, carried)
            self.k.inline = outside
            for slot, phi in carried.items():
                phi.add_incoming(starts[slot], before)
                # What was the same in all lanes before the first round need not be so after it: the phi has all lanes from the
                # start.
                phi.add_incoming(self.k.broadcast(made[slot], lanes_of(phi)), self.ir.block)
        self.values.update({run.stop - run.period + slot: value for slot, value in made.items()})

    def _widened(self, number, value):
        """What is carried into a run, in the type that the entry of the run has."""
        entry = self.box.entries[number]
        dtype = dtype_of_entry(entry)
        is_moving = self.vector is not None and entry.steps and entry.steps[self.vector]
        return self.k.broadcast(self._held(value, dtype), self.lanes if is_moving else 1)

    def _round(self, run, counter, carried):
        """One round; the value of each of its entries."""
        made = {}
        for slot, arguments in enumerate(run.arguments):
            number = run.start + slot
            entry = self.box.entries[number]
            operands = [self._operand(a, counter, carried, made) for a in arguments]
            if isinstance(entry, Load):
                made[slot] = self._load(number, entry, self.ir.mul(counter, _INDEX(run.moves[slot])))
            elif slot not in made and number in self.plan.partners:
                made[slot], made[self.plan.partners[number] - run.start] = self._paired(entry, *operands)
            elif slot not in made:
                made[slot] = self._apply(number, entry, operands)
            self.tapes.keep(run, slot, counter, made[slot])
        return made

    def _operand(self, argument, counter, carried, made):
        if argument.kind == "inner":
            return made[argument.slot]
        if argument.kind == "carried":
            return carried[argument.slot]
        return self.values[argument.first] if argument.kind == "outer" else self.tapes.read(argument, counter)
