"""Requests and completions as JSON data, and the key under which an answer is kept."""

import hashlib
import json
from dataclasses import asdict, fields
from math import inf

from ...errors import AnswerError
from .request import Completion, Request

#: Part of every key: what is written in another form is not found by this one.
FORMAT = 1


def request_to_dict(request):
    """The fields of a request that are not at their defaults."""
    defaults = {field.name: field.default for field in fields(Request)}
    return {name: value for name, value in asdict(request).items() if name == "messages" or value != defaults[name]}


def completion_to_dict(completion):
    """The fields of a completion."""
    return asdict(completion) | {"logprobs": list(completion.logprobs)}


def completion_from_dict(data):
    """The completion that `data` describes; an AnswerError if it describes none."""
    kinds = {"text": str, "prompt_tokens": int, "completion_tokens": int, "seconds": (int, float), "cost": (int, float),
             "is_cached": bool, "finish_reason": str, "logprobs": list}
    if not isinstance(data, dict) or data.keys() != kinds.keys():
        raise AnswerError(f"a completion must have the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(data[name], kind) or (isinstance(data[name], bool) and kind is not bool):
            raise AnswerError(f"{name} of a completion has the wrong type, {type(data[name]).__name__}")
        if kind in (int, (int, float)) and not 0 <= data[name] < inf:
            raise AnswerError(f"{name} of a completion must be 0 or more, got {data[name]}")
    logprobs = tuple(map(float, data["logprobs"]))
    if not all(logprob < inf for logprob in logprobs):
        raise AnswerError("a log-probability of a completion is no number")
    return Completion(**data | {"logprobs": logprobs})


def canonical(data):
    """JSON text that is the same for equal data."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def key_of(identity, request):
    """The key of the answer that the model with this identity gives to a request: 64 hexadecimal digits."""
    text = canonical({"format": FORMAT, "model": identity, "request": request_to_dict(request)})
    return digest(text)


def digest(text):
    """SHA-256 of `text`."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
