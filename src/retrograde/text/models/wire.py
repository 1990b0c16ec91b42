"""The OpenAI-compatible protocol: requests and answers as JSON, and what a faulty answer means."""

import json
from dataclasses import dataclass

from ...errors import AnswerError, ArgumentError, ModelError, TransientModelError
from . import choices
from .request import Completion
from .retry import retry_after

#: Statuses after which the same request may succeed: time-outs, too early, too many, and the server's own faults.
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
#: Of these, those that say that no work was done.
_REFUSALS = frozenset({425, 429, 503, 529})


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: status, headers (their names in small letters), body. Status 0: the connection failed, as `body` says.

    `was_sent` is False where the request did not reach the server.
    """

    status: int
    headers: dict
    body: bytes
    was_sent: bool = True

    @property
    def is_whole(self):
        """Whether the server says that it did what was asked."""
        return 200 <= self.status < 300


def payload(request, model, *, max_tokens, max_tokens_name="max_tokens", is_streamed=False, extra=None, labels_by="json_schema"):
    """The body of a chat completion as JSON data. Only what the request sets is sent."""
    body = {"model": model, "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            max_tokens_name: request.max_tokens or max_tokens}
    for name in ("temperature", "top_p", "seed", "grammar"):
        value = getattr(request, name)
        if value is not None:
            body[name] = value
    if request.stop:
        body["stop"] = list(request.stop)
    if request.json_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": json.loads(request.json_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.labels:
        body |= choices.asked(request.labels, labels_by)
    if is_streamed:
        body["stream"] = True
    return body | (extra or {})


def encoded(body):
    """The bytes of a body; an ArgumentError where JSON cannot hold it."""
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"JSON cannot hold the options of a call: {error}; numbers must be finite") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a surrogate by itself, which JSON has a way to write
        return json.dumps(body, separators=(",", ":")).encode()


def completion_of(reply, model, bound, labels=(), labels_by="json_schema"):
    """The Completion in a reply; a ModelError of the kind that fits, if there is none.

    `bound` is the most tokens that prompt and answer can have, which stand in where the server does not count. With `labels` the
    answer is one of them.
    """
    if not reply.is_whole:
        raise fault_of(reply)
    data = _object(reply.body)
    if data.get("error") and not data.get("choices"):
        # Routers answer 200 before they have asked the server behind them.
        raise _billed(f"the server answered {reply.status} with an error: {_excerpt(reply.body)}")
    if data.get("choices") == []:
        raise _billed("the answer has no choices")
    try:
        choice = data["choices"][0]
        text = _text(choice["message"]["content"])
    except (TypeError, LookupError, AttributeError, AnswerError):
        raise AnswerError(f"the answer of {model} is not a chat completion: {_excerpt(reply.body)}") from None
    prompt_tokens, completion_tokens = usage_of(data, bound)
    reason, logprobs = str(choice.get("finish_reason") or "stop"), ()
    if labels:
        text, logprobs = choices.chosen(text, choice, labels, labels_by)
        reason = "stop"  # a label is whole, whatever would have followed
    return Completion(text, prompt_tokens, completion_tokens, finish_reason=reason, logprobs=logprobs)


def usage_of(data, bound):
    """(prompt tokens, completion tokens) that the server counted, or the bounds."""
    usage = data.get("usage") or {}
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    is_count = lambda count: isinstance(count, int) and not isinstance(count, bool) and count >= 0
    return tuple(count if is_count(count) else most for count, most in zip(counts, bound, strict=True))


def fault_of(reply):
    """The error that a reply without an answer stands for."""
    if reply.status == 0:
        error = TransientModelError(f"the connection failed: {_excerpt(reply.body)}")
        error.is_billed = reply.was_sent
        return error
    message = f"the server answered {reply.status}: {_excerpt(reply.body)}"
    # A quota that is used up has the status of a rate limit, and does not pass.
    if reply.status not in _TRANSIENT or b"insufficient_quota" in reply.body:
        return ModelError(message)
    error = TransientModelError(message)
    error.is_billed, error.retry_after = reply.status not in _REFUSALS, retry_after(reply.headers)
    return error


def _object(body):
    """The JSON object in `body`. A body that cannot be read was damaged on its way, which may not happen again."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise _billed(f"the answer is not JSON: {_excerpt(body)}") from None
    if not isinstance(data, dict):
        raise AnswerError(f"the answer must be a JSON object, got {_excerpt(body)}")
    return data


def _text(content):
    """The text of a message: a string, or a list of parts."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise AnswerError(f"content must be text, got {type(content).__name__}")
    return content


class StreamReader:
    """Reads a stream of server-sent events line by line; `is_finished` tells whether the answer came to its end.

    `clean` is what makes a line fit to be shown: it takes keys out.
    """

    def __init__(self, clean=lambda line: line):
        self.is_finished, self._clean = False, clean

    def text_of(self, line):
        """The text that a line adds: the empty string for lines that add none."""
        line = self._clean(line)
        content = line.removeprefix("data:").strip()
        if not line.startswith("data:") or content == "[DONE]":
            self.is_finished |= content == "[DONE]"
            return ""
        data = _object(content.encode())
        if data.get("error"):
            raise _billed(f"the stream broke off: {_excerpt(content.encode())}")
        choices = data.get("choices")
        try:
            self.is_finished |= bool(choices and choices[0].get("finish_reason"))
            return _text(choices[0]["delta"].get("content") or "") if choices else ""
        except (TypeError, LookupError, AttributeError, AnswerError):
            raise AnswerError(f"a part of the stream is not a chat completion: {_excerpt(content.encode())}") from None

    def end(self):
        """Complain if the stream ended before the answer did."""
        if not self.is_finished:
            raise _billed("the stream ended before the answer did")


def _billed(message):
    error = TransientModelError(message)
    error.is_billed = True
    return error


def _excerpt(body, limit=300):
    text = body.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= limit else text[:limit] + "...")
