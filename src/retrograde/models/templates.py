"""Chat templates: messages as the text that a model was tuned to, by a template of Jinja that comes with it.

A template is a program of whoever made the file: it runs in Jinja's sandbox, which lets it read nothing but the messages,
and within bounds.
"""

import datetime

from ..errors import ArgumentError, CheckpointError, RetrogradeError
from ..extras import optional
from .template_bounds import bounded_environment

#: The longest text that a template may make of messages, in characters: a loop of the sandbox can be long.
_LONGEST = 10_000_000


def laid_out(template, messages, names=None, *, is_asked=True):
    """The text of `messages`, dictionaries with `role` and `content`, by a template; with `is_asked` an answer is to follow.

    `names` says how special tokens are written that the template writes: `bos_token` and others.
    """
    _check(messages)
    # What is passed by is said to be none, as templates ask whether it is.
    facts = {"tools": None, "documents": None, **(names or {}), "messages": messages, "add_generation_prompt": is_asked}
    found, length = [], 0
    for part in _rendered(template, facts):
        found.append(part)
        length += len(part)
        if length > _LONGEST:
            raise CheckpointError(f"the chat template makes more than {_LONGEST:,} characters of {len(messages)} messages")
    return "".join(found)


def _rendered(template, facts):
    """Yield what a template writes, part by part."""
    try:
        yield from _environment(facts["messages"]).from_string(template).generate(**facts)
    except RetrogradeError:
        raise
    except Exception as error:  # noqa: BLE001 - a template is a program, whose additions, divisions and look-ups may fail
        told = str(error) or type(error).__name__
        raise ArgumentError(f"the chat template of the model cannot lay out these messages: {told}") from None


def _check(messages):
    """Raise an ArgumentError if these are no messages."""
    if not isinstance(messages, (list, tuple)) or not messages:
        raise ArgumentError(f"messages are a list of at least one dictionary with role and content, got {messages!r:.80}")
    for message in messages:
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise ArgumentError(f"a message is a dictionary with role and content, got {message!r:.80}")
        # Parts, and a call of tools that says nothing, are for the template to lay out, or to refuse.
        if not isinstance(message["content"], (str, list, type(None))):
            raise ArgumentError(f"the content of a message is a text or a list of parts, got {message['content']!r:.80}")


def _environment(messages):
    """Jinja's sandbox, bounded, with what templates of models use of transformers'."""
    environment = bounded_environment(
        messages, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _generation_tag()])
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().astimezone().strftime(form)
    return environment


def _generation_tag():
    """The class of a tag with which templates mark answers, `{% generation %}`: what is in it is written as it is."""
    extension, nodes = optional("jinja2.ext", "models"), optional("jinja2.nodes", "models")

    class Generation(extension.Extension):
        tags = {"generation"}  # noqa: RUF012 - as Jinja wants it

        def parse(self, parser):
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    return Generation


def _refuse(message):
    raise ArgumentError(f"the chat template of the model refuses these messages: {message}")
