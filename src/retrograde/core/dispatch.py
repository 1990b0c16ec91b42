"""Dispatch: what happens when an op is called. An op answers in the kind it was asked in.

Plain data in, plain data out; a Value in, a Value out, recorded if an operand needs a gradient. `unary` and `binary`
are `apply` for the commonest signatures, with everything that does not concern them left out: what they save is most
of the cost of a small op.
"""

import inspect
import weakref
from typing import Any

from ..errors import DTypeError, OutOfRangeError, RetrogradeError, ShapeError
from . import anomaly
from .mode import current
from .value import Projection, Record, Value, tick


def dispatcher(op):
    """The function that runs `op` on whatever it is called with."""
    simple = not (op.makes_views or op.is_variadic or op.is_multiple or op.is_composite)
    if simple and len(op.arguments) == len(op.operands) <= 2 and op.kernel.__defaults__ is None:
        return (unary if len(op.operands) == 1 else binary)(op)
    return general(op)


def unary(op):
    """Dispatch of an op of one operand and nothing else."""
    kernel, algebra, native = op.kernel, op.algebra, op.algebra.native
    has_shapes, narrow = algebra.has_shapes, algebra.narrow

    def call(x, /):
        kind = algebra.kind
        try:
            if x.__class__ is not kind and not isinstance(x, Value):
                return kernel(x)
            if current() is not None:
                return apply(op, (x,))
            array = x.data
            data = kernel(array)
        except Exception as error:
            raise explained(op, error, (x,)) from None
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if has_shapes and array.dtype is narrow:
            data = algebra.settled(data, (array,))
        parent = x.record
        if parent is None:
            return kind(data)
        if op.packs is None:
            return apply(op, (x,)) if op.is_differentiable else kind(data)
        pack = op.packs[0]
        return kind(data, Record(op, (parent,), ((),) if pack is None else (pack((array,), data),)))

    return call


def binary(op):
    """Dispatch of an op of two operands and nothing else."""
    kernel, algebra, native = op.kernel, op.algebra, op.algebra.native
    has_shapes, narrow = algebra.has_shapes, algebra.narrow

    def call(x, y, /):
        kind = algebra.kind
        a, b, p, q = x, y, None, None
        try:
            if x.__class__ is kind or isinstance(x, Value):
                a, p = x.data, x.record
                array = a
                if y.__class__ is kind or isinstance(y, Value):
                    b, q = y.data, y.record
            elif isinstance(y, Value):
                array = b = y.data
                q = y.record
            else:
                return kernel(x, y)
            if current() is not None:
                return apply(op, (x, y))
            data = kernel(a, b)
        except Exception as error:
            raise explained(op, error, (x, y)) from None
        if data.__class__ is not native:
            data = algebra.wrap(data)
        if has_shapes:
            dtype = array.dtype
            if dtype is narrow:
                data = algebra.settled(data, (a, b))
        if p is None and q is None:
            return kind(data)
        picks = op.picks
        if picks is None:
            if op.packs is None:
                return apply(op, (x, y)) if op.is_differentiable else kind(data)
            saved = gathered(op, (a, b), (p, q), data)
        elif picks is NOTHING:
            saved = _EMPTY
        elif picks is CROSSED:
            saved = (() if p is None else (b,), () if q is None else (a,))
        else:
            values = (a, b, data)
            first, second = picks
            saved = (
                () if first is None or p is None else (values[first],),
                () if second is None or q is None else (values[second],),
            )
        if has_shapes and b.__class__ is native is a.__class__:
            is_alike = dtype is b.dtype and a.shape == b.shape
        else:
            is_alike = b.__class__ in _NUMBERS or a.__class__ in _NUMBERS
        # As kind(data, Record(op, (p, q), saved, fits)), without the cost of calling two constructors.
        record = _new(Record)
        record.op = op
        record.parents = (p, q)
        record.saved = saved
        record.fits = None if is_alike else fitted(op, (a, b), (p, q), data)
        record.order = tick()
        record.hooks = None
        value = _new(kind)
        value.data = data
        value.record = record
        return value

    return call


# Beside these an array keeps its shape and its dtype.
_NUMBERS = frozenset([float, int])
# What the rules of the two commonest ops read: those of sums nothing, those of products the other operand.
NOTHING, CROSSED = (None, None), (1, 0)
_EMPTY = ((), ())
_new = object.__new__


def gathered(op, arrays, parents, data):
    """What the rules of the parents will read, a tuple for each."""
    return tuple([
        () if parent is None or pack is None else pack(arrays, data) for parent, pack in zip(parents, op.packs, strict=True)
    ])


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
            raise _misspelt(op, kwargs) or error from None
        return apply(op, bound)

    return call


#: What other libraries call arguments, and what they are called here.
_SPELLINGS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}


def _misspelt(op, names):
    """The error for arguments that go by the names of another library; None if that is not what is wrong."""
    known = [n for n in names if n not in op.arguments and _SPELLINGS.get(n) in op.arguments]
    if not known:
        return None
    return TypeError(f"{op.name}() takes {', '.join(f'{_SPELLINGS[n]}=' for n in known)}, as the Array API standard has it, not "
                     f"{', '.join(f'{n}=' for n in known)}")


def binder(op):
    """A function with the signature of the op's kernel that returns all its arguments as a tuple.

    Written as source once per op: Python's own argument handling is ten times faster than `inspect.Signature.bind`.
    """
    parameters = inspect.signature(op.kernel).parameters.values()
    spelled = [p.replace(default=inspect.Parameter.empty, annotation=inspect.Parameter.empty) for p in parameters]
    defaults = {f"_{p.name}": p.default for p in parameters if p.default is not inspect.Parameter.empty}
    words = [f"{p.name}=_{p.name}" if f"_{p.name}" in defaults else p.name for p in spelled]
    slash = sum(p.kind is inspect.Parameter.POSITIONAL_ONLY for p in spelled)
    words.insert(slash, "/")
    namespace = dict(defaults)
    source = f"def {op.name}({', '.join(words)}): return ({', '.join(op.arguments)},)"
    exec(source, namespace)  # noqa: S102 - our own text, made of the names in the signature
    return namespace[op.name]


def apply(op, args):
    """Run `op` on `args`, all its arguments in order, and record it if an operand needs a gradient."""
    if op.is_composite and not op.has_rule:
        return composed(op, args)
    if op.is_variadic:
        args = (tuple(args[0]), *args[1:])
    mode = current()
    if mode is not None and mode.tracer is not None:
        return mode.tracer.apply(op, args)
    arrays = [a.data if isinstance(a, Value) else plain(a) if a.__class__ in _NESTED else a for a in args]
    try:
        data = op.kernel(*arrays)
    except Exception as error:
        raise explained(op, error, args) from None
    if not op.is_variadic and not any([isinstance(a, Value) for a in args]):
        return data  # as in every rule of a walk that is not recorded
    operands = args[0] if op.is_variadic else [args[i] for i in op.operands]
    parents = tuple([a.record if isinstance(a, Value) else None for a in operands])
    if parents.count(None) == len(parents) and not any([isinstance(a, Value) for a in (*operands, *args)]):
        return data
    if mode is not None and mode.finds_anomalies:
        anomaly.check_forward(op, operands, data)
    records = op.is_differentiable and any(parents) and (mode is None or mode.records)
    if op.is_multiple:
        return several(op, arrays, parents if records else None, data)
    data = data if data.__class__ is op.algebra.native else op.algebra.wrap(data)
    if op.algebra.narrow is not None and "dtype" not in op.arguments:
        data = op.algebra.settled(data, [plain(x) for x in operands])
    record = None
    if records and op.algebra.is_differentiable(data):
        record = recorded(op, arrays, parents, data, mode)
    value = op.algebra.kind(data, record)
    if op.makes_views and (mode is None or mode.tracks_views) and op.algebra.is_view(data, operands[0].data):
        remember_view(value, operands[0], op, args)
    return value


def composed(op, args):
    """A composite without a rule of its own: the ops that it is made of are recorded instead."""
    try:
        return op.kernel(*args)
    except Exception as error:
        raise explained(op, error, args) from None


_NESTED = frozenset([tuple, list])


def plain(argument):
    """An argument without its graph: the data of a value, of each value in a sequence, or the argument itself."""
    if isinstance(argument, Value):
        return argument.data
    if argument.__class__ in _NESTED:
        return argument.__class__([plain(a) for a in argument])
    return argument


def recorded(op, arrays, parents, data, mode=None):
    """The record of `op`, called on `arrays` with `data` as its result, in `mode`."""
    if mode is not None and not mode.keeps_arrays:
        return Record(op, parents, None)
    saved = ()
    if op.packs is not None:
        saved = gathered(op, arrays, parents, data)
    elif op.joint is not None:
        saved = op.joint.pack(arrays, data)
    operands = arrays[0] if op.is_variadic else [arrays[i] for i in op.operands]
    record = Record(op, parents, saved, fitted(op, operands, parents, data))
    if mode is not None and mode.finds_anomalies:
        record.site = anomaly.call_site()
    return record


def fitted(op, operands, parents, data):
    """What each cotangent must be brought to; None where nothing has to be done for any."""
    fits, broadcasts, is_needed = op.algebra.fits, op.broadcasts, False
    data = data[0] if op.is_multiple else data
    found = []
    for operand, parent in zip(operands, parents, strict=True):
        fit = None if parent is None else fits(operand, data, broadcasts)
        is_needed = is_needed or fit is not None
        found.append(fit)
    return found if is_needed else None


def several(op, arrays, parents, results):
    """The values of an op with several results, each a projection of one record."""
    algebra = op.algebra
    results = tuple([r if r.__class__ is algebra.native else algebra.wrap(r) for r in results])
    if parents is None:
        return tuple([algebra.kind(r) for r in results])
    record = recorded(op, arrays, parents, results, current())
    return tuple([
        algebra.kind(r, Projection(record, i, len(results)) if algebra.is_differentiable(r) else None)
        for i, r in enumerate(results)
    ])


def remember_view(view, source, op, args):
    """Note on `view` how it comes from its base, and on the base that it has a view."""
    base = view.base = source if source.base is None else source.base
    view.path = (*source.path, (op, args[1:]))
    if base.record is not None and base.is_leaf:
        return  # such a base cannot be written to while anything is recorded
    if base.views is None:
        base.views = []
    elif len(base.views) >= 16 and (len(base.views) & (len(base.views) - 1)) == 0:
        base.views[:] = [ref for ref in base.views if ref() is not None]
    base.views.append(weakref.ref(view))


_CONVERSIONS = ((IndexError, OutOfRangeError), (TypeError, DTypeError), (ValueError, ShapeError))


def explained(op, error, args):
    """`error` as an error of ours that names the op and what it was called with; of composites the outermost."""
    bare = getattr(error, "bare", str(error))
    if getattr(error, "names_op", False) and not (op.is_composite and hasattr(error, "bare")):
        return error
    described = ", ".join(_described(a) for a in args)
    text = f"{op.name}({described}): {bare}"
    if isinstance(error, RetrogradeError):
        found: Any = type(error)(text)
    else:
        found = next((ours(text) for theirs, ours in _CONVERSIONS if isinstance(error, theirs)), error)
    found.names_op, found.bare = True, bare
    return found


def _described(argument):
    if isinstance(argument, Value):
        return argument.algebra.describe(argument.data)
    if hasattr(argument, "shape") and hasattr(argument, "dtype"):
        return f"{argument.dtype}{list(argument.shape)}"
    if argument.__class__ in _NESTED and any(isinstance(a, Value) for a in argument):
        return f"[{', '.join(map(_described, argument))}]"
    text = repr(argument)
    return text if len(text) <= 60 else text[:57] + "..."
