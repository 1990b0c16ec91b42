"""Calls of ops that take parameters: `dispatch.apply` for the commonest of them, with what does not concern them left out."""

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
    kernel, algebra, native = op.large or op.kernel, op.algebra, op.algebra.native
    narrow, broadcasts, signature = None if "dtype" in op.arguments else algebra.narrow, op.broadcasts, _Signature(op)
    rests, is_plain = signature.rests, _plain_test(algebra)

    def call(*args, **kwargs):
        given = args  # what is by default is plain
        rest = None if kwargs else rests.get(len(args))
        if rest is None:
            given = args = signature.bound(args, kwargs)
        elif rest:
            args += rest
        x, packs, mode = args[0], op.packs, current()
        # Rules call ops on the arrays of a walk far more often than users do.
        if x.__class__ is native and (mode is None or mode.tracer is None) and (
                len(given) == 1 or _PLAIN.issuperset(map(type, given[1:]))
                or all([a.__class__ is native or is_plain(a) for a in given[1:]])):
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
        if len(given) == 1 or _PLAIN.issuperset(map(type, given[1:])):
            arrays = (array, *args[1:])
        else:
            if op.is_differentiable and mode is None:
                check_parameters(op, args)
            arrays = (array, *map(plain, args[1:]))
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
    algebra, native, signature = op.algebra, op.algebra.native, _Signature(op)
    kernel, narrow, boxed = op.large or op.kernel, algebra.narrow, algebra.boxed
    keeps_dtype, parameters, is_multiple = "dtype" in op.arguments, op.parameters, op.is_multiple
    places, rests, is_plain = op.operands, signature.rests, _plain_test(algebra)

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
                    return apply(op, args)
        try:
            data = kernel(*arrays)
        except Exception as error:
            return redirected_or_raised(op, error, args)
        if not has_values:
            return data
        operands, parents = [arrays[i] for i in places], tuple([records[i] for i in places])
        kind = kind or kind_of(algebra, [args[i] for i in places])
        has_parents = mode is None and any(parents)
        if is_multiple:
            return several(op, arrays, parents if has_parents else None, data, kind)
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if data.dtype is boxed:
            return unboxed(op, args)
        # Nothing has been widened if the result is of the type of the first operand.
        if narrow is not None and not keeps_dtype and data.dtype is not getattr(operands[0], "dtype", None):
            data = algebra.settled(data, operands)
        record = None
        if has_parents and algebra.is_differentiable(data):
            record = Record()
            record.op = op
            record.parents = parents
            joint = op.joint
            record.saved = gathered(op, arrays, parents, data) if joint is None else joint.pack(arrays, data)
            record.fits = fitted(op, operands, parents, data)
            record.hooks = None
            record.order = tick()
        value = _new(kind)
        value.raw, value.record = data, record
        if op.makes_views and algebra.is_view(data, operands[0]):
            remember_view(value, args[places[0]], op, args)
        return value

    return call


def joined(op):
    """Dispatch of an op of a sequence of operands, and parameters."""
    algebra, native, signature = op.algebra, op.algebra.native, _Signature(op)
    kernel, boxed, rests = op.large or op.kernel, algebra.boxed, signature.rests
    narrow, is_simple = None if "dtype" in op.arguments else algebra.narrow, not (op.is_multiple or op.makes_views)

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
