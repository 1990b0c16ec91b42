"""Shown: views in a trace. Nothing has memory there that two tensors could share, so a view follows its base when it is read, and
what is written to it is laid back into its base.
"""

from functools import cache
from inspect import getattr_static
from typing import Any

import numpy as np

from ..compiler.graph.orders import in_order
from ..core.mode import changed, current
from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import InplaceError
from ..ops._arrays import arrays
from ..ops.manipulation.movements import flip, moveaxis, permute_dims, reshape, transpose
from ..ops.manipulation.selections import set_at
from .tensor import Tensor

_data, _record = Value.__dict__["raw"], Value.__dict__["record"]


class Shown(Tensor):
    """A view of `base` by the ops in `path`, which are done again once the base holds something else.

    `recorder` made it in a mode that kept arrays or not (`keeps_arrays`), from the node `seen` of its base. If it is detached, the
    history of its base is none of its own. `sources` are the base and the views after each step that it was made from. `past` is
    what it held before, by the node of its base and its history (`of`): a walk back through a branch finds that again.
    """

    __slots__ = ()
    recorder: Any = None
    seen: Any = None
    sources: tuple = ()
    past: Any = None
    of: Any = None
    keeps_arrays, is_detached = True, False

    @property
    def raw(self):
        """What it holds now."""
        self._follow()
        return _data.__get__(self)

    @raw.setter
    def raw(self, data):
        self.settle()
        self.raw = data

    data = raw

    @property
    def record(self):
        """The history of what it holds now."""
        self._follow()
        return _record.__get__(self)

    @record.setter
    def record(self, record):
        _record.__set__(self, record)

    def _follow(self):
        self._stand_on([source for source in self.sources[1:] if not isinstance(source, Shown)])
        if self.recorder.symbol(self.base) is self.seen:
            return
        if not self.is_shared():
            self.settle()
            return
        self.past[self.seen, self.of] = _data.__get__(self), _record.__get__(self)
        self.seen, self.of = self.recorder.symbol(self.base), self.base.record
        if (self.seen, self.of) in self.past:
            data, record = self.past[self.seen, self.of]
            _data.__set__(self, data)
            _record.__set__(self, record)
            return
        with changed(tracer=self.recorder, records=True, keeps_arrays=self.keeps_arrays):
            found = _parts(self.base, self.path)[-1]
        _data.__set__(self, found.raw)
        if not self.is_detached:
            _record.__set__(self, found.record)

    def settle(self):
        """Be a tensor of its own."""
        plain: Any = self
        plain.__class__, plain.base, plain.path, plain.sources = self.kind, None, (), ()

    def _stand_on(self, copies):
        """Let the last of some of its sources, which are no views any more, be the base."""
        if copies:
            steps = next(i for i, source in enumerate(self.sources) if source is copies[-1])
            self.base, self.path, self.sources, self.seen = copies[-1], self.path[steps:], self.sources[steps:], None
            self.of, self.past = None, {}

    def _copies(self):
        """Those of its sources that eager ops would have copied: each of them becomes a tensor of its own."""
        for source in self.sources[1:]:
            if isinstance(source, Shown) and not source.is_shared():
                source.settle()
        return [source for source in self.sources[1:] if not isinstance(source, Shown)]

    def is_shared(self):
        """Whether eager ops would give a view as well: to reshape what lies in another order is to copy it."""
        self._stand_on(self._copies())
        is_reshaped = any([op.name == "reshape" for op, _ in self.path])
        start = found = self._array_like(self.base, is_reshaped)
        for op, rest in self.path:
            found = op.kernel(found, *rest)
        return found is start or arrays.is_view(found, start)

    def _array_like(self, base, in_its_order):
        """An array of the shape of `base`, which lies in memory as that does in eager mode where that counts."""
        data = base.raw
        if in_its_order and isinstance(base, Shown) and base.is_detached:
            found = self._array_like(base.base, in_its_order)  # what is detached lies in the memory of what it was detached from
            for op, rest in base.path:
                found = op.kernel(found, *rest)
            return found
        if isinstance(data, Symbol):
            # A value stays where it was computed, whatever is written to it.
            first = next((before for value, before, _ in self.recorder.writes if value is base), data)
            return in_order(first, self.recorder.in_rows) if in_its_order else np.empty(data.shape, data.dtype)
        if in_its_order and data.ndim > 1:
            self.recorder.in_rows.add(id(base))
        return data

    def laid_back(self, value):
        """What the base holds once this view holds `value`."""
        sources = _parts(self.base, self.path[:-1])[: len(self.path)]
        for source, (op, rest) in zip(reversed(sources), reversed(self.path), strict=True):
            lay = _LAID_BACK.get(op.name, getattr(op, "laid_back", None))
            if lay is None:
                raise InplaceError(f"a view made by {op.name} shows elements more than once and cannot be written to; write to a "
                                   "copy, x.clone()")
            value = lay(source, value, *rest)
        return value


def _parts(base, path):
    """The base, and what each op of the path makes of it in turn."""
    found = [base]
    for op, rest in path:
        found.append(op.call(found[-1], *rest))
    return found


def _reshaped(source, value, *_):
    return reshape(value, source.shape)


#: For each op that makes views, what its source is once the view holds `value`.
_LAID_BACK = {
    "getitem": set_at,
    "shrink": lambda source, value, ranges: set_at(source, value, tuple([slice(*(pair or (None,))) for pair in ranges])),
    "reshape": _reshaped, "expand_dims": _reshaped, "squeeze": _reshaped,
    "permute_dims": lambda _, value, axes: permute_dims(value, tuple(np.argsort([a % value.ndim for a in axes]).tolist())),
    "transpose": lambda _, value, *axes: transpose(value, *axes),
    "moveaxis": lambda _, value, axes, places: moveaxis(value, places, axes),
    "flip": lambda _, value, *axes: flip(value, *axes),
}


@cache
def _shown_of(kind):
    """The class of views of a `kind` of tensors."""
    return Shown if kind is Tensor else type(
        f"Shown{kind.__name__}", (Shown, kind), {"__slots__": (), "data": getattr_static(kind, "data")})


def shown(recorder, value, source, *step):
    """`value` as a view of `source`: by a step (op, its arguments after the first), or, if there is none, outside of the graph."""
    value.__class__ = _shown_of(value.kind)
    follows_base = isinstance(source, Shown) and not source.is_detached
    value.base, value.path = (source.base, (*source.path, *step)) if follows_base else (source, step)
    value.sources = (*source.sources, source) if follows_base else (source,)
    value.recorder, value.keeps_arrays, value.is_detached = recorder, current().keeps_arrays, not step
    value.seen, value.of, value.past = recorder.symbol(value.base), value.base.record, {}
    return value
