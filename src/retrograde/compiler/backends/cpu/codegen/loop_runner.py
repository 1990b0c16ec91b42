"""Loops in native code: before each iteration the pointers of the body are set to the rows of that iteration, then its steps run.

A loop is described by words in memory: those of `HEAD`, at the end the addresses of lists. Buffers are named by their place
among the slots of the loop, which hold places in the table of pointers of the program around it.
"""

from contextlib import contextmanager

from . import ir

_POINTER, _INDEX, _BYTE = ir.PointerType(), ir.IntType(64), ir.IntType(8)
_RUNNER = ir.FunctionType(ir.IntType(1), [_POINTER, _POINTER, _INDEX])

#: The words of a description. `count` is the number of iterations, or -1: then slot `counter` is a buffer that holds it;
#: `condition` is the place in the body's table of a byte that ends the loop where it is 0, -1 for none. Each list has a length
#: and an address.
HEAD = ("count", "counter", "condition", "runner", "steps", "step_count", "table",
        "move_count", "moves", "start_count", "starts", "copy_count", "copies", "end_count", "ends")
#: Moves: a place in the body's table, a slot, the offset of row 0, bytes from row to row, and then: the row in iteration t is
#: (t + phase) & mask.
MOVE = 6
#: Starts and ends: slot and offset of the target, slot and offset of the source, more offset if the number of iterations was odd,
#: and bytes.
COPY = 6


def write_loop_runner(module, name):
    """The step of a loop; it returns whether it has shared regions with other threads."""
    function = ir.Function(module, ir.FunctionType(ir.IntType(1), [_POINTER, _POINTER]), name)
    _LoopRunner(function, ir.IRBuilder(function.append_basic_block("entry"))).write()


class _LoopRunner:
    def __init__(self, function, builder):
        self.b, (self.table, self.slots) = builder, function.args
        head = builder.inttoptr(self.word(self.slots, 0), _POINTER)
        self.head = {word: self.word(head, i) for i, word in enumerate(HEAD)}
        for word in ("runner", "steps", "table", "moves", "starts", "copies", "ends"):
            self.head[word] = builder.inttoptr(self.head[word], _POINTER)

    def write(self):
        """The code of the step."""
        b, head = self.b, self.head
        for place in (0, 1):  # the pool, and the flag of checks
            self.set(head["table"], _INDEX(place), self.word(self.table, place))
        count = self.count()
        self.between(head["start_count"], head["starts"], _INDEX(0))
        before, look, iteration, end = b.block, *[b.append_basic_block(n) for n in ("look", "iteration", "end")]
        b.branch(look)
        b.position_at_end(look)
        t, was_shared, goes_on = b.phi(_INDEX), b.phi(ir.IntType(1)), b.phi(ir.IntType(1))
        for phi, value in ((t, _INDEX(0)), (was_shared, ir.IntType(1)(0)), (goes_on, ir.IntType(1)(1))):
            phi.add_incoming(value, before)
        b.cbranch(b.and_(goes_on, b.icmp_signed("<", t, count)), iteration, end)
        b.position_at_end(iteration)
        is_shared, again = self.iteration(t)
        for phi, value in ((t, b.add(t, _INDEX(1))), (was_shared, b.or_(was_shared, is_shared)), (goes_on, again)):
            phi.add_incoming(value, b.block)
        b.branch(look)
        b.position_at_end(end)
        # Of two rows that alternate, which one holds the last state depends on how many iterations there were in the end.
        self.between(head["end_count"], head["ends"], b.and_(t, _INDEX(1)))
        b.ret(was_shared)

    def count(self):
        """How many iterations there are at most."""
        b = self.b
        is_known = b.icmp_signed(">=", self.head["count"], _INDEX(0))
        known = b.block
        ask, go = b.append_basic_block("ask"), b.append_basic_block("go")
        b.cbranch(is_known, go, ask)
        b.position_at_end(ask)
        asked = self.word(b.inttoptr(self.buffer(self.head["counter"]), _POINTER), 0)
        b.branch(go)
        b.position_at_end(go)
        count = b.phi(_INDEX)
        count.add_incoming(self.head["count"], known)
        count.add_incoming(asked, ask)
        return count

    def iteration(self, t):
        """One iteration: whether it has shared regions, and whether there may be another."""
        b, head = self.b, self.head
        with self.each(head["move_count"], head["moves"], MOVE) as (place, slot, offset, step, mask, phase):
            # With all bits the row is the iteration's own; with one bit two rows alternate; with none there is one for all
            # iterations.
            row = b.and_(b.add(t, phase), mask)
            self.set(head["table"], place, b.add(b.add(self.buffer(slot), offset), b.mul(row, step)))
        is_shared = b.call(head["runner"], [head["table"], head["steps"], head["step_count"]], kind=_RUNNER)
        with self.each(head["copy_count"], head["copies"], 3) as (target, source, nbytes):
            self.copied(self.word(head["table"], target), self.word(head["table"], source), nbytes)
        return is_shared, self.condition()

    def condition(self):
        """Whether the body says that there is another iteration."""
        b, place = self.b, self.head["condition"]
        before, ask, go = b.block, b.append_basic_block("ask"), b.append_basic_block("go")
        b.cbranch(b.icmp_signed(">=", place, _INDEX(0)), ask, go)
        b.position_at_end(ask)
        byte = b.load(b.inttoptr(self.word(self.head["table"], place), _POINTER), typ=_BYTE)
        found = b.icmp_unsigned("!=", byte, _BYTE(0))
        b.branch(go)
        b.position_at_end(go)
        again = b.phi(ir.IntType(1))
        again.add_incoming(ir.IntType(1)(1), before)
        again.add_incoming(found, ask)
        return again

    def between(self, count, entries, is_odd):
        """Copy from buffer to buffer."""
        b = self.b
        with self.each(count, entries, COPY) as (target, at, source, start, more, nbytes):
            start = b.add(start, b.mul(is_odd, more))
            self.copied(b.add(self.buffer(target), at), b.add(self.buffer(source), start), nbytes)

    def copied(self, target, source, nbytes):
        """Copy bytes from one address to another."""
        b = self.b
        operands = [b.inttoptr(target, _POINTER), b.inttoptr(source, _POINTER), nbytes, ir.IntType(1)(0)]
        b.call_external("llvm.memcpy.p0.p0.i64", ir.VoidType(), operands)

    def buffer(self, slot):
        """The address of the buffer in a slot."""
        return self.word(self.table, self.word(self.slots, slot))

    def word(self, pointer, place):
        """Word number `place` from `pointer` on."""
        return self.b.load(self.at(pointer, place), typ=_INDEX)

    def set(self, pointer, place, value):
        """Write a word."""
        self.b.store(value, self.at(pointer, place))

    def at(self, pointer, place):
        """The address of a word."""
        return self.b.gep(pointer, [_INDEX(place) if isinstance(place, int) else place], source_etype=_INDEX)

    @contextmanager
    def each(self, count, entries, width):
        """The words of each entry of a list, in a loop over them."""
        b = self.b
        before, look, work, out = b.block, *[b.append_basic_block(n) for n in ("look", "work", "out")]
        b.branch(look)
        b.position_at_end(look)
        i = b.phi(_INDEX)
        i.add_incoming(_INDEX(0), before)
        b.cbranch(b.icmp_signed("<", i, count), work, out)
        b.position_at_end(work)
        entry = self.at(entries, b.mul(i, _INDEX(width)))
        yield [self.word(entry, k) for k in range(width)]
        i.add_incoming(b.add(i, _INDEX(1)), b.block)
        b.branch(look)
        b.position_at_end(out)
