"""Recorder: what puts ops down as symbols in place of running them; base of traces and of lazy graphs."""

from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ...core.dispatch import as_arrays, check_parameters, check_results, kind_of, operands_of, recorded, unboxed
from ...core.explain import NESTED, explained
from ...core.mode import current
from ...core.symbol import Symbol, symbols_in
from ...core.value import Projection, Value, of_kind
from ...dtypes import as_dtype, common_dtype, is_float
from ...errors import TraceError
from ...ops._arrays import arrays
from ...ops.manipulation.selections import getitem
from .infer import infer, stand_in
from .views import moves


def _hold(states):
    """Let values be in `states`."""
    for value, data, record in states:
        value.raw, value.record = data, record


class Pick:
    """The op of one result of an op with several: (these, its number), and the order of its axes if that is another."""

    name, family, expansion, broadcasts, has_effect = "pick", "pick", None, False, False


PICK = Pick()


class Recorder:
    """Records ops. A subclass says what the symbol of a value from outside is (`symbol`), and may choose its own nodes."""

    #: Whether what is recorded runs as soon as somebody reads a value, so that reading and writing need no refusal.
    is_lazy = False
    #: Whether a value stands for one of many examples.
    is_batch = False
    #: What records a scan where loops can be compiled as such; handed in, since it stands above.
    scan: Any = None
    #: What records around this one: that of a vmap stands within another, or within none.
    outer: Any = None
    #: What makes a value a view of the one that it was made of; handed in as well.
    shown: Any = None

    def symbol(self, value):
        """The symbol of a value."""
        raise NotImplementedError

    def node(self, op, args, shape, dtype):
        """A node of the graph."""
        return Symbol(op, args, shape, dtype)

    def value(self, algebra, node, record=None):
        """The value that stands for a node."""
        return algebra.made(node, record)

    def blank(self, shape, dtype):
        """A value for what is another array in each iteration of a loop."""
        value = arrays.made(Symbol(None, (), tuple(shape), dtype))
        if is_float(dtype):
            value.requires_grad = True
        return value

    def kept(self, algebra, node):
        """A node as the rules will read it."""
        return algebra.made(node)

    def made(self, value):
        """Take note of a value with data that was created while recording."""

    def own(self, value):
        """Take note of a value that was created while recording, whatever memory it shows."""

    def note_shared(self, value, source):
        """Take note that `value` is `source` without its history, and shows the same memory."""

    def stopped(self, value):
        """`value` as a constant for all derivatives, also those around a vmap."""
        return value.unlinked()

    def note_read(self, value):
        """Take note that the program itself is about to read what `value` holds, and give that; None if it has no number."""

    def watch_edits(self, owner, read, what):
        """Take note that what is recorded depends on what `read()` gives, which changes by edits of `owner` only."""

    def noted_leaf(self, value):
        """Take note that `requires_grad` of `value` is about to be set or read; the record that it had at first, of a leaf."""

    def __init__(self):
        #: (value, what it held, its record) of values of this recorder that were written to, for each write.
        self.writes = []
        #: The nodes of inputs, and the identities of tensors from outside, that count as lying row by row in memory.
        self.in_rows = set()

    def snapshot(self):
        """What values hold now, for `rewound_to`."""

    @contextmanager
    def made_rewound_to(self, count):
        """Within it, values of this recorder hold what they did when they had been written to `count` times."""
        present, since = len(self.writes), self.writes[count:]
        now = [(value, value.raw, value.record) for value, *_ in since]
        _hold(reversed(since))
        try:
            yield
        finally:
            del self.writes[present:]
            _hold(now)

    def rewound_to(self, past):
        """A context manager within which values hold what they did when `snapshot` gave `past`, where that is known here."""
        return nullcontext()

    def note_hook(self, value, handle):
        """Nothing: a hook of a lazy value is called as that of any other. A trace looks what it left outside."""

    def defers_writes(self, value):
        """Whether a write to `value` is put down as well, rather than done at once."""
        return True

    def check_within(self, value):
        """Raise an error if `value` cannot be written to where the program is now."""

    def set_aside(self, value):
        """Keep what `value`, if it was created while recording, was created with, since it is about to hold something else."""

    def function_called(self, function, context, args, outputs):
        """The `outputs` of a call of a `Function`, which left the `context`, as they are to be recorded."""
        return outputs

    def held(self, value):
        """(what `value` is in all examples of a vmap, whether it differs between them); None where nothing is vmapped."""

    def is_plain(self, value):
        """Whether `value` stands for what is an array, and no tensor, where nothing is recorded."""
        return False

    def note_kind(self, value, is_plain):
        """Let `value` stand for an array, or for a tensor."""

    def repeated(self, known, key, formula, values):
        """`formula(*values)`, a list of values that depends on the specs of the values and on `key` alone; `known` is for what is
        found of it, and is the same for all calls that may be alike.
        """
        return formula(*values)

    def refused(self, op, args):
        """What becomes of a call whose shape depends on data."""
        raise explained(op, TraceError("the shape of the result depends on data, which has no numbers while it is traced; use "
                                       "rg.where, or move the op out of the jitted function"), args)

    def apply(self, op, args):
        """The result of `op` on `args`, some of which may be values without data."""
        operands = operands_of(op, args)
        if any([a.__class__ is np.ndarray and a.dtype is arrays.boxed for a in operands]):
            return unboxed(op, args)
        # Arrays alone are computed at once, as outside of a trace; an effect must wait for the call.
        if not op.has_effect and not any([isinstance(a, Value) for a in operands]) and not _has_values(args):
            return op.kernel(*args)
        args = _with_dtypes(op, args)
        operands = operands_of(op, args)
        # `astype` with nothing to convert shows the same memory: it is recorded as the view that it is.
        if op.makes_views and op.family == "conversion" and isinstance(args[0], Value) and _has_nothing_to_convert(*args):
            return self.apply(getitem.op, (args[0], ...))
        symbolic = tuple(self.symbolics(op, args))
        if op.family == "indexing" and _chooses_by_mask(op, symbolic):
            return self.refused(op, args)
        try:
            spec = infer(op, symbolic)
        except Exception as error:  # noqa: BLE001 - whatever the kernel raises, the op and its inputs are named
            raise explained(op, error, args) from None
        # Integers that are traced stand as zeros while shapes are found. If other numbers give another shape, none is known.
        if op.family in SIZED and _depends_on_sizes(op, symbolic, spec):
            return self.refused(op, args)
        parents = self._parents(op, args, operands, spec)
        if op.is_multiple:
            return self._several(op, args, parents, self.node(op, symbolic, None, None), spec, kind_of(op.algebra, operands))
        return self._single(op, args, symbolic, parents, spec, kind_of(op.algebra, operands))

    @staticmethod
    def _parents(op, args, operands, spec):
        """The records of operands; None of a call that is not recorded. Raises where a gradient would be lost."""
        if not current().records:
            return None
        if op.is_differentiable:
            check_parameters(op, args)
        found = tuple([a.record if isinstance(a, Value) else None for a in operands])
        if any(found) and not op.is_differentiable:
            check_results(op, args, any([is_float(dtype) for _, dtype in (spec if op.is_multiple else (spec,))]))
        return found if op.is_differentiable and any(found) else None

    def _single(self, op, args, symbolic, parents, spec, kind):
        """The value of an op with one result; `parents` are None where it is not recorded."""
        shape, dtype = spec
        if "dtype" not in op.arguments:
            dtype = op.algebra.settled_dtype(dtype, operands_of(op, symbolic))
        node = self.node(op, symbolic, shape, dtype)
        record = self._recorded(op, args, parents, node) if parents is not None and is_float(dtype) else None
        found = of_kind(self.value(op.algebra, node, record), kind)
        return self.viewed(found, op, args) if op.makes_views and moves(op, args[1:]) else found

    def viewed(self, found, op, args):
        """`found` as a view of what `op` has made it of."""
        return found if self.shown is None else self.shown(self, found, args[0], (op, args[1:]))

    def _several(self, op, args, parents, node, specs, kind):
        # Each result is a node of its own, so that what nobody reads is not computed, or is known not to be wanted.
        parts = [self.node(PICK, (node, i), *spec) for i, spec in enumerate(specs)]
        if parents is None:
            return tuple([of_kind(self.value(op.algebra, p), kind) for p in parts])
        record = self._recorded(op, args, parents, tuple(parts))
        return tuple([
            of_kind(self.value(op.algebra, p, Projection(record, i, len(parts)) if is_float(p.dtype) else None), kind)
            for i, p in enumerate(parts)
        ])

    def _recorded(self, op, args, parents, nodes):
        return recorded(op, args, parents, nodes, current(), self.detached)

    def symbolics(self, op, args):
        """The arguments of `op` with symbols where values stand."""
        return [
            self.symbol(a) if isinstance(a, Value) else self.symbolic(a) if a.__class__ in NESTED else a for a in args
        ]

    def symbolic(self, argument):
        """`argument` with symbols where values stand."""
        if isinstance(argument, Value):
            return self.symbol(argument)
        if argument.__class__ in NESTED:
            return argument.__class__([self.symbolic(a) for a in argument])
        return argument

    def detached(self, algebra, saved):
        """What a record saves as the rules will read it: values without their history, and values of `algebra` for nodes."""
        if saved.__class__ in NESTED:
            return saved.__class__([self.detached(algebra, s) for s in saved]) if saved else saved
        if isinstance(saved, Value):
            return self.kept(saved.algebra, self.symbol(saved))
        return self.kept(algebra, saved) if isinstance(saved, Symbol) else saved


#: Numbers of Python whose kinds are those of dtypes: NumPy lets arrays keep theirs when they meet such.
_NUMBERS = {"b": True, "i": 1, "f": 1.0}


def _with_dtypes(op, args):
    """`args` in which lists are arrays, and numbers that take the dtype of what they meet have it."""
    if any([a.__class__ in NESTED or isinstance(a, np.generic) for a in args]):
        args = as_arrays(op, args)
    operands = operands_of(op, args)
    return _met(op, args, operands) if any([getattr(a, "is_weak", False) for a in operands]) else args


def _met(op, args, operands):
    """`args` in which numbers that take the dtype of what they meet have it."""
    strong = [a.dtype for a in operands if hasattr(a, "dtype") and not getattr(a, "is_weak", False)]
    if not strong:
        return args
    numbers = [_NUMBERS[a.dtype.kind] for a in operands if getattr(a, "is_weak", False)]
    dtype = op.algebra.settled_dtype(np.result_type(common_dtype(strong), *numbers), [np.empty((), d) for d in strong])

    def with_dtype(argument):
        if argument.__class__ in NESTED:
            return argument.__class__(map(with_dtype, argument))
        return argument.astype(dtype) if getattr(argument, "is_weak", False) else argument

    return tuple([with_dtype(a) if i in op.operands or op.is_variadic else a for i, a in enumerate(args)])


def _has_values(argument):
    if isinstance(argument, (tuple, list)):
        return any([_has_values(a) for a in argument])
    return isinstance(argument, Value)


#: Families of ops in which integers among the parameters are sizes, rather than positions.
SIZED = frozenset(["movement", "joining", "reduction", "creation", "composite"])


def _has_nothing_to_convert(x, dtype, copy=True, device=None):
    """Whether a conversion may give a view of what it is asked to convert, and does."""
    return not copy and device is None and x.dtype == as_dtype(dtype)


def _chooses_by_mask(op, args):
    """Whether booleans choose elements, so that their number depends on data."""
    return any([s.dtype.kind == "b" for s in symbols_in(_parameters(op, args))])


def _depends_on_sizes(op, args, spec):
    """Whether `op` gives another shape where the integers among its parameters are others; `spec` is for zeros."""
    if op.result_shape is not None:
        return False
    if not any([s.dtype.kind in "biu" for s in symbols_in(_parameters(op, args))]):
        return False
    try:
        with np.errstate(all="ignore"):
            result = op.kernel(*[stand_in(a) if i in op.operands else _ones_like(a) for i, a in enumerate(args)])
    except IndexError:  # a position
        return False
    except Exception:  # noqa: BLE001 - whatever the kernel raises, it did not for zeros
        return True
    return [np.shape(r) for r in result] != [s for s, _ in spec] if op.is_multiple else np.shape(result) != spec[0]


def _parameters(op, args):
    return args[1:] if op.is_variadic else [a for i, a in enumerate(args) if i not in op.operands]


def _ones_like(argument):
    if isinstance(argument, Symbol):
        return np.broadcast_to(np.ones((), argument.dtype), argument.shape)
    if isinstance(argument, (tuple, list)):
        return type(argument)([_ones_like(a) for a in argument])
    return argument
