"""Calls: the function that users call for an op.

`unary` and `binary` are `dispatch.apply` for the commonest signatures, with everything that does not concern them left out: what
they save is most of the cost of a small op. `with_parameters` has the same for ops that take more than operands.
"""

import operator

from .dispatch import apply, fitted, of_objects, redirected_or_raised, without_rule
from .explain import NESTED
from .mode import SILENT, current
from .value import Record, Value, tick
from .with_parameters import general, joined, mixed, single


def dispatcher(op):
    """The function that runs `op` on whatever it is called with."""
    if op.is_foreign or op.has_effect or not op.algebra.has_shapes:  # whose kernels take far longer than any dispatch
        return general(op)
    if op.is_variadic:
        return joined(op)
    # The commonest signatures: their arguments are by position alone, so that nothing need be bound by name.
    takes_operands_only = len(op.arguments) == len(op.operands) and not op.defaults and not (op.is_composite or op.is_multiple)
    if takes_operands_only and not op.makes_views and len(op.operands) <= 2:
        return (unary if len(op.operands) == 1 else binary)(op)
    return single(op) if op.operands == (0,) and not op.is_multiple else mixed(op)


def unary(op):
    """Dispatch of an op of one operand and nothing else."""
    kernel, algebra, native = direct(op.kernel), op.algebra, op.algebra.native
    narrow, large, fewest, run = algebra.narrow, op.large, op.fewest, op.run

    def call(x, /):
        kind = algebra.kind
        try:
            if x.__class__ is not kind:
                if not isinstance(x, Value):
                    return run(x) if x.__class__ not in NESTED else apply(op, (x,))
                kind = x.kind
            mode = current()
            if mode is not None and mode is not SILENT:
                return apply(op, (x,))
            array = x.raw
            data = kernel(array) if array.size < fewest else large(array)
        except Exception as error:
            return redirected_or_raised(op, error, (x,))
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if array.dtype is narrow:
            data = algebra.settled(data, (array,))
        parent, packs = x.record, op.packs
        if parent is None or mode is not None:
            # As made(data, None, kind), without the cost of the call.
            value = _new(kind)
            value.raw, value.record = data, None
            return value
        if packs is None:
            return without_rule(op, (x,), data, kind)
        pack = packs[0]
        # As made(data, Record().filled(op, ...)), without the cost of the calls.
        record = Record()
        record.op = op
        record.parents = (parent,)
        record.saved = _SINGLE if pack is None else (pack((array,), data),)
        record.fits = record.hooks = None
        record.order = tick()
        value = _new(kind)
        value.raw = data
        value.record = record
        return value

    return call


def binary(op):
    """Dispatch of an op of two operands and nothing else."""
    kernel, algebra, native = direct(op.kernel), op.algebra, op.algebra.native
    large, fewest, run, settled = op.large, op.fewest, op.run, _settler(op)
    # Whether a plain operand leaves shape and dtype of the other as they are; None where that must be seen.
    leaves = _Kinds(algebra, {float: True, int: True, native: None}).__getitem__

    # One function, long as it is: each call of a part of it would cost a twentieth of a small op.
    def call(x, y, /):
        known = kind = algebra.kind
        p = q = is_alike = None
        try:
            # What both are: `a` and `b` without their graphs, `array` one that is no number.
            if x.__class__ is known or isinstance(x, Value):
                a = array = x.raw
                p, kind = x.record, x.kind
                if y.__class__ is known:
                    b, q = y.raw, y.record
                elif isinstance(y, Value):
                    b, q = y.raw, y.record
                    kind = kind if y.kind is known else y.kind
                elif y.__class__ in NESTED:
                    return apply(op, (x, y))
                else:
                    b, is_alike = y, leaves(y.__class__)
            elif x.__class__ in NESTED or y.__class__ in NESTED:
                return apply(op, (x, y))
            elif isinstance(y, Value):
                a, is_alike = x, leaves(x.__class__)
                b = array = y.raw
                q, kind = y.record, y.kind
            else:
                return run(x, y)
            mode = current()
            if mode is not None:
                if mode is not SILENT:
                    return apply(op, (x, y))
                p = q = None
            data = kernel(a, b) if array.size < fewest else large(a, b)
            if data.__class__ is not native:
                data = algebra.wrap(data)
            if data.dtype is not array.dtype and settled is not None:
                data = settled(data, a, b)
        except Exception as error:
            return redirected_or_raised(op, error, (x, y))
        if p is q is None:
            value = _new(kind)
            value.raw, value.record = data, None
            return value
        # What the rules will read.
        pairs = op.pairs
        if pairs is CROSSED:
            saved = (_EMPTY if p is None else (b,), _EMPTY if q is None else (a,))
        elif pairs is NOTHING:
            saved = _EMPTIES
        elif pairs is None:
            return without_rule(op, (x, y), data, kind)
        else:
            saved = pairs(a, b, data, p, q)
        # As made(data, Record().filled(op, ...)), without the cost of the calls.
        record = Record()
        record.op = op
        record.parents = (p, q)
        record.saved = saved
        # Whether both cotangents will fit as they are, which shapes and dtypes say where neither operand is a number.
        if is_alike is None:
            is_alike = a.dtype is b.dtype and a.shape == b.shape
        record.fits = None if is_alike else fitted(op, (a, b), (p, q), data)
        record.order = tick()
        record.hooks = None
        value = _new(kind)
        value.raw = data
        value.record = record
        return value

    return call


def _settler(op):
    """What brings data of another dtype than its operand's, made of `a` and `b`, to the dtype it must have; None if it has it."""
    algebra = op.algebra
    narrow, boxed = algebra.narrow, algebra.boxed
    if op.family == "comparison":  # which makes booleans of all
        return None

    def settled(data, a, b):
        if data.dtype is boxed:
            raise of_objects()
        is_narrow = getattr(a, "dtype", None) is narrow or getattr(b, "dtype", None) is narrow
        return algebra.settled(data, (a, b)) if is_narrow else data

    return settled


class _Kinds(dict):
    """What a binary op knows of the kinds of plain operands. One that no kernel may be handed is an error, caught there."""

    def __init__(self, algebra, known):
        super().__init__(known)
        self._algebra = algebra

    def __missing__(self, kind):
        self._algebra.check_operand(kind)
        self[kind] = False
        return False


# What the rules of the two commonest ops of two operands read: those of sums nothing, those of products the other operand.
NOTHING, CROSSED = "nothing", "crossed"
_EMPTY, _SINGLE, _EMPTIES = (), ((),), ((), ())
_new = object.__new__


def direct(kernel):
    """The function of a library that is all that `kernel` calls, with its own arguments; else `kernel` itself.

    Calling it at once saves finding it by its name, which is slow in a module with a `__getattr__`.
    """
    code = kernel.__code__
    for example in (_of_one, _of_two):
        known = example.__code__
        if code.co_code == known.co_code and code.co_argcount == known.co_argcount == code.co_posonlyargcount:
            library, name = code.co_names
            return getattr(kernel.__globals__[library], name)
    return kernel


def _of_one(x, /):
    return operator.neg(x)


def _of_two(x, y, /):
    return operator.add(x, y)
