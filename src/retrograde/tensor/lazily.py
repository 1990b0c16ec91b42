"""Recording lazily: ops on tensors put down as nodes, whatever their operands are, to be computed when they are read."""

import weakref

import numpy as np

from ..compiler.calls.pending import Pending, leaf_of
from ..compiler.graph.orders import in_order, written_over
from ..compiler.graph.recorder import SIZED, Recorder
from ..compiler.graph.views import moves
from ..core import dispatch
from ..core.mode import changed, current
from ..core.symbol import Symbol
from ..core.value import Record, Unsettled, Value
from ..errors import TraceError
from ..ops._arrays import arrays
from .lazy import Holder, Lazy, lazy_tensor, settle


class Lazily(Recorder):
    """Records ops on tensors as pending nodes. `group`, if given, receives the gradients that are found."""

    is_lazy = True

    def __init__(self, group=None):
        self.group = group

    def collecting(self, group):
        """One that adds references to the holders of gradients to `group`."""
        return type(self)(group)

    def node(self, op, args, shape, dtype):
        return Pending(op, args, shape, dtype)

    def value(self, algebra, node, record=None):
        holder = Holder(node, self)
        node.holder = weakref.ref(holder)
        return lazy_tensor(holder, record)

    def kept(self, algebra, node):
        return lazy_tensor(Holder(node, self))

    def refused(self, op, args):
        """The result of `op`, computed at once."""
        with changed(tracer=None):
            return dispatch.apply(op, args)

    def apply(self, op, args):
        values = list(_values(args))
        stale = [value for value in values if value.__class__ is Lazy and value.is_stale]
        if stale:
            settle(stale)
        is_view = op.makes_views and moves(op, args[1:])
        if not _can_wait(op, values) or (is_view and args[0].__class__ is not Lazy):
            return self.refused(op, args)  # a view of what is there costs nothing
        return super().apply(op, args)

    def viewed(self, found, op, args):
        if current().tracks_views:
            dispatch.remember_view(found, args[0], op, args)
            dispatch.note_reference(found.base.holder.views, found)
            found.sources = (*args[0].sources, args[0])[: len(found.path)]
            found.holder.symbol.holder = None  # shown through its base
        return found

    def _recorded(self, op, args, parents, result):
        record = super()._recorded(op, args, parents, result)
        if record.__class__ is Record:
            record.__class__ = Unsettled
        return record

    def symbolics(self, op, args):
        operands = (0,) if op.is_variadic else op.operands
        return [
            self.symbolic(_with_leaves(a) if i in operands or op.family not in SIZED else a) for i, a in enumerate(args)
        ]

    def symbol(self, value):
        """The node of a lazy tensor, or the leaf that reads the memory of one that is there."""
        if value.__class__ is Lazy:
            return value.holder.symbol
        data = value.raw
        if isinstance(data, Pending):
            return data
        if isinstance(data, Symbol):
            raise TraceError("a value that was being traced by jit was used after the trace had ended; return it from the "
                             "jitted function")
        found = None if data.flags.c_contiguous or value.base is None else _leaf_of_view(value)
        return leaf_of(data) if found is None else found

    def defers_writes(self, value):
        if value.__class__ is Lazy and (value.base is not None or value.holder.views):
            _part_copies(value if value.base is None else value.base)
        return value.__class__ is Lazy and value.base is None and not value.holder.views and not value.is_stale

    def write(self, value, data):
        """Let a lazy tensor be `data` from here on."""
        node = self.symbol(data) if isinstance(data, Value) else leaf_of(data)
        written_over(node, value.holder.symbol)
        value.holder.symbol = node
        if node.op is not None:
            node.holder = weakref.ref(value.holder)

    @staticmethod
    def read_gradient(value):
        """What `value.grad` is."""
        with changed(tracer=None):
            return value.grad

    def write_gradient(self, value, gradient):
        """Let `value.grad` be `gradient`, which shares its memory with no other."""
        if gradient.__class__ is Lazy:
            gradient = self.value(gradient.algebra, gradient.holder.symbol, gradient.record)
            if self.group is not None:
                gradient.holder.group = self.group
                self.group.append(weakref.ref(gradient.holder))
        with changed(tracer=None):
            value.grad = gradient


def _values(args):
    for a in args:
        if isinstance(a, Value):
            yield a
        elif a.__class__ in (tuple, list):
            yield from _values(a)


def _can_wait(op, values):
    """Whether the compiler can compute `op` later: its numbers are NumPy's, and nobody wants to look at each result."""
    if op.algebra is not arrays or op.has_effect or op.name == "copy_to_device" or current().finds_anomalies:
        return False
    return all([
        value.kind is arrays.kind
        and (value.__class__ is Lazy or value.raw.__class__ is np.ndarray or isinstance(value.raw, Symbol))
        for value in values
    ])


def _with_leaves(argument):
    """`argument` with leaves where arrays stand."""
    if argument.__class__ is np.ndarray:
        return leaf_of(argument)
    if argument.__class__ in (tuple, list):
        return argument.__class__([_with_leaves(a) for a in argument])
    return argument


def _part_copies(base):
    """Let go of what `base` does not share with eager ops: to reshape what lies in another order is to copy it, and an element
    alone is a number. What it does share stays a view, so that `base` must lie in their order; views of a copy are views of that.
    """
    if base.__class__ is not Lazy or base.holder.array is not None:
        return
    views = [view for reference in base.holder.views if (view := reference()) is not None and view.__class__ is Lazy]
    is_reshaped = any([op.name == "reshape" for view in views for op, _ in view.path])
    base.holder.like = in_order(base.holder.symbol) if is_reshaped else None
    start = np.empty(base.shape, base.dtype) if base.holder.like is None else base.holder.like
    copies = [view.part(steps) for view in views if (steps := _steps_to_copy(start, view.path)) is not None]
    for copy in copies:
        copy.holder.symbol.holder = weakref.ref(copy.holder)
        _part_copies(copy)


def _steps_to_copy(start, path):
    """After how many steps of a path from an array what is found shares its memory no more; None where it does to the end."""
    found = start
    for steps, (op, rest) in enumerate(path, 1):
        found = op.kernel(found, *rest)
        if found is not start and not arrays.is_view(found, start):
            return steps
    return None


def _leaf_of_view(value):
    """A leaf for the base of a view, and the nodes that lead from there to the view; None where that is not so."""
    array = value.base.raw
    node = leaf_of(array)
    for op, rest in value.path:
        if not moves(op, rest):
            return None
        array = op.kernel(array, *rest)
        node = Pending(op, (node, *rest), array.shape, array.dtype)
    is_same = (array.__array_interface__["data"], array.strides) == (value.raw.__array_interface__["data"], value.raw.strides)
    return node if is_same else None
