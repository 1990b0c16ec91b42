"""Value, what the user holds, and Record, what the graph keeps of one op."""

import weakref
from itertools import count
from typing import TYPE_CHECKING, Any

from ..errors import GraphError
from .edits import edited
from .mode import current, is_tracing
from .symbol import Symbol

# The clock of the graph: records and writes are stamped in the order in which they happen.
tick = count(1).__next__


class Record:
    """How a value was made: the op, the records of its inputs, and the arguments that the rules will read.

    `saved` holds one tuple of arguments per rule; None once they are freed. `fits` holds the shape and dtype that
    the cotangent of each input must be brought to, or None where it has them already. A record never holds its own
    output, so memory goes as soon as the user lets go. It has no constructor but `filled`: one is made for each
    op, and Python makes an instance of a class without a constructor in less time.
    """

    __slots__ = ("fits", "hooks", "op", "order", "parents", "saved", "site")
    #: Whether the data of the value is handed out although it has a history.
    lends_data = False

    def filled(self, op, parents, saved, fits=None):
        """This record, with what it holds, stamped with the present."""
        self.op = op
        self.parents = parents
        self.saved = saved
        self.fits = fits
        self.order = tick()
        self.hooks = None
        return self

    @property
    def algebra(self):
        """The algebra of the value that this record made."""
        return self.op.algebra

    @property
    def name(self):
        """The name of the op."""
        return self.op.name


class Unsettled(Record):
    """A record that saved values in place of arrays, since these were not computed yet."""

    __slots__ = ()

    def settle(self, settled):
        """Keep arrays from here on: `settled(value)` is the array of a value."""
        record: Any = self
        record.saved = _settled(record.saved, settled)
        record.__class__ = Record


def _settled(saved, settled):
    if isinstance(saved, Value):
        return settled(saved)
    if saved.__class__ in (tuple, list):
        return saved.__class__([_settled(s, settled) for s in saved])
    return saved


class Leaf(Record):
    """The record of a value that the user made: where the walk ends."""

    __slots__ = ("_algebra", "target")

    def __init__(self, value):
        self.filled(None, (), ())
        self._algebra = value.algebra
        self.target = weakref.ref(value)

    @property
    def algebra(self):
        return self._algebra


class Deferred:
    """A gradient that compiled code holds until somebody asks for it: `take()` gives it."""

    __slots__ = ("take",)

    def __init__(self, take):
        self.take = take


class Cotangents(tuple):
    """The cotangents of an op with several results; None for a result that received nothing."""

    __slots__ = ()

    def __add__(self, other):
        pairs = zip(self, other, strict=True)
        return Cotangents([b if a is None else a if b is None else a + b for a, b in pairs])


class _Pick:
    """The op of a projection: its cotangent goes to one place of the cotangents of the record behind it."""

    name = "result"
    joint = None

    def __init__(self):
        self.rules = (self,)

    @staticmethod
    def function(g, index, count):
        return Cotangents([g if i == index else None for i in range(count)])

    @staticmethod
    def revived(record):
        return record.saved


class Projection(Record):
    """The record of result `index` of an op with several results."""

    __slots__ = ()
    _op = _Pick()

    def __init__(self, record, index, count):
        self.filled(self._op, (record,), ((index, count),))

    @property
    def algebra(self):
        return self.parents[0].algebra

    @property
    def name(self):
        return self.parents[0].name


class _KindOfAlgebra:
    """The class of what ops make of a value, where its own class says nothing of it: that of its algebra."""

    def __get__(self, value, owner):
        return None if owner.algebra is None else owner.algebra.kind


class Value:
    """A node of the graph: data, the record of how it was made, and the gradient it has received.

    Subclasses set `algebra`, which says how data and cotangents of their kind behave, and `kind`, the class of what ops make of
    them. The engine reads the data as `raw`; `data` is what users see of it, the same unless a subclass says otherwise.
    """

    __slots__ = ("__dict__", "__weakref__", "raw", "record")
    algebra: Any = None
    #: The class of what ops make of it.
    kind: Any = _KindOfAlgebra()
    _grad: Any = None
    #: The value whose memory this one shows, and the ops that lead from it to here; only of views.
    base: Any = None
    path: tuple = ()
    #: Weak references to the views of this value.
    views: Any = None
    #: Whether it takes the dtype of what it meets, as Python's numbers do.
    is_weak = False

    def __init__(self, data, record=None):
        self.raw = data
        self.record: Any = record

    if TYPE_CHECKING:  # What a kind of value adds is known to that kind alone.
        data: Any
        __getattr__: Any
        __getitem__: Any
        __setitem__: Any

    @property
    def grad(self) -> Any:
        """The gradient that `backward` has added up on this value, or None."""
        mode = current()
        if mode is not None and mode.tracer is not None:
            return mode.tracer.read_gradient(self)
        gradient = self._grad
        if gradient.__class__ is Deferred:
            gradient = self._grad = gradient.take()
        return gradient

    @grad.setter
    def grad(self, gradient):
        mode = current()
        if mode is not None and mode.tracer is not None:
            mode.tracer.write_gradient(self, gradient)
        else:
            self._grad = gradient

    @property
    def requires_grad(self):
        """Whether gradients are computed for this value. Settable on values that no op has made."""
        mode = current()
        if mode is not None and mode.tracer is not None:
            mode.tracer.noted_leaf(self)
        return self.record is not None

    @requires_grad.setter
    def requires_grad(self, wanted):
        if not self.is_leaf:
            raise GraphError("requires_grad can be set on leaves only, and this value was made by "
                             f"{self.record.op.name}; use detach() for a value outside the graph")
        mode = current()
        before = None if mode is None or mode.tracer is None else mode.tracer.noted_leaf(self)
        if bool(wanted) is self.requires_grad:
            return
        edited()
        if not wanted or before is not None:
            self.record = before if wanted else None
        else:
            leaf(self)

    def requires_grad_(self, wanted=True):
        """Set `requires_grad` and return the value itself."""
        self.requires_grad = wanted
        return self

    @property
    def is_leaf(self):
        """Whether no recorded op made this value."""
        return self.record is None or self.record.op is None

    @property
    def is_traced(self):
        """Whether this value has no data yet, only a place in a traced graph."""
        return isinstance(self.raw, Symbol)

    def detach(self):
        """The same data outside the graph, also outside that of a derivative around a `vmap`. Memory is shared."""
        mode = current()
        return self.unlinked() if mode is None or mode.tracer is None else mode.tracer.stopped(self)

    def unlinked(self):
        """As `detach`, but under a `vmap` outside the graph within it alone: derivatives around it go on."""
        found, mode = self.linked(None), current()
        if mode is not None and mode.tracer is not None:
            mode.tracer.own(found)
            mode.tracer.note_shared(found, self)
        return found

    def linked(self, record):
        """A value of the same data with another history. Memory is shared."""
        return self.algebra.maker(self)(self.raw, record)

    def kept(self):
        """The data as a record keeps it until its rule reads it."""
        return self.raw

    def register_hook(self, hook):
        """Call `hook(gradient)` whenever the gradient of this value is computed; what it returns replaces it.

        Returns a handle whose `remove()` takes the hook away.
        """
        if self.record is None:
            raise GraphError("a hook needs a value with requires_grad=True, and this one has requires_grad=False")
        handle = add_hook(self.record, hook)
        if is_tracing():
            current().tracer.note_hook(self, handle)
        return handle

    def retain_grad(self):
        """Keep `.grad` on this value although it is not a leaf."""
        if self.record is None:
            raise GraphError("retain_grad needs a value with requires_grad=True, and this one has requires_grad=False")
        if not self.is_leaf and not self.retains_grad:
            self.retains_grad = True
            add_hook(self.record, Retain(self))

    retains_grad = False


Value.data = Value.__dict__["raw"]


def of_kind(value, kind):
    """`value`, which nobody else has seen, as one of `kind`, unless that is None."""
    if kind is not None and value.kind is not kind:
        value.__class__ = kind
    return value


def leaf(value):
    """`value`, which has no history, as a place where walks end."""
    value.algebra.check_differentiable(value.raw)
    value.record = Leaf(value)
    return value


class Retain:
    """The hook that `retain_grad` leaves on a record: it stores the gradient on the value, if that still lives."""

    def __init__(self, value):
        self._value = weakref.ref(value)

    def __call__(self, gradient):
        value = self._value()
        if value is not None:
            value.algebra.accumulate_linked(value, gradient)


class HookHandle:
    """Takes a hook away again."""

    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook

    @property
    def is_registered(self):
        """Whether the hook is still called."""
        return self._hook in self._hooks

    def remove(self):
        """Remove the hook; removing it twice does nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)
            edited()


def add_hook(record, hook):
    """Append `hook` to the hooks of `record` and return its handle."""
    if record.hooks is None:
        record.hooks = []
    record.hooks.append(hook)
    if record.op is None:
        edited()
    return HookHandle(record.hooks, hook)
