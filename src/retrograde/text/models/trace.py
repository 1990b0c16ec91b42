"""What was asked and answered: a record of every call of a language model made in a context."""

import contextlib
import functools
import json
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from .codec import completion_to_dict, request_to_dict
from .listeners import begun, ended, is_watched, restore, silence
from .request import Completion, Request
from .usage import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the model's name, what it was asked, the answer or the error, how long it took, and for which node.

    `attempts` holds (tokens, cost) of each attempt that failed and may have been charged for: the most that it may have taken.
    """

    model: str
    request: Request
    completion: Completion | None
    error: str | None
    seconds: float
    node: str | None
    attempts: tuple = ()

    @property
    def usage(self):
        """What the call took, the attempts that failed included; nothing where the answer came from a cache."""
        found = Usage(len(self.attempts), sum(tokens for tokens, _ in self.attempts), sum(cost for _, cost in self.attempts))
        answer = self.completion
        return found if answer is None or answer.is_cached else found + Usage(1, answer.tokens, answer.cost)

    def to_dict(self):
        """The call as JSON data."""
        return {"model": self.model, "node": self.node, "seconds": round(self.seconds, 6), "error": self.error,
                "attempts": [list(attempt) for attempt in self.attempts],
                "request": request_to_dict(self.request),
                "completion": completion_to_dict(self.completion) if self.completion else None}


class Trace:
    """The calls of a context, in the order in which they ended; those of one batch, in the order of its items."""

    def __init__(self):
        self.calls: list[Call] = []

    def __len__(self):
        return len(self.calls)

    def __iter__(self):
        return iter(self.calls)

    @property
    def tokens(self):
        """Tokens paid for: those of answers out of a cache are not counted."""
        return self.usage.tokens

    @property
    def cost(self):
        """Money spent."""
        return self.usage.cost

    @property
    def usage(self):
        """What all calls took, attempts that failed and may have been charged for included."""
        return sum((call.usage for call in self.calls), Usage())

    @property
    def cut(self):
        """How many answers were empty, or were cut off by a bound or a filter."""
        return sum(call.completion is not None and not call.completion.is_whole for call in self.calls)

    def save(self, path):
        """Write one line of JSON a call."""
        Path(path).write_text("".join(json.dumps(call.to_dict(), ensure_ascii=False) + "\n" for call in self.calls),
                              "utf-8", "surrogatepass")

    def __repr__(self):
        cached = sum(call.completion is not None and call.completion.is_cached for call in self.calls)
        failed = sum(call.error is not None for call in self.calls)
        cut = f", {self.cut} cut off or empty" if self.cut else ""
        return f"Trace({len(self.calls)} calls, {cached} cached, {failed} failed{cut}, {self.tokens} tokens, cost {self.cost:g})"


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)
_NODE: ContextVar[str | None] = ContextVar("node", default=None)
_ATTEMPTS: ContextVar[list | None] = ContextVar("attempts", default=None)


def note_attempt(tokens, cost):
    """Note an attempt of the call that is being made, which failed and may have been charged for."""
    attempts = _ATTEMPTS.get()
    if attempts is not None:
        attempts.append((tokens, cost))


@contextlib.contextmanager
def tracing(trace: Trace | None = None) -> Iterator[Trace]:
    """Record every call of every model in the block, those of threads and tasks that it starts included.

    >>> from retrograde.text.models import ScriptedLM
    >>> with tracing() as trace:
    ...     answer = ScriptedLM(["Yes."])("Is 89 prime?")
    >>> trace.calls[0].completion.text
    'Yes.'
    """
    trace = Trace() if trace is None else trace
    token = _TRACE.set(trace)
    try:
        yield trace
    finally:
        _TRACE.reset(token)


@contextlib.contextmanager
def tracing_apart() -> Iterator[Trace]:
    """A Trace of the calls in the block alone, which the trace around it gets too when the block ends."""
    outer = current()
    with tracing() as trace:
        try:
            yield trace
        finally:
            if outer is not None:
                outer.calls.extend(trace.calls)


@contextlib.contextmanager
def calls_for(node: str):
    """Note in the trace that the calls in the block are made for the node called `node`."""
    token = _NODE.set(node)
    try:
        yield
    finally:
        _NODE.reset(token)


def current():
    """The trace that calls are recorded in now, or None."""
    return _TRACE.get()


def recorded(complete):
    """`complete` of a model, which reports to the trace of the context. A model inside another one does not report again.

    Like the others below it takes a prompt as well as a Request.
    """

    @functools.wraps(complete)
    def reporting(self, request):
        request, trace = Request.of(request), _TRACE.get()
        if trace is None and not is_watched():
            return complete(self, request)
        with _Report(trace, self, request) as report:
            report.completion = complete(self, request)
        return report.completion

    return reporting


def recorded_async(acomplete):
    """`recorded` for a coroutine."""

    @functools.wraps(acomplete)
    async def reporting(self, request):
        request, trace = Request.of(request), _TRACE.get()
        if trace is None and not is_watched():
            return await acomplete(self, request)
        with _Report(trace, self, request) as report:
            report.completion = await acomplete(self, request)
        return report.completion

    return reporting


def recorded_stream(stream):
    """`recorded` for a generator of the pieces of an answer: the call is noted when it ends, or when nobody goes on reading."""

    @functools.wraps(stream)
    def reporting(self, request):
        request = Request.of(request)
        pieces, noted = stream(self, request), _StreamReport(_TRACE.get(), self, request)
        with contextlib.closing(pieces), noted:
            while (piece := noted.alone(next, pieces, None)) is not None:
                yield noted.add(piece)

    return reporting


def recorded_stream_async(astream):
    """`recorded_stream` for an asynchronous generator."""

    @functools.wraps(astream)
    async def reporting(self, request):
        request = Request.of(request)
        pieces, noted = astream(self, request), _StreamReport(_TRACE.get(), self, request)
        async with contextlib.aclosing(pieces):
            with noted:
                while (piece := await noted.alone_async(anext(pieces, None))) is not None:
                    yield noted.add(piece)

    return reporting


class _StreamReport:
    """Adds one streamed call to a trace when its block ends. Between two pieces the reader's own calls are traced as ever."""

    def __init__(self, trace, model, request):
        self.trace, self.model, self.request, self.pieces, self.seconds = trace, model, request, [], 0.0

    def add(self, piece):
        """Take note of a piece, and give it back."""
        self.pieces.append(piece)
        return piece

    def alone(self, function, *args):
        """What the model does for the next piece, which does not report again."""
        start, token, silenced = time.perf_counter(), _TRACE.set(None), silence()
        try:
            return function(*args)
        finally:
            _TRACE.reset(token)
            restore(silenced)
            self.seconds += time.perf_counter() - start

    async def alone_async(self, coroutine):
        """`alone` for a coroutine."""
        start, token, silenced = time.perf_counter(), _TRACE.set(None), silence()
        try:
            return await coroutine
        finally:
            _TRACE.reset(token)
            restore(silenced)
            self.seconds += time.perf_counter() - start

    def __enter__(self):
        self.spans = begun("call", self.model.name)
        return self

    def __exit__(self, kind, error, _):
        if self.trace is None and not self.spans:
            return
        failed = isinstance(error, Exception)
        prompt, bound = self.model.token_bound(self.request)
        cost, text = self.model.cost_of(prompt, bound), "".join(self.pieces)
        answer = None if failed else Completion(text, prompt, bound, self.seconds, cost)
        reason = f"{kind.__name__}: {error}" if failed else None
        _note(self.trace, self.spans, Call(self.model.name, self.request, answer, reason, self.seconds, _NODE.get()))


class _Report:
    """Adds one call to a trace when its block ends, however it ends."""

    completion = None

    def __init__(self, trace, model, request):
        self.trace, self.model, self.request = trace, model, request

    def __enter__(self):
        self.spans = begun("call", self.model.name)
        self.start, self.token, self.attempts = time.perf_counter(), _TRACE.set(None), []
        self.noting, self.silenced = _ATTEMPTS.set(self.attempts), silence()
        return self

    def __exit__(self, kind, error, _):
        _TRACE.reset(self.token)
        _ATTEMPTS.reset(self.noting)
        restore(self.silenced)
        seconds = time.perf_counter() - self.start
        reason = None if error is None else f"{type(error).__name__}: {error}"
        call = Call(self.model.name, self.request, self.completion, reason, seconds, _NODE.get(), tuple(self.attempts))
        _note(self.trace, self.spans, call)


def _note(trace, spans, call):
    """Note a call that has ended, in the trace if there is one, and with those who listen."""
    if trace is not None:
        trace.calls.append(call)
    ended(spans, call)
