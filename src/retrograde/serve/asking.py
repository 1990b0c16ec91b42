"""Asking: what the bodies of requests in OpenAI's form mean, checked; all that is wrong is a RefusedError."""

import json
import math
import secrets
from typing import Any, NamedTuple

from ..errors import ArgumentError

#: The most texts of one request, and the most alternatives to a token.
MOST_CHOICES, _MOST_ALTERNATIVES = 8, 20
#: The longest answer of `/v1/completions` unless the request says otherwise, as OpenAI's.
_USUAL_LENGTH = 16
_ROLES = ("system", "developer", "user", "assistant")
#: What may stand in a body and changes nothing.
_IGNORED = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
#: What may stand in a body with a value that asks for nothing.
_EMPTY = {"frequency_penalty": (0, 0.0), "presence_penalty": (0, 0.0), "logit_bias": ({},), "suffix": ("",), "echo": (False,),
          "best_of": (1,), "tools": ([],), "tool_choice": ("none", "auto"), "functions": ([],), "modalities": (["text"],),
          "parallel_tool_calls": (True, False)}
_NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty")
_SHARED = {"model", "stream", "stream_options", "max_tokens", "n", "stop", "seed", "top_k", "response_format", "logprobs",
           *_NUMBERS}


class RefusedError(ArgumentError):
    """A request that cannot be served: `status` of HTTP, and OpenAI's names for what is wrong and where."""

    def __init__(self, message, param=None, code=None, status=400):
        super().__init__(message)
        self.param, self.code, self.status = param, code, status


class Asked(NamedTuple):
    """What a request asks for: `prompts`, each with `count` texts; or `messages`, which are laid out first."""

    prompts: Any
    messages: Any
    options: dict
    count: int
    seed: int
    is_stream: bool
    has_usage: bool
    has_logprobs: bool


def of_chat(body, name):
    """What a body of `/v1/chat/completions` asks of the model called `name`."""
    _check_names(body, {*_SHARED, "messages", "max_completion_tokens", "top_logprobs"}, name)
    messages = _needed(body, "messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("messages must be a list of at least one message", "messages")
    has_logprobs = _flag(body, "logprobs")
    top = _whole(body, "top_logprobs", 0, _MOST_ALTERNATIVES)
    if top and not has_logprobs:
        raise RefusedError("top_logprobs needs logprobs to be true", "top_logprobs")
    length = _whole(body, "max_completion_tokens", 0, 2**31)
    return _asked(body, None, [_message(message) for message in messages], has_logprobs, top,
                  _whole(body, "max_tokens", 0, 2**31) if length is None else length)


def of_completion(body, name):
    """What a body of `/v1/completions` asks of the model called `name`."""
    _check_names(body, {*_SHARED, "prompt"}, name)
    top = _whole(body, "logprobs", 0, _MOST_ALTERNATIVES)
    length = _whole(body, "max_tokens", 0, 2**31)
    prompts = _prompts(_needed(body, "prompt"))
    return _asked(body, prompts, None, top is not None, top, _USUAL_LENGTH if length is None else length)


def _asked(body, prompts, messages, has_logprobs, top, length):
    options = {name: number for name in _NUMBERS if (number := _number(body, name)) is not None}
    options |= {"max_tokens": length, "top_k": _whole(body, "top_k", 0, 2**31), "stop": _stop(body), "schema": _schema(body),
                "alternatives": top or 0}
    count, seed = _whole(body, "n", 1, MOST_CHOICES) or 1, _whole(body, "seed", -(2**63), 2**64 - 1)
    stream = body.get("stream_options") or {}
    if not isinstance(stream, dict):
        raise RefusedError("stream_options must be an object", "stream_options")
    # Without a seed two requests are to differ, as they do at OpenAI.
    seed = secrets.randbits(63) if seed is None else seed % 2**64
    return Asked(prompts, messages, {name: value for name, value in options.items() if value is not None}, count, seed,
                 _flag(body, "stream"), bool(stream.get("include_usage")), has_logprobs)


def _check_names(body, known, name):
    if not isinstance(body, dict):
        raise RefusedError("the body must be an object of JSON")
    asked = _needed(body, "model")
    if asked != name:
        raise RefusedError(f"the model {asked!r:.100} does not exist; this server has {name!r}", "model", "model_not_found", 404)
    for key, value in body.items():
        if key in known or key in _IGNORED or value is None:
            continue
        if key not in _EMPTY:
            raise RefusedError(f"this server knows no {key!r:.100}", key[:100], "unknown_parameter")
        if value not in _EMPTY[key]:
            raise RefusedError(f"this server has no {key}; leave it out", key, "unsupported_parameter")


def _needed(body, key):
    if body.get(key) is None:
        raise RefusedError(f"the request needs {key}", key, "missing_required_parameter")
    return body[key]


def _message(message):
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise RefusedError(f"a message is an object whose role is one of {', '.join(_ROLES)}", "messages")
    strange = {key for key, value in message.items() if value is not None} - {"role", "content", "name", "refusal"}
    if strange:
        raise RefusedError(f"this server knows no {min(strange)!r:.100} of messages", "messages", "unsupported_parameter")
    role = "system" if message["role"] == "developer" else message["role"]
    return {"role": role, "content": _content(message.get("content"))}


def _content(content):
    """The text of a message, which may come in parts."""
    if isinstance(content, list):
        if not all([isinstance(part, dict) and part.get("type") == "text" for part in content]):
            raise RefusedError("this server reads parts of messages of type text only", "messages")
        return "".join([_text(part.get("text"), "messages") for part in content])
    return _text(content, "messages")


def _text(text, param):
    if not isinstance(text, str):
        raise RefusedError(f"{param} must hold texts, got {_shown(text)}", param)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RefusedError(f"{param} holds half of a pair of surrogates, which is no letter", param) from None
    return text


def _prompts(prompt):
    """The prompts of a request as a list of texts, or of lists of tokens."""
    if isinstance(prompt, str) or (isinstance(prompt, list) and prompt and all([type(part) is int for part in prompt])):
        prompt = [prompt]
    if not isinstance(prompt, list) or not 0 < len(prompt) <= MOST_CHOICES:
        raise RefusedError(f"prompt must be a text, a list of tokens, or a list of 1 to {MOST_CHOICES} of these", "prompt")
    if all([isinstance(part, list) and part and all([type(token) is int for token in part]) for part in prompt]):
        return prompt
    return [_text(part, "prompt") for part in prompt]


def _whole(body, key, least, most):
    """An integer, or None where there is none."""
    value = body.get(key)
    if value is not None and (type(value) is not int or not least <= value <= most):
        raise RefusedError(f"{key} must be an integer from {least} to {most}, got {_shown(value)}", key)
    return value


def _number(body, key):
    value = body.get(key)
    if value is None:
        return None
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise RefusedError(f"{key} must be a number, got {_shown(value)}", key)
    return number


def _flag(body, key):
    value = body.get(key)
    if value is not None and type(value) is not bool:
        raise RefusedError(f"{key} must be true or false, got {_shown(value)}", key)
    return bool(value)


def _stop(body):
    stop = body.get("stop")
    stop = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stop, list) or len(stop) > 16:
        raise RefusedError(f"stop must be a text or a list of at most 16, got {_shown(stop)}", "stop")
    return [_text(text, "stop") for text in stop] or None


def _schema(body):
    """The schema of JSON that a text has to fit; None where it is free."""
    form = body.get("response_format")
    if form is None:
        return None
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    found = form.get("json_schema") if kind == "json_schema" else None
    if not isinstance(found, dict) or not isinstance(found.get("schema"), dict):
        raise RefusedError('response_format must be {"type": "text"}, {"type": "json_object"} or {"type": "json_schema", '
                           '"json_schema": {"name": ..., "schema": {...}}}', "response_format")
    return found["schema"]


def _shown(value):
    """The beginning of a value in words."""
    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
