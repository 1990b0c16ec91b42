"""Lazy tensors: a place in a graph instead of numbers, until somebody reads them. Then they are ordinary tensors."""

import weakref
from typing import Any

import numpy as np

from ..compiler.calls.pending import LOCK, compute
from ..core import dispatch
from ..core.mode import changed, current, is_lazy
from ..core.symbol import Symbol
from ..core.value import Projection, Unsettled, Value
from ..ops._arrays import arrays
from .elsewhere import number_of_elements
from .tensor import Tensor


class Holder:
    """What stands in the place of a lazy tensor's data; shared by those that share its memory.

    symbol     the node of the graph
    recorder   what made it
    group      weak references to the holders that are computed together with this one, in order
    views      weak references to the tensors that were made as views of this memory
    like       an array in whose order in memory it must be, since a reshape shows it in that of eager ops; None for any
    """

    __slots__ = ("__weakref__", "array", "group", "like", "recorder", "symbol", "views")

    def __init__(self, symbol, recorder):
        self.symbol, self.recorder = symbol, recorder
        self.array, self.group, self.views, self.like = None, (), [], None

    def taken(self):
        """The array, which belongs to those who share this holder."""
        if self.array is None:
            self.array = array = self.symbol.take()
            if self.like is not None and array.strides != self.like.strides:
                self.array = np.empty_like(self.like)
                self.array[...] = array
        return self.array


def _reading(name):
    """The method `name` of tensors, which reads their numbers."""
    method = getattr(Tensor, name)

    def read(self, *args, **kwargs):
        return method(self.realize(), *args, **kwargs)

    read.__name__, read.__doc__ = name, method.__doc__
    return read


_slot = Value.__dict__["raw"]


class Lazy(Tensor):
    """A tensor that is not computed yet. As soon as its numbers are read it is an ordinary tensor, its class included.

    `sources` of a view are its base and the views after each step but the last that it was made from: in eager mode one of them may
    be a copy, and its base.
    """

    __slots__ = ()
    sources: tuple = ()

    @property
    def raw(self):
        """Its node for whoever records lazily, its array for all others."""
        return self.holder.symbol if is_lazy() else self.realize().raw

    @raw.setter
    def raw(self, data):
        if isinstance(data, Symbol):
            _slot.__set__(self, Holder(data, current().tracer))
        else:
            self.become(data)

    data = raw

    holder = property(_slot.__get__, doc="What stands in the place of the data.")
    shape = property(lambda self: self.holder.symbol.shape, doc=Tensor.shape.__doc__)
    dtype = property(lambda self: self.holder.symbol.dtype, doc=Tensor.dtype.__doc__)
    ndim = property(lambda self: len(self.shape), doc=Tensor.ndim.__doc__)
    size = number_of_elements(lambda self: self.holder.symbol.size)
    itemsize = property(lambda self: self.dtype.itemsize, doc=Tensor.itemsize.__doc__)
    nbytes = property(lambda self: self.size * self.itemsize, doc=Tensor.nbytes.__doc__)
    device = property(lambda _: "cpu", doc=Tensor.device.__doc__)

    item, tolist, numpy = _reading("item"), _reading("tolist"), _reading("numpy")
    __float__, __int__, __complex__ = _reading("__float__"), _reading("__int__"), _reading("__complex__")
    __bool__, __index__, __contains__ = _reading("__bool__"), _reading("__index__"), _reading("__contains__")
    __format__, __repr__, __array__ = _reading("__format__"), _reading("__repr__"), _reading("__array__")
    __deepcopy__, __reduce__, _repr_html_ = _reading("__deepcopy__"), _reading("__reduce__"), _reading("_repr_html_")

    def realize(self):
        settle([self])
        return self

    @property
    def is_stale(self):
        """Whether its memory is there already, and may have been written to since its node was made."""
        if self.base is None:
            return self.holder.array is not None
        return self.base.__class__ is not Lazy or self.base.holder.symbol.array is not None

    def settle(self):
        """Be an ordinary tensor; what is needed for that has been computed."""
        if self.base is None:
            self.become(self.holder.taken())
            return
        data = base = self.base.raw
        if self.__class__ is not Lazy:
            return  # its base, on being computed, has let it be an ordinary tensor
        for steps, (op, rest) in enumerate(self.path, 1):
            data = op.kernel(data, *rest)
            if data is not base and not arrays.is_view(data, base):
                copy = self.part(steps)
                if copy.__class__ is Lazy:
                    copy.become(np.asarray(data))  # an element alone is a number, which ops that wait do not take
                if copy is not self:
                    self.settle()
                return
        self.become(data)

    def part(self, steps):
        """What eager ops copy after so many steps from the base: a tensor of its own from here on, and the base of this one."""
        copy = (*self.sources, self)[steps]
        path, sources = self.path[steps:], self.sources[steps:]
        if copy.__class__ is Lazy:
            copy.leave()
        if copy is not self:
            self.leave()
            self.base, self.path, self.sources = copy, path, sources
            copy.views = [] if copy.views is None else copy.views
            for references in _views_of(copy):
                dispatch.note_reference(references, self)
        return copy

    def leave(self):
        """Be no view."""
        for references in () if self.base is None else _views_of(self.base):
            references[:] = [reference for reference in references if reference() is not self]
        self.base, self.path, self.sources = None, (), ()

    def become(self, array):
        plain: Any = self
        plain.__class__ = Tensor
        plain.__dict__.pop("sources", None)
        _slot.__set__(plain, array)

    def linked(self, record):
        if self.base is not None:
            # What shares the memory of a view and none of its history is a base of its own, so that memory must be there.
            return self.realize().linked(record)
        return lazy_tensor(self.holder, record)

    def kept(self):
        return lazy_tensor(Holder(self.holder.symbol, self.holder.recorder))

    def backward(self, gradient=None, retain_graph=False, create_graph=False, inputs=None):
        mode = current()
        if mode is not None and mode.tracer is not None and not mode.tracer.is_lazy:
            super().backward(gradient, retain_graph, create_graph, inputs)
            return
        self.holder.group = [weakref.ref(self.holder)]
        with changed(tracer=self.holder.recorder.collecting(self.holder.group)):
            super().backward(gradient, retain_graph, create_graph, inputs)
        if not is_lazy():
            settle([self])


def _views_of(base):
    """The lists of weak references to the views of a tensor."""
    return [*([] if base.views is None else [base.views]), *([base.holder.views] if base.__class__ is Lazy else [])]


def lazy_tensor(holder, record=None):
    """The lazy tensor of a holder."""
    made = Lazy.__new__(Lazy)
    _slot.__set__(made, holder)
    made.record = record
    return made


def settle(values):
    """Compute the lazy tensors among `values`, in one program, and make them ordinary.

    What their backward pass will read is computed as well, as it is in eager mode, and so are the gradients that one
    `backward` has made, with its loss, as soon as one of them is read.
    """
    values = [value for value in values if value.__class__ is Lazy]
    values += [copy for value in values if value.base is None for copy in _maybe_copies(value)]
    with LOCK, changed(tracer=None):
        records = _unsettled([value.record for value in values])
        holders = [holder for value in values for holder in _company(value)]
        saved = [symbol for record in records for symbol in _symbols(record.saved)]
        compute([*[holder.symbol for holder in holders], *saved])
        for record in records:
            record.settle(_array_of)
        for value in values:
            if value.__class__ is Lazy:
                value.settle()


def _maybe_copies(base):
    """The views that eager ops may have copied: what is written to the base once it is there must not show in them."""
    for reference in base.holder.views:
        view = reference()
        if view.__class__ is Lazy and any([op.name in ("reshape", "getitem") for op, _ in view.path]):
            yield view


def _company(value):
    """The holders that are computed for a lazy tensor: of views that of their base."""
    holder = value.holder
    if value.base is None:
        yield holder
    elif value.base.__class__ is Lazy:
        yield value.base.holder
    for reference in holder.group:
        if (other := reference()) is not None:
            yield other


def _unsettled(records):
    """The records behind `records` that keep values which are not computed yet."""
    found, stack = {}, list(records)
    while stack:
        record = stack.pop()
        if record not in found and record.__class__ in (Unsettled, Projection):
            found[record] = None
            stack.extend(record.parents)
    return [record for record in found if record.__class__ is Unsettled]


def _symbols(saved):
    if saved.__class__ is Lazy:
        yield saved.holder.symbol
    elif saved.__class__ in (tuple, list):
        for part in saved:
            yield from _symbols(part)


def _array_of(value):
    return value.holder.symbol.array if value.__class__ is Lazy else value.raw
