"""Calls: the function that users call for an op.

`unary`, `binary` and `single` are `dispatch.apply` for the commonest signatures, with everything that does not concern
them left out: what they save is most of the cost of a small op.
"""

import operator

from .dispatch import (
    apply,
    binder,
    check_parameters,
    fitted,
    gathered,
    kind_of,
    misspelt,
    plain,
    redirected_or_raised,
    remember_view,
    several,
    unboxed,
)
from .explain import NESTED, explained
from .mode import SILENT, current
from .value import Record, Value, tick


def dispatcher(op):
    """The function that runs `op` on whatever it is called with."""
    if op.is_variadic or op.is_foreign or op.has_effect:
        return general(op)
    if not op.algebra.has_shapes:
        return general(op)  # its kernels take far longer than any dispatch
    # The commonest signatures: their arguments are by position alone, so that nothing need be bound by name.
    takes_operands_only = len(op.arguments) == len(op.operands) and not op.defaults and not (op.is_composite or op.is_multiple)
    if takes_operands_only and not op.makes_views and len(op.operands) <= 2:
        return (unary if len(op.operands) == 1 else binary)(op)
    return single(op) if op.operands == (0,) and not op.is_multiple else mixed(op)


def unary(op):
    """Dispatch of an op of one operand and nothing else."""
    kernel, algebra, native = direct(op.kernel), op.algebra, op.algebra.native
    narrow, made = algebra.narrow, algebra.made
    large, fewest, run = op.large, op.fewest, op.large or kernel

    def call(x, /):
        kind = algebra.kind
        try:
            if x.__class__ is not kind:
                if not isinstance(x, Value):
                    return run(x) if x.__class__ not in NESTED else apply(op, (x,))
                kind = x.kind or kind
            mode = current()
            if mode is not None and mode is not SILENT:
                return apply(op, (x,))
            array = x.raw
            data = kernel(array) if large is None or array.size < fewest else large(array)
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
            return apply(op, (x,)) if op.is_differentiable or algebra.is_differentiable(data) else made(data, None, kind)
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
    narrow, boxed, made = algebra.narrow, algebra.boxed, algebra.made
    large, fewest, run = op.large, op.fewest, op.large or kernel
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
                p = x.record
                kind = known if x.__class__ is known else x.kind or known
                if y.__class__ is known:
                    b, q = y.raw, y.record
                elif isinstance(y, Value):
                    b, q = y.raw, y.record
                    kind = kind if y.kind is known else y.kind or kind
                elif y.__class__ in NESTED:
                    return apply(op, (x, y))
                else:
                    b, is_alike = y, leaves(y.__class__)
            elif x.__class__ in NESTED or y.__class__ in NESTED:
                return apply(op, (x, y))
            elif isinstance(y, Value):
                a, is_alike = x, leaves(x.__class__)
                b = array = y.raw
                q, kind = y.record, y.kind or known
            else:
                return run(x, y)
            mode = current()
            if mode is not None and mode is not SILENT:
                return apply(op, (x, y))
            data = kernel(a, b) if large is None or array.size < fewest else large(a, b)
        except Exception as error:
            return redirected_or_raised(op, error, (x, y))
        if data.__class__ is not native:
            data = algebra.wrap(data)
        # Whether both cotangents will fit as they are, which shapes and dtypes say where neither operand is a number.
        if data.dtype is not array.dtype and (array.dtype is narrow or getattr(b, "dtype", None) is narrow):
            data = algebra.settled(data, (a, b))
        if is_alike is None:
            if a.dtype is b.dtype:
                is_alike = a.shape == b.shape
            elif data.dtype is boxed:
                return unboxed(op, (x, y))
        if p is None and q is None or mode is not None:
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
            return apply(op, (x, y)) if op.is_differentiable or algebra.is_differentiable(data) else made(data, None, kind)
        else:
            saved = pairs(a, b, data, p, q)
        # As made(data, Record().filled(op, ...)), without the cost of the calls.
        record = Record()
        record.op = op
        record.parents = (p, q)
        record.saved = saved
        record.fits = None if is_alike else fitted(op, (a, b), (p, q), data)
        record.order = tick()
        record.hooks = None
        value = _new(kind)
        value.raw = data
        value.record = record
        return value

    return call


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


def single(op):
    """Dispatch of an op of one operand and parameters, which may be arrays that it is broadcast with."""
    kernel, algebra, native = op.large or op.kernel, op.algebra, op.algebra.native
    narrow, broadcasts = None if "dtype" in op.arguments else algebra.narrow, op.broadcasts
    bind = None

    def call(*args, **kwargs):
        nonlocal bind
        if bind is None:
            bind = binder(op)
        try:
            args = bind(*args, **kwargs)
        except TypeError as error:
            raise misspelt(op, kwargs) or error from None
        x, packs, mode = args[0], op.packs, current()
        # Rules call ops on the arrays of a walk far more often than users do.
        if x.__class__ is native and (mode is None or mode.tracer is None) and all(
                [a.__class__ in _PLAIN or a.__class__ is native or _is_plain(a) for a in args[1:]]):
            try:
                return kernel(*args)  # as in every rule of a walk that is not recorded
            except Exception as error:
                return redirected_or_raised(op, error, args)
        kind = algebra.kind
        if packs is None and op.is_differentiable or mode is not None and mode is not SILENT:
            return apply(op, args)
        if x.__class__ is not kind:
            if not isinstance(x, Value):
                return apply(op, args)
            kind = x.kind or kind
        array = x.raw
        rest = args[1:]
        if not _PLAIN.issuperset(map(type, rest)):
            if op.is_differentiable and mode is None:
                check_parameters(op, args)
            rest = map(plain, rest)
        arrays = (array, *rest)
        try:
            data = kernel(*arrays)
        except Exception as error:
            raise explained(op, error, args) from None
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if narrow is not None and array.dtype is narrow:
            data = algebra.settled(data, (array,))
        parent, value = x.record if mode is None else None, _new(kind)
        value.raw, value.record = data, None
        if packs is None:
            if parent is not None and algebra.is_differentiable(data):
                return apply(op, args)  # which tells that its gradient would be lost
        elif parent is not None and ((keeps_dtype := data.dtype is array.dtype) or algebra.is_differentiable(data)):
            record = value.record = Record()
            record.op = op
            record.parents = (parent,)
            record.saved = (_EMPTY if packs[0] is None else packs[0](arrays, data),)
            is_alike = keeps_dtype and (not broadcasts or data.shape == array.shape)
            record.fits = None if is_alike else fitted(op, (array,), (parent,), data)
            record.order = tick()
            record.hooks = None
        if op.makes_views and algebra.is_view(data, array):
            remember_view(value, x, op, args)
        return value

    return call


def mixed(op):
    """Dispatch of an op of several operands, and parameters."""
    algebra, native = op.algebra, op.algebra.native
    kernel, narrow, boxed = op.large or op.kernel, algebra.narrow, algebra.boxed
    keeps_dtype, parameters, is_multiple = "dtype" in op.arguments, op.parameters, op.is_multiple
    bind = None

    def call(*args, **kwargs):
        nonlocal bind
        if bind is None:
            bind = binder(op)
        try:
            args = bind(*args, **kwargs)
        except TypeError as error:
            raise misspelt(op, kwargs) or error from None
        mode = current()
        if mode is not None and mode is not SILENT or not op.has_rule:
            return apply(op, args)
        arrays, records, is_plain = [], [], True
        for a in args:
            if isinstance(a, Value):
                is_plain = False
                arrays.append(a.raw)
                records.append(a.record if mode is None else None)
            elif a.__class__ is native or (_is_plain(a) if len(records) in parameters else a.__class__ in _PLAIN):
                arrays.append(a)
                records.append(None)
            else:
                return apply(op, args)
        for i in parameters:
            if records[i] is not None:
                return apply(op, args)
        try:
            data = kernel(*arrays)
        except Exception as error:
            return redirected_or_raised(op, error, args)
        if is_plain:
            return data
        operands = [arrays[i] for i in op.operands]
        if is_multiple:
            parents = tuple([records[i] for i in op.operands])
            return several(op, arrays, parents if any(parents) else None, data, kind_of(algebra, [args[i] for i in op.operands]))
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if data.dtype is boxed:
            return unboxed(op, args)
        if narrow is not None and not keeps_dtype:
            data = algebra.settled(data, operands)
        parents, record = tuple([records[i] for i in op.operands]), None
        if any(parents) and algebra.is_differentiable(data):
            record = Record()
            record.op = op
            record.parents = parents
            joint = op.joint
            record.saved = gathered(op, arrays, parents, data) if joint is None else joint.pack(arrays, data)
            record.fits = fitted(op, operands, parents, data)
            record.hooks = None
            record.order = tick()
        value = _new(kind_of(algebra, [args[i] for i in op.operands]))
        value.raw, value.record = data, record
        if op.makes_views and algebra.is_view(data, operands[0]):
            remember_view(value, args[op.operands[0]], op, args)
        return value

    return call


# Parameters without a graph of their own.
_PLAIN = frozenset([int, float, bool, str, slice, type(None), type(...)])


def _is_plain(argument):
    """Whether an argument has no graph, as can be told at a glance."""
    kind = argument.__class__
    return kind in _PLAIN or kind in NESTED and (_PLAIN.issuperset(map(type, argument)) or all(map(_is_plain, argument)))


def general(op):
    """Dispatch of an op with any signature."""
    bind = None

    def call(*args, **kwargs):
        nonlocal bind
        if bind is None:
            bind = binder(op)
        try:
            bound = bind(*args, **kwargs)
        except TypeError as error:
            raise misspelt(op, kwargs) or error from None
        return apply(op, bound)

    return call


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
