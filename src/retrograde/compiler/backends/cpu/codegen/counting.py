"""Loops that count."""

from contextlib import contextmanager

from . import ir

_INDEX = ir.IntType(64)


@contextmanager
def counted(b, start, stop, step=1):
    """What is written within it runs for each number from `start` to before `stop`, at least once."""
    before, head = b.block, b.append_basic_block("loop")
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(_INDEX)
    index.add_incoming(start, before)
    yield index
    reached = following(b, index, step)
    index.add_incoming(reached, b.block)
    after = b.append_basic_block("after")
    b.cbranch(b.icmp_signed("<", reached, stop), head, after)
    b.position_at_end(after)


def following(b, index, step):
    """The number of the next iteration of a loop, `index` plus `step`.

    LLVM is kept from seeing that it is a plain sum: then its loop strength reduction finds nothing to rewrite, which would take a
    quarter of the time of generating machine code and gain nothing, since addresses are written here as the processor has them.
    The hint that hides it becomes no instruction.
    """
    hidden = b.call_external("llvm.expect.i64", _INDEX, [index, _INDEX(0)])
    return b.add(hidden, _INDEX(step) if isinstance(step, int) else step)
