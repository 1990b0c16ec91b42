"""Writing in place. The memory is written for real; the graph is told what the tensor is now.

Records that saved the old elements are found stale by their version and refuse to be walked. A view hands what was
written on to its base, and from there to every other view of it, so that all of them show the same numbers and have
the derivative of those.
"""

import numpy as np

from ..core import writes
from ..core.dispatch import plain, recorded
from ..core.explain import explained
from ..core.mode import changed, current, is_recording, is_tracing
from ..core.value import Value
from ..errors import DTypeError, InplaceError, OutOfRangeError, ShapeError
from ..ops.elementary.comparisons import where
from ..ops.manipulation.movements import broadcast_to
from ..ops.manipulation.selections import fitting, put, set_at


def assigning(function, name=None):
    """The in-place operator of an op, as `x += y` for `add`, or of any function of a tensor and more, by its `name`."""
    name = name or function.op.name

    def operator(x, *args, **kwargs):
        if _has_memory(x):
            with changed(tracer=None):
                return operator(x, *args, **kwargs)
        _check_writable(x)
        result = made = function(x, *args, **kwargs)
        if result.shape != x.shape:
            raise ShapeError(f"{name} in place must keep the shape {x.shape}, and the result has {result.shape}")
        if not np.can_cast(result.dtype, x.dtype, "same_kind"):
            raise DTypeError(f"{name} in place must keep the dtype {x.dtype}, and the result has {result.dtype}")
        result = result if result.dtype == x.dtype else result.astype(x.dtype)
        if _has_memory(x):  # by now, since the op could not wait
            with changed(tracer=None):
                return written(x, result, made.record)
        return _trace_write(x, result) if is_tracing() else written(x, result, made.record)

    def written(x, result, record):
        _keep_old(x, record)
        _write(x, ..., result.raw)
        if is_recording() and (x.requires_grad or result.requires_grad):
            _rebase(x, result.record)
        return x

    operator.__doc__ = f"`{name}`, written into `x`."
    return operator


def _keep_old(x, record):
    """Let `record` keep a copy where a rule reads what `x` holds now, since that is about to be written over."""
    if record is not None and record.saved:
        record.saved = tuple([
            tuple([s.copy() if s is x.raw else s for s in group]) if isinstance(group, tuple) else group
            for group in record.saved
        ])


def set_item(x, index, value):
    """Write `value`, broadcast, into `x[index]`, in place."""
    if _has_memory(x):
        with changed(tracer=None):
            set_item(x, index, value)
        return
    _check_writable(x)
    if is_tracing():
        _check_number(x, value)
        # What is written over entirely still has a history where gradients are recorded: a gradient of 0, as in eager mode.
        is_whole = _is_whole(index) and not (is_recording() and x.requires_grad)
        masked = None if _is_whole(index) else _masked(x, value, index)
        result = _whole(x, value) if is_whole else set_at(x, value, index) if masked is None else masked
        if _has_memory(x):  # by now, since what is written could not wait
            set_item(x, index, value)
        else:
            _trace_write(x, result)
        return
    index, written = plain(index), plain(value)
    _write(x, index, written)
    parents = (x.record, value.record if isinstance(value, Value) else None)
    if is_recording() and any(parents):
        _rebase(x, recorded(set_at.op, (x.raw, np.asarray(written), index), parents, x.raw))


def take_over(x, value):
    """As `x[...] = value` in a trace without gradients, of what was made of its shape and dtype to be written there and for nobody
    else: it is recorded as what `x` holds, and not as a copy, of which a deep network has thousands.
    """
    _check_writable(x)
    _trace_write(x, value)


def _check_number(x, value):
    """Raise where NumPy would refuse to write a number of Python's into `x`: a cast of an array would change it instead."""
    if value.__class__ in (int, float, complex):
        try:
            np.empty((), x.dtype)[...] = value
        except Exception as error:
            raise explained(set_at.op, error, (x, value)) from None


def _has_memory(x):
    """Whether ops are recorded, but writing to `x` must not wait, since others may see its memory."""
    return is_tracing() and not current().tracer.defers_writes(x)


def _is_whole(index):
    return index is Ellipsis or (isinstance(index, slice) and index == slice(None))


def _whole(x, value):
    """`value` as all that `x` holds."""
    value = value if isinstance(value, Value) else type(x).algebra.made(np.asarray(value))
    value = fitting(value, x.ndim)
    return broadcast_to(value if value.dtype == x.dtype else value.astype(x.dtype), x.shape)


def _masked(x, value, index):
    """`x` with `value` where a mask is true, which stands alone in `index` or between whole axes; None for another index, and for
    a value with an element for each place, whose number depends on data.
    """
    parts = index if isinstance(index, tuple) else (index,)
    places = [i for i, part in enumerate(parts) if isinstance(part, Value) and part.dtype.kind == "b"]
    if len(places) != 1 or not all([_is_whole(part) for i, part in enumerate(parts) if i != places[0]]):
        return None
    place, mask, value = places[0], parts[places[0]], value if isinstance(value, Value) else np.asarray(value)
    is_from_end = any([part is Ellipsis for part in parts[:place]])
    before = x.ndim - mask.ndim - (len(parts) - place - 1) if is_from_end else place
    rest, expected = x.ndim - mask.ndim - before, x.shape[before : before + mask.ndim]
    # NumPy takes an axis without elements in the place of one of any length: nothing is chosen.
    if len(expected) != mask.ndim or any([got not in (0, wanted) for got, wanted in zip(mask.shape, expected, strict=True)]):
        raise OutOfRangeError(f"a mask must have the shape {expected} of what it chooses from, got {mask.shape}")
    if 0 in mask.shape:
        mask = np.zeros(expected, bool)
    if value.ndim > rest:
        split = value.ndim - rest
        if value.shape[split - 1] != 1:
            return None
        value = value.reshape(value.shape[: split - 1] + (1,) * mask.ndim + value.shape[split:])
    return where(mask.reshape(mask.shape + (1,) * rest), value.astype(x.dtype), x)


def _trace_write(x, result):
    """Let `x` be `result` from here on in a trace, where nothing has memory yet."""
    if x.is_traced and x.base is not None and x.is_shared():
        with changed(records=is_recording() and not x.is_detached):
            _trace_write(x.base, x.laid_back(result))
        if x.is_detached and is_recording() and result.requires_grad:
            x.record = result.record
        return x
    tracer = current().tracer
    tracer.write(x, result)
    if is_recording() and (x.requires_grad or result.requires_grad):
        x.record = result.record
    return x


def _check_writable(x):
    # To read a traced view may show that it is none any more, so that is first.
    if is_tracing() and x.is_traced and x.base is not None and not x.is_shared():
        return  # what eager ops would have copied
    root = x if x.base is None else x.base
    for value, what in ((x, "a leaf" if root is x else "a view that is a leaf"), (root, "a view of a leaf")):
        if is_recording() and value.requires_grad and value.is_leaf and value.record.target() is value:
            raise InplaceError(f"{what} that requires gradients cannot be written to; do it within rg.no_grad(), or write to "
                               "a copy: x = x.clone()")


def _write(x, index, data):
    target = x.algebra.settled_data(x)
    writes.before(x.algebra, target)
    try:
        writes.into(target)[index] = data
    except Exception as error:
        writes.check_writeable(target)
        raise explained(set_at.op, error, (x, data, index)) from None
    writes.stamp(x.algebra, x.raw)


def _rebase(x, record):
    """Make `record` the history of what `x` holds now, and tell everything that shares its memory."""
    base = x
    if x.base is None:
        x.record = record
    else:
        base = x.base
        parents, arrays = (base.record, record), (base.raw, x.raw, _positions(x))
        base.record = recorded(put.op, arrays, parents, base.raw)
    with changed(tracks_views=False):
        for view in [reference() for reference in base.views or ()]:
            if view is not None:
                view.record = _replayed(view, type(base)(base.raw, base.record)).record


def _replayed(view, value):
    for op, rest in view.path:
        value = op.call(value, *rest)
    return value


def _positions(view):
    """For each element of `view`, its place in its base, in row-major order."""
    places = np.arange(view.base.size).reshape(view.base.shape)
    for op, rest in view.path:
        places = op.kernel(places, *rest)
    return places
