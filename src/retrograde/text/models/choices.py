"""One of several labels as the answer of a server: how it is asked for, and how it is read."""

import json
import math

from ...errors import AnswerError, ArgumentError

#: How a server is told to choose: an answer bound by a JSON schema, the probabilities of the first token, or a field of vLLM's.
KINDS = ("json_schema", "logprobs", "guided_choice")
#: How far a log-probability may lie above 0, by rounding.
_ABOVE = 1e-3
#: How many of the likeliest tokens servers tell.
_TOP = 20


def check_kind(kind):
    """Raise an error unless `kind` is a way in which a server can be asked for a label."""
    if kind not in KINDS:
        raise ArgumentError(f"labels_by must be one of {', '.join(KINDS)}, got {kind!r}")


def asked(labels, kind):
    """What is added to the body of a request, so that the answer is one of `labels`."""
    if kind == "guided_choice":
        return {"guided_choice": list(labels)}
    if kind == "logprobs":
        return {"logprobs": True, "top_logprobs": _TOP}
    schema = {"type": "object", "properties": {"label": {"type": "string", "enum": list(labels)}}, "required": ["label"],
              "additionalProperties": False}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "label", "strict": True, "schema": schema}}}


def chosen(text, choice, labels, kind):
    """(the label, the log-probability of each label or nothing) in the answer `text`; an AnswerError if it is none of them."""
    if kind == "logprobs":
        return _likeliest(choice, labels)
    if kind == "json_schema":
        try:
            text = json.loads(text)["label"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise AnswerError(f"the answer must be JSON with a label, got {text[:100]!r}; a server that does not keep to a schema "
                              "needs another labels_by") from None
    # Servers that do not keep to the schema write labels such as 1 and true without quotes.
    names = {text.strip()} if isinstance(text, str) else {str(text), json.dumps(text)}
    found = [label for label in labels if label in names]
    if not found:
        raise AnswerError(f"the answer must be one of {', '.join(labels)}, got {text!r:.100}")
    return found[0], ()


def _likeliest(choice, labels):
    """By the probabilities of the first token: that of a label is the sum over the tokens that begin it and no other label."""
    try:
        tokens = choice["logprobs"]["content"][0]["top_logprobs"]
        found = [(str(token["token"]).strip(), float(token["logprob"])) for token in tokens]
    except (TypeError, LookupError, ValueError):
        raise AnswerError("the server tells no probabilities of tokens; use another labels_by") from None
    if not all(logprob <= _ABOVE for _, logprob in found):
        raise AnswerError(f"a log-probability must be a number of at most 0, got {[logprob for _, logprob in found]!r:.200}")
    total_of = lambda label: math.fsum(math.exp(logprob) for token, logprob in found if token and _is_of(token, label, labels))
    totals = [total_of(label) for label in labels]
    if not any(totals):
        raise AnswerError(f"none of the {len(found)} likeliest first tokens begins one of {', '.join(labels)} and no other; use "
                          "another labels_by, or labels that begin differently")
    # What is not among the likeliest tokens is at most as likely as the last of them.
    least = min(logprob for _, logprob in found)
    logs = tuple(math.log(total) if total else least for total in totals)
    return labels[max(range(len(labels)), key=logs.__getitem__)], logs


def _is_of(token, label, labels):
    begins = lambda name: name.startswith(token) or token.startswith(name)
    return begins(label) and not any(begins(other) for other in labels if other != label)
