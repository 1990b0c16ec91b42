"""Who is told of calls of models, and of the runs and steps that they are made for, while these go on."""

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

_LISTENERS: ContextVar[tuple] = ContextVar("listeners", default=())


class Listener:
    """Told of each thing that begins and ends in a context; a subclass defines what it does then.

    `kind` is "run", "step" or "call". What `begin` returns is handed to `end`, and to `within`, a context manager for the block in
    which the thing goes on; calls have none.
    """

    def begin(self, kind, name):
        """A thing begins."""
        raise NotImplementedError(f"{type(self).__name__} needs a method begin")

    def within(self, span):
        """A context manager for the block of a run or a step."""
        return ExitStack()

    def end(self, span, facts, error=None):
        """The thing has ended: with `facts` about it, and an error if there was one. The facts of a call are its Call."""
        raise NotImplementedError(f"{type(self).__name__} needs a method end")


@contextmanager
def listening(listener):
    """Tell `listener` of what goes on in the block, in the threads and tasks that it starts too."""
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield listener
    finally:
        _LISTENERS.reset(token)


def is_watched():
    """Whether anybody listens."""
    return bool(_LISTENERS.get())


def silence():
    """Tell nobody of what follows, which is part of what they are told already; returns what `restore` needs."""
    return _LISTENERS.set(())


def restore(token):
    """Take `silence` back."""
    _LISTENERS.reset(token)


def begun(kind, name):
    """(listener, its span) pairs for a thing that begins; empty where nobody listens."""
    return [(listener, listener.begin(kind, name)) for listener in _LISTENERS.get()]


def ended(spans, facts, error=None):
    """Tell those of `begun` that it has ended."""
    for listener, span in reversed(spans):
        listener.end(span, facts, error)


@contextmanager
def telling(kind, name):
    """A run or a step is the block; what is put into the dictionary that it is given are its facts."""
    spans, facts = begun(kind, name), {}
    error = None
    with ExitStack() as stack:
        for listener, span in spans:
            stack.enter_context(listener.within(span))
        try:
            yield facts
        except BaseException as found:
            error = found
            raise
        finally:
            ended(spans, facts, error)
            error = None  # it holds this frame
