"""Dispatch: what happens when an op is called. An op answers in the kind it was asked in.

Plain data in, plain data out; a Value in, a Value out, recorded if an operand needs a gradient.
"""

import inspect
import weakref
from collections.abc import Iterable

from ..errors import DTypeError, MissingRuleError
from . import anomaly, writes
from .explain import NESTED, described, explained
from .mode import ORDINARY, current, settled_whole
from .value import Projection, Record, Value


def gathered(op, arrays, parents, data):
    """What the rules of the parents will read, a tuple for each."""
    packs = op.packs
    return tuple([
        () if parent is None or packs[i] is None else packs[i](arrays, data) for i, parent in enumerate(parents)
    ])


#: What other libraries call arguments, and what they are called here.
_SPELLINGS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "diagonal": "k", "unbiased": "correction"}


def misspelt(op, names):
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


def kind_of(algebra, operands):
    """The class of what an op makes of `operands`: that of its algebra, unless one of them is of another kind."""
    found = usual = algebra.kind
    for x in operands:
        if x.__class__ is not usual and isinstance(x, Value) and x.kind is not usual and x.algebra is algebra:
            found = x.kind
    return found


def apply(op, args):
    """Run `op` on `args`, all its arguments in order, and record it if an operand needs a gradient."""
    # Its ops are recorded one by one, each with its own rule, so that nothing is to be done here.
    if op.is_composite and not op.has_rule:
        return composed(op, args)
    operands, has_lists = (), op.is_variadic
    if not has_lists:
        operands = operands_of(op, args)
        has_lists = not NESTED.isdisjoint(map(type, operands))
    if has_lists:
        args, operands = _with_lists(op, args)
    mode = current() or ORDINARY
    # Autocast changes dtypes before anybody looks at them, a trace among them.
    if mode.settles is not None:
        args = mode.settles(op, args)
    if mode.tracer is not None:
        return mode.tracer.apply(op, args)
    # One walk over all arguments, ordered by how often each kind is met.
    arrays, is_plain, native = [], True, op.algebra.native
    for a in args:
        if isinstance(a, Value):
            is_plain = False
            arrays.append(a.raw)
        elif a.__class__ is native or a.__class__ in _NUMBERS:
            arrays.append(a)
        elif a.__class__ in NESTED:
            arrays.append(plain(a))
        elif isinstance(a, op.algebra.constants):
            arrays.append(a)
        elif (found := op.algebra.redirected(op, args)) is not NotImplemented:
            return found
        else:
            arrays.append(a)
    if mode.repeats is not None:
        writes.check_unwritten(op, arrays, mode)
    try:
        data = op.run(*arrays)
    except Exception as error:
        return redirected_or_raised(op, error, args)
    if is_plain and not (op.is_variadic and any([isinstance(a, Value) for a in operands])):
        return data  # as in every rule of a walk that is not recorded
    return _linked(op, args, operands, arrays, data, mode, has_lists)


def _with_lists(op, args):
    """`args` of an op some of whose operands are lists, and the operands: those of an op of many as a tuple, and one value in place
    of each list with values in it, whose history a kernel would drop.
    """
    if not op.is_variadic:
        args = stacked(op, args)
        return args, operands_of(op, args)
    if args[0].__class__ not in NESTED and not isinstance(args[0], Iterable):
        raise DTypeError(f"{op.name} takes a list of arrays, got {described(args[0])} of type {type(args[0]).__name__}")
    operands = tuple(args[0])
    if not NESTED.isdisjoint(map(type, operands)):
        operands = tuple([op.algebra.stacked(a) if a.__class__ in NESTED and _has_values(a) else a for a in operands])
    return (operands, *args[1:]), operands


def _linked(op, args, operands, arrays, data, mode, has_lists):
    """What the kernel made of `arrays` as values, with a record where an operand has one."""
    algebra, taken = op.algebra, operands_of(op, arrays)
    if mode.finds_anomalies:
        anomaly.check_forward(op, operands, data)
    parents = tuple([a.record if isinstance(a, Value) else None for a in operands])
    records = mode.records
    if records:
        if op.parameters and op.is_differentiable:
            check_parameters(op, args)
        records = any(parents)
        if records and not op.is_differentiable:
            check_results(op, args, any(map(algebra.is_differentiable, data if op.is_multiple else (data,))))
            records = False
    if records and has_lists:
        arrays = as_arrays(op, arrays)  # rules read shapes and dtypes, which lists have not
    if op.is_multiple:
        return several(op, arrays, parents if records else None, data, kind_of(algebra, operands))
    if data.__class__ is not algebra.native:
        data = algebra.wrap(data)
    if algebra.boxed is not None and data.dtype is algebra.boxed:
        return unboxed(op, args)
    if algebra.narrow is not None and "dtype" not in op.arguments:
        data = algebra.settled(data, taken)
    record = recorded(op, arrays, parents, data, mode) if records and algebra.is_differentiable(data) else None
    value = algebra.made(data, record, kind_of(algebra, operands))
    if op.makes_views and mode.tracks_views and algebra.is_view(data, taken[0]):
        remember_view(value, operands[0], op, args)
    return value


def without_rule(op, args, data, kind):
    """What an op that has no rule for each operand makes of values with a history: `data`, which can have no gradient, as one of
    `kind`; else what `apply` makes of it, or tells.
    """
    if op.is_differentiable or op.algebra.is_differentiable(data):
        return apply(op, args)
    return op.algebra.made(data, None, kind)


def unboxed(op, args):
    """What `op` gives for args among which are arrays of objects; raises unless these are values."""
    if (found := op.algebra.redirected(op, args)) is not NotImplemented:
        return found
    raise explained(op, of_objects(), args)


def of_objects():
    """The error for data that are no numbers."""
    return DTypeError("an array of numbers is needed, got one of objects")


#: Kinds of arguments that hold no values.
_NUMBERS = frozenset([int, float, bool, str, slice, type, type(None), type(...)])


def stacked(op, args):
    """`args` of `op`, with one value in place of each operand that is a sequence with values in it."""
    for i in op.operands:
        if args[i].__class__ in NESTED and _has_values(args[i]):
            args = (*args[:i], op.algebra.stacked(args[i]), *args[i + 1 :])
    return args


def as_arrays(op, args):
    """`args` of `op` with data in place of operands that are lists of numbers, or numbers with a shape and a dtype that are no
    arrays, as rules and traces need them.
    """
    # Of text there is nothing to wrap.
    if not op.algebra.has_shapes:
        return args
    if op.is_variadic:
        native = op.algebra.native
        return (tuple([op.algebra.wrap(a) if a.__class__ is not native and _is_wrapped(op, a) else a for a in args[0]]), *args[1:])
    for i in op.operands:
        if _is_wrapped(op, args[i]):
            args = (*args[:i], op.algebra.wrap(args[i]), *args[i + 1 :])
    return args


def _is_wrapped(op, operand):
    """Whether an operand without a graph must be wrapped. Numbers of Python's stay what they are: they do not promote."""
    kind = operand.__class__
    return kind in NESTED or (hasattr(operand, "dtype") and kind is not op.algebra.native and not isinstance(operand, Value))


def _has_values(argument):
    return isinstance(argument, Value) or (argument.__class__ in NESTED and any([_has_values(a) for a in argument]))


def operands_of(op, args):
    """Those of the arguments of `op` that can have a derivative."""
    if op.is_variadic:
        return args[0]
    count = op.leading
    return args[:count] if count is not None else [args[i] for i in op.operands]


def composed(op, args):
    """A composite without a rule of its own: the ops that it is made of are recorded instead."""
    mode = current()
    try:
        if mode is not None and mode.settles is not None:
            return settled_whole(op.name, op.kernel, args, {})
        return op.kernel(*args)
    except Exception as error:
        return redirected_or_raised(op, error, args)


def redirected_or_raised(op, error, args):
    """What a library that takes such calls makes of `args`, which the kernel could not; without one, raises `error`, explained."""
    if (found := op.algebra.redirected(op, args)) is not NotImplemented:
        return found
    raise explained(op, error, args) from None


def check_parameters(op, args):
    """Raise a MissingRuleError if a value with a history is given where `op` has no derivative: its gradient would be lost."""
    for i in op.parameters:
        value = args[i]
        if isinstance(value, Value) and value.record is not None and value.algebra.is_differentiable(value.raw):
            raise explained(op, MissingRuleError(
                f"{op.told or op.name} has no derivative for {op.arguments[i]}, which is part of a gradient here; pass "
                f"{op.arguments[i]}.detach() if it is to be a constant"), args)


def check_results(op, args, has_floats):
    """Raise a MissingRuleError if `op` has no derivative and makes floats of a value with a history, which would be lost.

    Who registers an op of their own as one without a derivative says by it that no gradient flows.
    """
    if has_floats and not op.is_foreign:
        raise explained(op, MissingRuleError(
            f"{op.told or op.name} has no derivative, and its operands are part of a gradient here; pass x.detach() if they "
            "are to be constants"), args)


def plain(argument):
    """An argument without its graph: the data of a value, of each value in a sequence, or the argument itself."""
    if isinstance(argument, Value):
        return argument.raw
    if argument.__class__ in NESTED and not _NUMBERS.issuperset(map(type, argument)):
        return argument.__class__([plain(a) for a in argument])
    return argument


def recorded(op, arrays, parents, data, mode=None, detached=None):
    """The record of `op`, called on `arrays` with `data` as its result, in `mode`.

    detached  what makes of values that are kept for the rules what the rules will read, if they are not arrays already
    """
    # A checkpoint: its forward pass is run again for the walk back, so that nothing is kept of this one.
    if mode is not None and not mode.keeps_arrays:
        return Record().filled(op, parents, None)
    saved = ()
    if op.packs is not None:
        saved = gathered(op, arrays, parents, data)
    elif op.joint is not None:
        saved = op.joint.pack(arrays, data)
    if detached is not None:
        saved = detached(op.algebra, saved)
    operands = operands_of(op, arrays)
    # A trace runs once: there every cotangent is looked at, whatever its rule makes of numbers that promote.
    fits = fitted(op, operands, parents, data) if detached is None else specs_of(operands, parents)
    record = Record().filled(op, parents, saved, fits)
    if mode is not None and mode.finds_anomalies:
        record.site = anomaly.call_site()
    return record


def fitted(op, operands, parents, data):
    """What each cotangent must be brought to; None where nothing has to be done for any."""
    algebra, broadcasts, found = op.algebra, op.broadcasts, None
    if op.is_foreign:
        return specs_of(operands, parents)
    data = data[0] if op.is_multiple else data
    has_shapes = algebra.has_shapes
    for i, parent in enumerate(parents):
        if parent is None or has_shapes and _is_alike(operands[i], data, broadcasts):
            continue
        fit = algebra.fits(operands[i], data, broadcasts)
        if fit is not None:
            # A list only where something is to be done, which for most records there is not.
            found = found or [None] * len(parents)
            found[i] = fit
    return found


def specs_of(operands, parents):
    """What the cotangents that a user's rule makes must be brought to; None where nothing is checked."""
    found = [None if parent is None else parent.algebra.spec(x) for x, parent in zip(operands, parents, strict=True)]
    return found if any(found) else None


def _is_alike(operand, data, broadcasts):
    return operand.dtype is data.dtype and (not broadcasts or operand.shape == data.shape)


def several(op, arrays, parents, results, kind):
    """The values of an op with several results, each a projection of one record."""
    algebra = op.algebra
    results = tuple([r if r.__class__ is algebra.native else algebra.wrap(r) for r in results])
    if parents is None:
        return tuple([algebra.made(r, None, kind) for r in results])
    record = recorded(op, arrays, parents, results, current())
    return tuple([
        algebra.made(r, Projection(record, i, len(results)) if algebra.is_differentiable(r) else None, kind)
        for i, r in enumerate(results)
    ])


def remember_view(view, source, op, args):
    """Note on `view` how it comes from its base, and on the base that it has a view."""
    base = view.base = source if source.base is None else source.base
    # A conversion that makes a view had nothing to convert.
    view.path = source.path if op.family == "conversion" else (*source.path, (op, args[1:]))
    if base.record is not None and base.is_leaf:
        return  # such a base cannot be written to while anything is recorded
    # Made when the first view is: few bases have any.
    if base.views is None:
        base.views = []
    note_reference(base.views, view)


def note_reference(references, value):
    """Add a weak reference to a list, from which those that are dead are taken at times."""
    # At powers of two: looked through so seldom that adding one takes the same time however many there are.
    if len(references) >= 16 and (len(references) & (len(references) - 1)) == 0:
        references[:] = [reference for reference in references if reference() is not None]
    references.append(weakref.ref(value))
