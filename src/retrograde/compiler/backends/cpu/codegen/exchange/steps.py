"""Sums over processes as steps of a program: one that begins a sum, and one that finishes it; see `protocol`."""

from contextlib import contextmanager
from typing import NamedTuple

from .....run.failures import EXCHANGE
from .. import emit, ir
from ..emit import BYTE, I64, POINTER
from ..entry import Entry
from .protocol import place

#: Slots of both kinds of steps: the record, the text, the number of the call, the flag, the token, then the arrays and the words.
_FIRST = 5
#: Of what begins, says, closes, and finishes.
_BEGINS = ir.FunctionType(I64, [POINTER, POINTER, I64, POINTER, POINTER, I64])
_SAYS, _CLOSES = ir.FunctionType(I64, [POINTER, POINTER, I64, I64]), ir.FunctionType(ir.VoidType(), [POINTER, I64])
_FINISHES = ir.FunctionType(I64, [POINTER, I64, POINTER, I64, POINTER, POINTER, I64])


class BeginPlan(NamedTuple):
    """The beginning of a sum of arrays of so many bytes each; `has_token` says that whoever comes after reads a token."""

    sizes: tuple
    has_token: bool
    chunks: int = 1

    @property
    def key(self):
        """What the code depends on."""
        return "begin a sum", len(self.sizes), self.has_token

    @property
    def words(self):
        """The numbers that the code is handed: all bytes, then those of each array."""
        return sum(self.sizes), *self.sizes


class FinishPlan(NamedTuple):
    """The end of a sum, divided, of arrays of so many numbers each."""

    sizes: tuple
    has_token: bool
    divisor: int
    is_double: bool
    chunks: int = 1

    @property
    def key(self):
        """What the code depends on."""
        return "finish a sum", len(self.sizes), self.has_token, self.is_double

    @property
    def words(self):
        """The numbers that the code is handed: what is divided by, then the numbers of each array."""
        return self.divisor, *self.sizes


def write_begin(module, name, plan):
    """Add the function of a plan, which begins a sum, to `module`. After the arrays it has a slot for the text of a failure."""
    entry = Entry(module, name)
    b, count = entry.builder, len(plan.sizes)
    with _unless_over(entry) as (record, text, number, flag):
        with b.if_else(b.icmp_signed("==", b.load(flag, typ=I64), I64(0))) as (well, failed):
            with well:
                arrays, sizes = _arrays(entry, count, count + 1)
                operands = [record, text, I64(count), arrays, sizes, entry.word(_FIRST + count + 1)]
                found = b.call(_function(b, record, "BEGIN"), operands, kind=_BEGINS)
                b.store(found, number)
                with b.if_then(b.icmp_signed("==", found, I64(0)), likely=False):
                    b.store(I64(EXCHANGE), flag)
            with failed:
                # A check has failed in this process, which has nothing to add: the others are told so.
                told = b.call(_function(b, record, "SAY"), [record, entry.pointer(_FIRST + count), I64(0), I64(0)], kind=_SAYS)
                b.call(_function(b, record, "CLOSE"), [record, told], kind=_CLOSES)
                b.store(I64(0), number)
        _token(entry, plan)
    b.ret_void()


def write_finish(module, name, plan):
    """Add the function of a plan, which finishes a sum, to `module`."""
    entry = Entry(module, name)
    b, count = entry.builder, len(plan.sizes)
    with _unless_over(entry) as (record, text, number, flag):
        begun = b.load(number, typ=I64)
        with b.if_then(b.icmp_signed("!=", begun, I64(0))):
            arrays, sizes = _arrays(entry, count, count)
            finish = _function(b, record, "FINISH_DOUBLE" if plan.is_double else "FINISH_FLOAT")
            operands = [record, begun, text, I64(count), arrays, sizes, entry.word(_FIRST + count)]
            status = b.call(finish, operands, kind=_FINISHES)
            with b.if_then(b.icmp_signed("!=", status, I64(0)), likely=False):
                b.store(I64(EXCHANGE), flag)
        _token(entry, plan)
    b.ret_void()


@contextmanager
def _unless_over(entry):
    """(record, text, place of the number, flag): what is written within it runs unless an exchange has failed already in this call
    of the program, where all that follows would wait in vain too.
    """
    b = entry.builder
    record, text, number, flag = (entry.pointer(i) for i in range(4))
    with b.if_then(b.icmp_signed("!=", b.load(flag, typ=I64), I64(EXCHANGE))):
        yield record, text, number, flag


def _arrays(entry, count, words):
    """Where the addresses of the arrays stand, and where their sizes do, after the first of the words."""
    b = entry.builder
    arrays = emit.scratch(b, ir.ArrayType(I64, count))
    for i in range(count):
        b.store(entry.pointer(_FIRST + i), emit.address(b, arrays, i, POINTER))
    return arrays, entry.at(_FIRST + words + 1)


def _function(b, record, name):
    """A function whose address is in the record."""
    return b.load(emit.address(b, record, place(name), I64), typ=POINTER)


def _token(entry, plan):
    if plan.has_token:
        entry.builder.store(BYTE(0), entry.pointer(4))
