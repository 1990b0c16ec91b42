"""Many calls at once: bounded, in order, and each with its own answer or its own error."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from ...errors import ArgumentError, ModelError
from .base import LanguageModel, check_model
from .request import Completion, Request
from .trace import Trace, current, tracing


def complete_all(model: LanguageModel, requests: Iterable, *, limit: int | None = None) -> list[Completion | ModelError]:
    """The answers to `requests` (Requests, or prompts), in their order, with at most `limit` calls running at once.

    Where a call fails, its place holds the ModelError, and the others go on. The limit is the model's own unless a lower one
    is given. Works inside a running event loop too, which waits meanwhile; `acomplete_all` does not hold it up.

    >>> from retrograde.text.models import ScriptedLM
    >>> [answer.text for answer in complete_all(ScriptedLM(lambda request: request.prompt[::-1]), ["ab", "cd"])]
    ['ba', 'dc']
    """
    requests = [Request.of(request) for request in requests]
    parts, futures, limit = [Trace() for _ in requests], {}, _limit(model, limit)
    if len(requests) == 1:
        return [_alone(model, requests[0])]
    with ThreadPoolExecutor(limit) as executor:
        try:
            for i in _order(model, requests):
                futures[i] = executor.submit(copy_context().run, _ask, model, requests[i], parts[i])
            return [_outcome(futures[i]) for i in range(len(requests))]
        finally:
            executor.shutdown(cancel_futures=True)
            _join(parts)


async def acomplete_all(model: LanguageModel, requests: Iterable, *, limit: int | None = None) -> list[Completion | ModelError]:
    """`complete_all` as a coroutine, over the model's `acomplete`."""
    requests = [Request.of(request) for request in requests]
    parts, gate = [Trace() for _ in requests], asyncio.Semaphore(_limit(model, limit))

    async def ask(i):
        async with gate:
            with tracing(parts[i]):
                return await model.acomplete(requests[i])

    tasks = {i: asyncio.ensure_future(ask(i)) for i in _order(model, requests)}
    try:
        if tasks:
            await asyncio.wait(tasks.values())
        return [_outcome(tasks[i]) for i in range(len(requests))]
    finally:
        for task in tasks.values():
            task.cancel()
        _join(parts)


def label_logprobs_all(model, prompts, labels, *, limit=None):
    """The log-probabilities of `labels` after each of `prompts`: a list of lists, with a ModelError where a call failed.

    Prompts that begin alike (the same instructions and demonstrations) are scored fastest in one call of this function: a
    local model reads what they share once.
    """
    answers = complete_all(model, [Request.of(prompt, labels=labels) for prompt in prompts], limit=limit)
    return [answer if isinstance(answer, ModelError) else list(answer.logprobs) for answer in answers]


def _limit(model, limit):
    check_model(model)
    if limit is not None and limit < 1:
        raise ArgumentError(f"the limit on calls at once must be at least 1, got {limit}")
    return min(limit or model.max_concurrency, model.max_concurrency)


def _order(model, requests):
    """The order in which to ask: prompts that begin alike follow each other, where that helps the model."""
    positions = range(len(requests))
    return sorted(positions, key=lambda i: requests[i].prompt) if model.keeps_prefixes else positions


def _ask(model, request, part):
    """One call, with a trace of its own, so that the order of the whole does not depend on timing."""
    with tracing(part):
        return model.complete(request)


def _alone(model, request):
    """The outcome of a single call, for which no thread is started."""
    try:
        return model.complete(request)
    except Exception as error:  # noqa: BLE001 - it becomes the outcome
        return _as_model_error(error)


def _join(parts):
    trace = current()
    if trace is not None:
        trace.calls.extend(call for part in parts for call in part.calls)


def _outcome(future):
    """What a finished call gave: its completion, or its error as a ModelError."""
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, Exception):
        raise error
    return _as_model_error(error)


def _as_model_error(error):
    if isinstance(error, ModelError):
        return error
    wrapped = ModelError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
