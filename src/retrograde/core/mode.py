"""What is ambient: whether gradients are recorded, and whether anomalies are looked for.

The mode is a context variable, so threads and asyncio tasks never see each other's. None, the default, is the
ordinary mode: the one test that the fast path of every op makes.
"""

from collections.abc import Callable
from contextlib import ContextDecorator, nullcontext
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple


class Mode(NamedTuple):
    """A mode other than the ordinary one."""

    records: bool = True
    #: Whether a record keeps the arrays that its rules read (a checkpoint wants the shape of the graph only).
    keeps_arrays: bool = True
    #: Whether a view knows its base, so that writing through it can be differentiated.
    tracks_views: bool = True
    finds_anomalies: bool = False
    #: (an op, and the times between which it ran and runs again): what is read now must not have been written to between them.
    repeats: Any = None
    #: Whether jitted functions run what is compiled for them, and not as they are.
    runs_compiled: bool = True
    #: What gives the context managers, the outermost first, within which a function must run again for the sake of its derivative:
    #: a module whose parameters are others for the time of a call.
    within: Any = ()
    #: What changes the operands of an op before it runs, called with the op and its arguments: to another dtype, under autocast.
    #: Its `whole` does so for functions that are made of ops; see there.
    settles: Any = None
    #: What records ops without running them, while a function is traced or values are lazy.
    tracer: Any = None


_MODE: ContextVar[Mode | None] = ContextVar("retrograde_mode", default=None)
#: The ordinary mode, and that of `no_grad` within it, which is one object wherever it is set.
ORDINARY, SILENT = Mode(), Mode(records=False)

current: Callable[[], Any] = _MODE.get


def is_recording():
    """Whether ops on values that need gradients are recorded now."""
    mode = current()
    return mode is None or mode.records


def is_tracing():
    """Whether ops are put down now and not run: a function is traced, or values are lazy."""
    mode = current()
    return mode is not None and mode.tracer is not None


def is_repeating():
    """Whether a function runs again for the sake of its derivative: what it counts was counted in its first run."""
    mode = current()
    return mode is not None and mode.repeats is not None


def is_lazy():
    """Whether ops are put down now, to run when somebody reads what they give."""
    mode = current()
    return mode is not None and mode.tracer is not None and mode.tracer.is_lazy


class changed(ContextDecorator):  # noqa: N801 - reads as a statement: `with changed(records=False):`
    """Context manager and decorator that changes fields of the mode and restores them, on errors too."""

    def __init__(self, **fields):
        self._fields = fields
        self._outer = []

    def _recreate_cm(self):
        return type(self)(**self._fields)

    def __enter__(self):
        outer, fields = current(), self._fields
        self._outer.append(outer)
        if (outer is None or outer is SILENT) and len(fields) == 1 and "records" in fields:
            _MODE.set(None if fields["records"] else SILENT)  # the commonest of all, on the path of every walk
        else:
            mode = (outer or ORDINARY)._replace(**fields)
            _MODE.set(None if mode == ORDINARY else mode)

    def __exit__(self, *_):
        _MODE.set(self._outer.pop())


def whole(function):
    """`function`, which is made of ops, and is taken for one by what `settles` operands now."""

    @wraps(function)
    def called(*args, **kwargs):
        mode = current()
        if mode is None or mode.settles is None:
            return function(*args, **kwargs)
        return settled_whole(function.__name__, function, args, kwargs)

    return called


def settled_whole(name, function, args, kwargs):
    """What the function of a name gives where operands are settled: once, if that knows the name, and not op by op."""
    settled = current().settles.whole(name, args, kwargs)
    if settled is None:
        return function(*args, **kwargs)
    with changed(settles=None):
        return function(*settled[0], **settled[1])


def recording(function, *args):
    """`function(*args)`, of which everything is recorded: what `with walkable()` does, in less time."""
    mode = current()
    return function(*args) if mode is None or mode.records and mode.keeps_arrays else _run(True, function, args)


def unrecorded(function, *args):
    """`function(*args)`, of which nothing is recorded: what `with no_grad()` does, in less time."""
    return _run(False, function, args) if is_recording() else function(*args)


def _run(records, function, args):
    outer = current()
    if outer is None or outer is SILENT:
        _MODE.set(None if records else SILENT)
    else:
        mode = outer._replace(records=records, keeps_arrays=outer.keeps_arrays or records)
        _MODE.set(None if mode == ORDINARY else mode)
    try:
        return function(*args)
    finally:
        _MODE.set(outer)


def no_grad():
    """Within it, nothing is recorded: results need no gradient. A context manager and a decorator.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """
    return changed(records=False)


def enable_grad():
    """Within it, ops are recorded again, also inside `no_grad`."""
    return changed(records=True)


def walkable():
    """Within it, ops are recorded with all that a walk back reads, also where a checkpoint keeps nothing for its own."""
    return changed(records=True, keeps_arrays=True)


def set_grad_enabled(enabled):
    """`enable_grad()` or `no_grad()`, chosen by `enabled`."""
    return changed(records=bool(enabled))


def inference_mode():
    """Within it, nothing at all is recorded, not even which values are views; for serving a finished model."""
    return changed(records=False, tracks_views=False)


def detect_anomaly():
    """Within it, the first NaN or infinity, forward or backward, is an `AnomalyError` that names its origin.

    The message names the op, the line of the user's code that called it, and the input that produced the value.
    Slow: every result is searched.
    """
    return changed(finds_anomalies=True)


def remembered(tracer):
    """What values hold now, for `rewound`; None where nothing is recorded."""
    return None if tracer is None else (tracer, tracer.snapshot())


def recorders(tracer):
    """A recorder and those around it, from within: that of a vmap may stand within others. Nothing for None."""
    while tracer is not None:
        yield tracer
        tracer = tracer.outer


def rewound(past):
    """A context manager within which values hold what they did when `remembered` gave `past`.

    A walk back may run in another recorder than what it walks through: for the examples of a vmap, or after those. What belongs
    to a recorder that is over is gone with it; those around it still know their own.
    """
    known = list(recorders(None if current() is None else current().tracer))
    while past is not None and past[0] not in known:
        around = past[0].outer
        past = None if around is None else (around, past[1][1])
    return nullcontext() if past is None else past[0].rewound_to(past[1])
