"""Calls of ops that take parameters: `dispatch.apply` for the commonest of them, with what does not concern them left out."""

from .dispatch import (
    apply,
    binder,
    check_parameters,
    fitted,
    gathered,
    kind_of,
    misspelt,
    operands_of,
    plain,
    redirected_or_raised,
    remember_view,
    several,
    unboxed,
)
from .explain import NESTED, explained
from .mode import SILENT, current
from .value import Record, Value, tick


class _Signature:
    """How the arguments of an op are bound: at once where all are given by position, else as Python does it.

    rests   what parameters at the end are by default, by the number of arguments that are given before them
    """

    def __init__(self, op):
        count = len(op.arguments)
        self._op, self._bind = op, None
        least = count - len(op.defaults)
        self.rests = {given: tuple([op.defaults[i] for i in range(given, count)]) for given in range(least, count + 1)}

    def bound(self, args, kwargs):
        """All arguments as a tuple."""
        if self._bind is None:
            self._bind = binder(self._op)
        try:
            return self._bind(*args, **kwargs)
        except TypeError as error:
            raise misspelt(self._op, kwargs) or error from None


def single(op):
    """Dispatch of an op of one operand and parameters, which may be arrays that it is broadcast with."""
    kernel, algebra, native, signature = op.run, op.algebra, op.algebra.native, _Signature(op)
    narrow, rests, are_plain = _narrow(op), signature.rests, _plain_test(algebra)
    is_differentiable, makes_views = op.is_differentiable, op.makes_views

    def call(*args, **kwargs):
        given, rest = args, None if kwargs else rests.get(len(args))
        if rest is None:
            given = args = signature.bound(args, kwargs)
        elif rest:
            args += rest
        # What is by default is plain.
        is_plain = len(given) == 1 or _PLAIN.issuperset(map(type, given[1:]))
        x, packs, mode = args[0], op.packs, current()
        # Rules call ops on the arrays of a walk far more often than users do.
        if x.__class__ is native and (mode is None or mode.tracer is None) and (is_plain or are_plain(given[1:])):
            try:
                return kernel(*args)
            except Exception as error:
                return redirected_or_raised(op, error, args)
        if not isinstance(x, Value) or packs is None and is_differentiable or mode is not None and mode is not SILENT:
            return apply(op, args)
        array = x.raw
        if not is_plain and mode is None and is_differentiable:
            check_parameters(op, args)
        arrays = (array, *args[1:]) if is_plain else (array, *map(plain, args[1:]))
        try:
            data = kernel(*arrays)
        except Exception as error:
            raise explained(op, error, args) from None
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if array.dtype is narrow:
            data = algebra.settled(data, (array,))
        parent, value = x.record, _new(x.kind)
        value.raw, value.record = data, None
        if parent is not None and mode is None and ((keeps_dtype := data.dtype is array.dtype) or algebra.is_differentiable(data)):
            if packs is None:
                return apply(op, args)  # which tells that its gradient would be lost
            value.record = _record_of_one(op, packs[0], parent, arrays, data, keeps_dtype)
        if makes_views and algebra.is_view(data, array):
            remember_view(value, x, op, args)
        return value

    return call


def _narrow(op):
    """The dtype that results are brought back to, if there is one, and the op is not told a dtype."""
    return None if "dtype" in op.arguments else op.algebra.narrow


def _record_of_one(op, pack, parent, arrays, data, keeps_dtype):
    """The record of an op of one operand, the first of `arrays`, whose rule reads what `pack` gathers."""
    record = Record()
    record.op = op
    record.parents = (parent,)
    record.saved = (_EMPTY if pack is None else pack(arrays, data),)
    is_alike = keeps_dtype and (not op.broadcasts or data.shape == arrays[0].shape)
    record.fits = None if is_alike else fitted(op, arrays[:1], (parent,), data)
    record.order = tick()
    record.hooks = None
    return record


def mixed(op):
    """Dispatch of an op of several operands, and parameters."""
    algebra, native, signature = op.algebra, op.algebra.native, _Signature(op)
    kernel, parameters, rests, is_plain = op.run, op.parameters, signature.rests, _plain_test(algebra)
    is_multiple = op.is_multiple

    def call(*args, **kwargs):
        rest = None if kwargs else rests.get(len(args))
        if rest is None:
            args, rest = signature.bound(args, kwargs), _EMPTY
        mode = current()
        if mode is not None and mode is not SILENT or not op.has_rule:
            return apply(op, args + rest)
        arrays, records, has_values, kind = [], [], False, algebra.kind
        for a in args:
            if a.__class__ is kind:
                has_values = True
                arrays.append(a.raw)
                records.append(a.record)
            elif a.__class__ is native or a.__class__ in _PLAIN or len(records) in parameters and is_plain(a):
                arrays.append(a)
                records.append(None)
            elif isinstance(a, Value):
                has_values, kind = True, None
                arrays.append(a.raw)
                records.append(a.record)
            else:
                return apply(op, args + rest)
        if rest:
            args += rest
            arrays += rest
            records += [None] * len(rest)
        if mode is None:
            for i in parameters:
                if records[i] is not None:
                    return apply(op, args)  # which tells that a gradient would be lost
        try:
            data = kernel(*arrays)
        except Exception as error:
            return redirected_or_raised(op, error, args)
        if not has_values:
            return data
        parents, kind = tuple(operands_of(op, records)), kind or kind_of(algebra, operands_of(op, args))
        parents = parents if mode is None and any(parents) else None
        return several(op, arrays, parents, data, kind) if is_multiple else _made(op, args, arrays, parents, data, kind)

    return call


def _made(op, args, arrays, parents, data, kind):
    """What the kernel made of `arrays` as a value of `kind`, with a record where one of the `parents` is one."""
    algebra, operands = op.algebra, operands_of(op, arrays)
    if data.__class__ is not algebra.native:
        data = algebra.wrap(data)
    if data.dtype is algebra.boxed:
        return unboxed(op, args)
    # Nothing has been widened if the result is of the type of the first operand.
    if data.dtype is not getattr(operands[0], "dtype", None) and algebra.narrow is not None and "dtype" not in op.arguments:
        data = algebra.settled(data, operands)
    value = _new(kind)
    value.raw, value.record = data, None
    if parents is not None and algebra.is_differentiable(data):
        record = value.record = Record()
        record.op = op
        record.parents = parents
        joint = op.joint
        record.saved = gathered(op, arrays, parents, data) if joint is None else joint.pack(arrays, data)
        record.fits = fitted(op, operands, parents, data)
        record.hooks = None
        record.order = tick()
    if op.makes_views and algebra.is_view(data, operands[0]):
        remember_view(value, args[op.operands[0]], op, args)
    return value


def joined(op):
    """Dispatch of an op of a sequence of operands, and parameters."""
    algebra, native, signature = op.algebra, op.algebra.native, _Signature(op)
    kernel, boxed, rests = op.run, algebra.boxed, signature.rests
    narrow, is_simple = _narrow(op), not (op.is_multiple or op.makes_views)

    def call(*args, **kwargs):
        rest = None if kwargs else rests.get(len(args))
        args = signature.bound(args, kwargs) if rest is None else args + rest
        sequence, mode, known = args[0], current(), algebra.kind
        if mode is not None and mode is not SILENT or sequence.__class__ not in NESTED or not is_simple or not op.has_rule:
            return apply(op, args)
        if not _PLAIN.issuperset(map(type, args[1:])):
            return apply(op, args)
        arrays, records, has_values, kind = [], [], False, known
        for a in sequence:
            if a.__class__ is native:
                arrays.append(a)
                records.append(None)
            elif a.__class__ is known or isinstance(a, Value):
                has_values = True
                kind = kind if a.__class__ is known else None
                arrays.append(a.raw)
                records.append(a.record)
            else:
                return apply(op, args)
        taken = (tuple(arrays), *args[1:])
        try:
            data = kernel(*taken)
        except Exception as error:
            return redirected_or_raised(op, error, args)
        if not has_values:
            return data
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if data.dtype is boxed:
            return unboxed(op, args)
        if narrow is not None and data.dtype is not arrays[0].dtype:
            data = algebra.settled(data, arrays)
        value = _new(kind or kind_of(algebra, sequence))
        value.raw, value.record = data, None
        if mode is None and any(records):
            if not op.is_differentiable:
                return apply(op, args)
            if algebra.is_differentiable(data):
                record = value.record = Record()
                record.op = op
                record.parents = parents = tuple(records)
                joint = op.joint
                record.saved = gathered(op, taken, parents, data) if joint is None else joint.pack(taken, data)
                record.fits = fitted(op, arrays, parents, data)
                record.hooks = None
                record.order = tick()
        return value

    return call


_EMPTY, _new = (), object.__new__
# Parameters without a graph of their own.
_PLAIN = frozenset([int, float, bool, str, slice, type, type(None), type(...)])


def _plain_test(algebra):
    """What says of an argument whether it has no graph, as can be told at a glance."""
    constants, native = algebra.constants, algebra.native

    def is_plain(argument):
        kind = argument.__class__
        if kind in NESTED:
            return _PLAIN.issuperset(map(type, argument)) or all([a.__class__ is native or is_plain(a) for a in argument])
        return kind in _PLAIN or isinstance(argument, constants)

    return is_plain


def general(op):
    """Dispatch of an op with any signature."""
    signature = _Signature(op)

    def call(*args, **kwargs):
        return apply(op, signature.bound(args, kwargs))

    return call
