"""vmap: a function of one example, called once for all of them."""

from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from .. import tree
from ..compiler.graph.infer import check_kind
from ..compiler.graph.orders import written_over
from ..compiler.graph.recorder import PICK, Recorder
from ..core import writes
from ..core.mode import changed, current, is_recording
from ..core.symbol import Symbol, replaced, symbols_in
from ..core.value import Value, of_kind
from ..dtypes import is_float
from ..errors import ArgumentError, MissingRuleError, ShapeError, TraceError
from ..ops.elementary.conversions import astype
from ..ops.manipulation.movements import broadcast_to, moveaxis
from ..tensor.boxes import gathered
from ..tensor.creation import asarray
from ..tensor.shown import shown
from ..tensor.tensor import Tensor
from .batching import Batched, batched, looped
from .by_rules import ByRules
from .called import called
from .examples import scan_of_examples
from .plain import is_tensor, numbers_kept, owned, plain, tensor, wrapping
from .stopped import Stopped


def vmap(function, in_axes: Any = 0, out_axes: Any = 0):
    """The function that calls `function` for each example along an axis of its arguments, all at once.

    in_axes   for each argument, the axis along which its arrays hold the examples, or None for what is the same for all; one
              integer for all arguments. An argument may be a tree of arrays.
    out_axes  where the axis of examples stands in the results: one integer, or one for each result of a tuple.

    Ops run on all examples together, by the rule of their family; what has none runs in a loop. Works with `grad` and `jit`,
    inside and outside; loops that `jit` compiles, such as `rg.scan`, are one loop for all examples. What looks at numbers (`if
    x > 0`) is an error, but `rg.cond` and `rg.while_loop` may take another way for each example; random numbers are the same
    for all examples.

    >>> rg.vmap(rg.grad(lambda w, x: (w * x).sum() ** 2), in_axes=(None, 0))(np.ones(2), np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[ 6., 12.],
           [ 0.,  2.]])
    """

    @wrapping(function)
    def of_all(*args, **kwargs) -> Any:
        axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        if len(axes) != len(args):
            raise ArgumentError(f"in_axes must have one entry for each argument, got {len(axes)} for {len(args)}")
        if not all([axis is None or isinstance(axis, (int, np.integer)) for axis in axes]):
            raise ArgumentError(f"in_axes must hold one integer or None for each argument, got {in_axes!r}; an argument that is a "
                                "tree has its examples along one axis, so pass parts that differ in it as arguments of their own")
        pairs = list(zip(args, axes, strict=True))
        batch = Batch(_count([(x, axis) for arg, axis in pairs if axis is not None for x in tree.leaves(arg)]))
        given = [arg if axis is None else tree.map(lambda x, axis=axis: batch.leaf(_in_front(x, axis)), arg) for arg, axis in pairs]
        are_tensors = any(map(is_tensor, tree.leaves(args)))
        with changed(tracer=batch):
            result = tree.map(gathered, numbers_kept(function, given, kwargs))
        held = [batch.held(x)[0] for x in tree.leaves(given) if isinstance(x, Value)]
        return _handed_out(batch, result, out_axes, are_tensors, held)

    return of_all


def _count(leaves):
    """The number of examples in (array, axis) pairs; raises where they differ in it, or none has any."""
    if not leaves:
        raise ArgumentError("vmap needs an argument with examples: arrays, and an axis for them in in_axes")
    counts = []
    for x, axis in leaves:
        shape = np.shape(x) if not isinstance(x, Value) else x.shape
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(f"vmap needs examples along axis {axis}, got an argument of shape {shape}; give None in in_axes for "
                             "what is the same for all")
        counts.append(shape[axis])
    if len(set(counts)) != 1:
        raise ShapeError(f"vmap needs the same number of examples in all arguments, got {counts}")
    return counts[0]


def _in_front(x, axis):
    x = x if isinstance(x, Value) else Tensor(np.asarray(x))
    return x if axis % x.ndim == 0 else moveaxis(x, axis, 0)


def _handed_out(batch, result, out_axes, are_tensors, given):
    """The results with their examples along axes, none of which shares memory with the arguments, `given` for all examples."""
    axes = out_axes if isinstance(out_axes, (tuple, list)) and isinstance(result, (tuple, list)) else None
    if axes is not None:
        if len(axes) != len(result):
            raise ArgumentError(f"out_axes must have one entry for each result, got {len(axes)} for {len(result)}")
        return type(result)([_handed_out(batch, r, axis, are_tensors, given) for r, axis in zip(result, axes, strict=True)])

    def of_leaf(x):
        found = batch.results(x)
        found = owned(found) if found.base is not None or any([found.raw is x.raw for x in given]) else found
        found = found.unlinked() if isinstance(x, Value) and x.record is None else found
        found = found if out_axes == 0 else moveaxis(found, 0, out_axes)
        return found if found.record is not None else tensor(found) if are_tensors else plain(found)

    return tree.map(of_leaf, result)


class Example(Symbol):
    """What stands for one example while all are computed."""

    __slots__ = ()

    def _refuse(self, *_, **__):
        raise TraceError("this value stands for each of many examples in vmap and has no single number; use rg.where instead of "
                         "`if`, index a tensor instead of an array, or call the function in a loop")

    __array__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = item = tolist = _refuse


class Batch(Recorder):
    """Runs each op on all examples as soon as it is called with one of them, in the mode that surrounds the `vmap`."""

    is_batch = True
    shown = staticmethod(shown)

    def __init__(self, count):
        super().__init__()
        mode = current()
        self.count: int = count
        self.outer: Any = None if mode is None else mode.tracer
        self.scan = None if self.outer is None or self.outer.is_lazy or self.outer.scan is None else scan_of_examples
        self._keeps_arrays = mode is None or mode.keeps_arrays
        #: (value, whether it has an axis of examples) of each node, and the nodes of values from outside with these values.
        self._found: dict = {}
        self._outside: dict = {}
        self._made: dict = {}
        #: The nodes, and the identities of what was made, before a branch that may not be chosen; None outside of such.
        self._fixed: Any = None
        #: (tensor from outside, what it held before) of those that were written to, by identity.
        self.written: dict = {}

    def leaf(self, value, differs=True):
        """A leaf that stands for one of the examples in `value`, or for `value` itself if that is the same for all."""
        return self.standing(value, differs).requires_grad_(value.record is not None and is_float(value.dtype))

    def standing(self, value, differs):
        """As `leaf`, for what has no history, or is given one."""
        node = Example(None, (), tuple(value.shape[1:] if differs else value.shape), value.dtype)
        self._found[node] = value, differs
        return of_kind(Tensor(node), value.kind)

    def blank(self, shape, dtype):
        return self.leaf(self.outer.blank(shape, dtype), False)

    def _is_ours(self, value):
        return isinstance(value.raw, Symbol) and value.raw in self._found

    def results(self, x):
        """All that `x`, which the function has returned, stands for."""
        value, has_examples = self._found[self.symbol(x)] if isinstance(x, Value) else (asarray(x), False)
        return value if has_examples else broadcast_to(value, (self.count, *value.shape))

    def held(self, value):
        return self._found[self.symbol(value)]

    def spread(self, value, differs):
        """What `value` stands for: for all examples if it `differs`, also if it is the same for all."""
        return self.results(value) if differs else self.held(value)[0]

    def attempt(self, written=()):
        """As that of the trace around all."""
        self.settle()
        return self.outer.attempt(written)

    def settle(self):
        """Let values stand for what tensors from outside hold now, since a loop may write to these."""
        for key, (value, node) in list(self._outside.items()):
            if value.record is None and not value.is_traced:
                del self._outside[key]
                self._found[node] = Tensor(self.outer.symbol(value)), False

    def mark(self):
        """The present, for `since`."""
        return len(self._found)

    def since(self, mark):
        """The nodes that were made since then, without those of what tensors from outside hold now."""
        return set(islice(self._found, mark, None)).difference([node for _, node in self._outside.values()])

    def now(self, value):
        """What a tensor from outside holds now, as a value around the vmap."""
        return Tensor(self.outer.symbol(value))

    @contextmanager
    def holding(self, values, states):
        """Within it, tensors from outside hold `states`; after it what they held before."""
        noted, self.written = self.written, dict(self.written)
        before = [Tensor(self.symbol(value)) for value in values]
        try:
            self._hold(values, states)
            yield
        finally:
            self._hold(values, before)
            self.written = noted

    def snapshot(self):
        return len(self.writes), None if self.outer is None else self.outer.snapshot()

    @contextmanager
    def rewound_to(self, past):
        count, before = past
        outside, self._outside = self._outside, {}
        try:
            with nullcontext() if before is None else self.outer.rewound_to(before), self.made_rewound_to(count):
                yield
                if before is not None:
                    self.settle()
        finally:
            self._outside = outside

    def _hold(self, values, states):
        for value, state in zip(values, states, strict=True):
            if self._is_ours(value) or id(value) in self._made:
                value.raw = self.symbol(state)
            else:
                self._write_outside(value, self.held(state)[0].unlinked())

    def stopped(self, value):
        if not self._is_ours(value):
            return value.unlinked()
        found: Any = shown(self, self.stopped_now(value), value, (Stopped(self, value), ()))
        found.is_detached = True
        return found

    def stopped_now(self, value):
        """As `stopped`, of what `value`, which is one of the examples, holds now."""
        found, differs = self.held(value)
        with self.around():
            leaf = self.leaf(found.detach() if self.outer is None else self.outer.stopped(found), differs)
        # In that memory it lies, so that a reshape of what is made of it is a view where an eager one is.
        leaf.raw.over = (value.raw,), True
        return leaf

    def note_read(self, value):
        return None if self.outer is None else self.outer.note_read(value)

    def noted_leaf(self, value):
        return None if self.outer is None or self._is_ours(value) else self.outer.noted_leaf(value)

    def watch_edits(self, owner, read, what):
        if self.outer is not None:
            self.outer.watch_edits(owner, read, what)

    def running(self):
        """A context manager within which ops on what stands for examples run on all of them."""
        return changed(tracer=self)

    def around(self):
        """A context manager: within it, all is as it was around the vmap."""
        return changed(tracer=self.outer, keeps_arrays=self._keeps_arrays)

    @contextmanager
    def without_writes(self):
        """Within it, what was there before cannot be written to: what runs need not have been chosen."""
        before, self._fixed = self._fixed, {*self._found, *self._made}
        try:
            yield
        finally:
            self._fixed = before

    def symbol(self, value):
        if self._is_ours(value):
            return value.raw
        if id(value) not in self._outside:
            node = Example(None, (), tuple(value.raw.shape), value.raw.dtype)
            self._outside[id(value)] = value, node
            self._found[node] = value, False
        return self._outside[id(value)][1]

    def node(self, op, args, shape, dtype):
        node = Example(op, args, shape, dtype)
        with self.around():
            found: Any
            found, differs = self._run(op, args, shape)
            if dtype is not None and found.dtype != dtype:
                check_kind(node, found)
                found = astype(found, dtype)  # of bfloat16 and a parameter, the parts of an op give another type than the op
            # Ops on arrays give arrays, also where it is only a parameter that differs between examples.
            self._found[node] = tuple(map(asarray, found)) if isinstance(found, tuple) else asarray(found), differs
        return node

    def _run(self, op, args, shape):
        if op is PICK:
            values, has_examples = self._found[args[0]]
            return values[args[1]], has_examples
        actual = replaced(args, self._actual)
        if not any([self._found[s][1] for s in symbols_in(args)]):
            return op.call(*actual), False
        found = batched(op, actual, shape)
        if found is None and op.expansion is not None and not op.is_multiple:
            found = self._in_parts(op, args)
        return looped(op, actual, self.count) if found is None else found, True

    def _actual(self, symbol):
        value, has_examples = self._found[symbol]
        return Batched(value) if has_examples else value

    def _in_parts(self, op, args):
        """The results by the ops that `op` is made of; None if it is not made of any when called like that, or of such as have no
        derivative, where one may be asked for around the vmap.
        """
        symbols = symbols_in(args)
        has_history = is_recording() and op.is_differentiable and any([self._found[s][0].record is not None for s in symbols])
        try:
            with changed(tracer=self, **({"records": False} if has_history and op.has_rule else {})):
                result = op.expansion(*replaced(args, Tensor))
        except MissingRuleError:
            return None
        found = None if result is NotImplemented else self.results(result)
        if found is None or not has_history or not is_float(found.dtype):
            return found
        if op.has_rule:
            return ByRules.of(op, args, [self._found[s] for s in symbols], partial(Batch, self.count), found)
        return found if found.record is not None else None

    def made(self, value):
        self._made[id(value)] = value
        if self.outer is not None:
            self.outer.made(value)

    def own(self, value):
        if self.outer is not None and not self._is_ours(value):
            self.outer.own(value)

    def set_aside(self, value):
        if self._is_ours(value) or id(value) not in self._made:
            return
        if self.outer is not None:
            self.outer.set_aside(value)
        _, node = self._outside.pop(id(value), (None, None))
        if node is not None:
            self._found[node] = Tensor(value.raw), False

    def write(self, value, data):
        """Let `value` hold `data` from here on. A tensor from outside can hold only what is the same for all examples."""
        symbol = self.symbol(data if isinstance(data, Value) else asarray(data))
        is_ours = self._is_ours(value)
        if self._fixed is not None and isinstance(value, Tensor) and self._was_before(value, is_ours):
            raise TraceError("a branch of cond in vmap, where both run, cannot write to what was there before; return the new "
                             "value")
        if is_ours or id(value) in self._made:
            if self.outer is not None:
                self.outer.check_within(self.held(value)[0] if is_ours else value)
            old = self.symbol(value)
            self.set_aside(value)
            self.writes.append((value, value.raw, value.record))
            written_over(symbol, old)
            value.raw = symbol
            return
        new, has_examples = self._found[symbol]
        if has_examples or new.requires_grad:
            raise TraceError("a tensor from outside a vmapped function cannot be written to with what differs from example to "
                             "example, or has a gradient; return it instead")
        self._write_outside(value, new)

    def _was_before(self, value, is_ours):
        """Whether a value was there before the branch that is run."""
        return value.raw in self._fixed if is_ours else id(value) in self._fixed or id(value) not in self._made

    def _write_outside(self, value, new):
        """Write what is the same for all examples; who has read `value` before keeps what it held then."""
        _, node = self._outside.pop(id(value), (None, None))
        if node is not None:
            self._found[node] = Tensor(value.raw.copy() if self.outer is None else self.outer.symbol(value)), False
        if self.outer is not None:
            self.written.setdefault(id(value), (value, self.now(value)))
            self.outer.write(value, new)
            return
        writes.before(value.algebra, value.raw)
        writes.into(value.raw)[...] = new.raw
        writes.stamp(value.algebra, value.raw)

    def function_called(self, function, context, args, outputs):
        values = [a for a in args if isinstance(a, Value)]
        if not is_recording() or all([self.held(value)[0].record is None for value in values]):
            return outputs
        return called(self, Batch, function, context, args, outputs)

    def read_gradient(self, value):
        raise TraceError("a vmapped function cannot use .grad; compute gradients in it with rg.grad")

    def write_gradient(self, value, gradient):
        self.read_gradient(value)

    def refused(self, op, args):
        raise TraceError(f"{op.name}: in vmap the shape of the result would differ from example to example; use rg.where")
