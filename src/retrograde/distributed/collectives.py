"""Collectives: functions that all processes of a group call, in the same order."""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import ops
from ..core.mode import is_recording
from ..core.value import Value
from ..errors import ArgumentError, ShapeError
from ..ops import collectives as of_processes
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import moveaxis, reshape
from ..tensor.creation import asarray, zeros
from .world import world

_order: ContextVar = ContextVar("order of sums", default="ranks")
#: What gives the result from the operands of all processes, along the first axis.
_KINDS = {"max": "max", "min": "min", "product": "prod", "sum": "sum", "mean": "mean"}


@contextmanager
def sums(order):
    """Within it, sums over processes are made in the order of `"ranks"`, as usual, which gives the same bits everywhere and in each
    run, or in `"any"` order: that of MPI's own, which may be faster and may differ from run to run.

    A compiled function keeps the order that it was traced in.

    >>> with rg.distributed.sums("any"):
    ...     rg.distributed.all_reduce(rg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if order not in ("ranks", "any"):
        raise ArgumentError(f'sums are made in the order "ranks" or "any", got {order!r}')
    token = _order.set(order)
    try:
        yield
    finally:
        _order.reset(token)


def order_of_sums():
    """The order that is set here."""
    return _order.get()


def all_reduce(x, kind="sum", group: Any = None):
    """The "sum", "mean", "max", "min" or "product" of `x` over all processes, element by element, at each of them.

    >>> rg.distributed.all_reduce(rg.tensor([1.0, 2.0]), "mean")
    tensor([1., 2.])
    """
    if kind not in _KINDS:
        raise ArgumentError(f"all_reduce has the kinds {', '.join(sorted(_KINDS))}, got {kind!r}")
    x, group = _operand(x), group or world()
    name = f"all_reduce({kind})"
    if kind == "mean" and x.dtype.itemsize == 2 and x.dtype.kind not in "iub":  # whose sum may be out of range
        return of_processes.means([x], group, None, order_of_sums(), name)[0]
    if kind in ("sum", "mean") and x.dtype.kind not in "iub":
        found = of_processes.all_sum(x, group, order_of_sums(), name)
        return found if kind == "sum" or group.size == 1 else found / group.size
    # The derivative, ties and zeros among the operands too, is that of the op.
    return ops.get(_KINDS[kind]).call(of_processes.all_stack(x, group, order_of_sums(), name), axis=0)


def all_gather(x, axis=0, group: Any = None):
    """The `x` of all processes, of one shape, joined along an axis in the order of ranks; numbers along a new axis.

    >>> rg.distributed.all_gather(rg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    x, group = _operand(x), group or world()
    x = reshape(x, (1,)) if x.ndim == 0 else x
    return _joined(of_processes.all_stack(x, group, order_of_sums(), "all_gather"), axis, x)


def reduce_scatter(x, kind="sum", axis=0, group: Any = None):
    """Of the "sum" or "mean" of `x` over all processes, the part of this one: axis `axis` is cut into as many equal parts.

    >>> rg.distributed.reduce_scatter(rg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if kind not in ("sum", "mean"):
        raise ArgumentError(f'reduce_scatter has the kinds "sum" and "mean", got {kind!r}')
    x, group = _operand(x), group or world()
    parts = _in_parts(x, axis, group, "reduce_scatter")
    found = of_processes.sum_of_parts(parts, group, order_of_sums(), f"reduce_scatter({kind})")
    return found if kind == "sum" else found / group.size


def all_to_all(x, split_axis=0, concat_axis=0, group: Any = None):
    """Part i of `x` along `split_axis` goes to process i; what comes from all is joined along `concat_axis` in the order of ranks.

    >>> rg.distributed.all_to_all(rg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    x, group = _operand(x), group or world()
    parts = of_processes.exchange(_in_parts(x, split_axis, group, "all_to_all"), group)
    return _joined(parts, concat_axis, x)


def broadcast(x, root=0, group: Any = None):
    """The `x` of process `root`, at all processes; theirs has to have its shape and dtype.

    >>> rg.distributed.broadcast(rg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group or world()
    group.check(root)
    return of_processes.spread_from(_operand(x), root, group, order_of_sums())


def send_recv(x, to, source, group: Any = None):
    """What process `source` gives here for this one, while `x` goes to process `to`; of one shape and dtype.

    >>> rg.distributed.send_recv(rg.tensor([1.0, 2.0]), to=0, source=0)
    tensor([1., 2.])
    """
    group = group or world()
    group.check(to)
    group.check(source)
    return of_processes.passed(_operand(x), to, source, group)


def send(x, to, group: Any = None):
    """Send `x` to process `to`, which calls `recv`, and go on.

    Returns a 0 which is to be added to what is differentiated on this process: its derivative fetches that of `x` from there.
    """
    group = group or world()
    group.check(to)
    return of_processes.passed(_operand(x), to, None, group, "send").sum()


def recv(source, shape, dtype: Any = None, group: Any = None):
    """What process `source` has sent to this one, a tensor of that shape and dtype. Its gradient goes back to `source`, which must
    have made its own loss of what `send` returned.
    """
    group = group or world()
    group.check(source)
    blank = zeros(shape, dtype=dtype)
    if is_recording() and blank.dtype.kind not in "iub":
        blank.requires_grad_()
    return of_processes.passed(blank, None, source, group, "recv")


def barrier(group: Any = None):
    """Wait until all processes are here."""
    of_processes.all_sum(zeros(()), group or world(), "ranks", "barrier")


def _operand(x):
    return x if isinstance(x, Value) else asarray(x)


def _in_parts(x, axis, group, name):
    """`x` with an axis cut into as many parts as there are processes, which stand in front."""
    length = x.shape[axis] if x.ndim else 0
    if not length or length % group.size:
        raise ShapeError(f"{name} cuts axis {axis} into {group.size} equal parts, got shape {tuple(x.shape)}")
    axis %= x.ndim
    parts = reshape(x, (*x.shape[:axis], group.size, length // group.size, *x.shape[axis + 1 :]))
    return moveaxis(parts, axis, 0)


def _joined(parts, axis, x):
    """What comes from all processes, along the first axis, joined along another one."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"there is no axis {axis} to join along in shape {tuple(x.shape)}")
    return concatenate([parts[i] for i in range(parts.shape[0])], axis=axis)
