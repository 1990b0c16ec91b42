"""What a backward pass would cost, before it is made."""

from math import ceil
from typing import NamedTuple

from ..core.graph import ancestors
from ..errors import GraphError
from .chat import CASES, SHOWN
from .conversation import shortened, transcript
from .data import as_text


class Cost(NamedTuple):
    """The most calls of feedback models that a backward pass makes, and about how many characters it shows them."""

    calls: int
    characters: int


def backward_cost(output):
    """The Cost of `output.backward(...)` at most: samples that receive no feedback are not asked about.

    >>> from retrograde.text.models import ScriptedLM
    >>> system = rg.text.Parameter("Be brief.", role="system prompt")
    >>> critic = ScriptedLM(["Say more."])
    >>> answer = rg.text.chat(ScriptedLM(["Yes."]), [("system", system), ("user", "Why?")], feedback_model=critic)
    >>> backward_cost(answer).calls
    1
    """
    if output.record is None:
        raise GraphError(f"{output.role!r} has no graph: nothing that it was made from requires feedback")
    costs = [_cost(record) for record in ancestors([output.record]) if _asks(record)]
    return Cost(sum(cost.calls for cost in costs), sum(cost.characters for cost in costs))


def _asks(record):
    """Whether the backward pass of `record` calls a model."""
    context = getattr(record.op, "context", None)
    return getattr(context, "feedback_model", None) is not None and hasattr(context, "requests")


def _cost(record):
    ctx = record.op.context
    pairs = zip(ctx.requests, ctx.answers, strict=True)
    samples = [(request, answer) for request, answer in pairs if request is not None and answer is not None]
    shown = sum(len(transcript(request, SHOWN)) + len(shortened(answer, SHOWN)) for request, answer in samples)
    calls = characters = 0
    for i, parent in enumerate(record.parents[-len(ctx.used) :]):
        data = ctx.used[i][3]
        is_batch = isinstance(data, list) and i != ctx.demonstrations
        made = 0 if parent is None else len(samples) if is_batch else ceil(len(samples) / CASES)
        calls += made
        characters += (shown + made * min(len(as_text(data)), SHOWN)) if made else 0
    return Cost(calls, characters)
