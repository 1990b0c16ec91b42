"""Chat templates: messages as the text that a model was tuned to, by a template of Jinja that comes with it.

A template is a program of whoever made the file: it runs in Jinja's sandbox, which lets it read nothing but the messages.
"""

import datetime
import json

from ..errors import ArgumentError, CheckpointError
from ..extras import optional

#: The longest text that a template may make of messages, in characters: a loop of the sandbox can be long.
_LONGEST = 10_000_000


def laid_out(template, messages, start="", end="", *, is_asked=True):
    """The text of `messages`, dictionaries with `role` and `content`, by a template; with `is_asked` an answer is to follow."""
    for message in messages:
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise ArgumentError(f"a message is a dictionary with role and content, got {message!r:.80}")
    sandbox, jinja = optional("jinja2.sandbox", "models"), optional("jinja2", "models")
    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().astimezone().strftime(form)
    facts = {"messages": messages, "add_generation_prompt": is_asked, "bos_token": start, "eos_token": end}
    found, length = [], 0
    try:
        for part in environment.from_string(template).generate(**facts):
            found.append(part)
            length += len(part)
            if length > _LONGEST:
                raise CheckpointError(f"the chat template makes more than {_LONGEST:,} characters of {len(messages)} messages")
    except jinja.TemplateError as error:
        raise ArgumentError(f"the chat template of the model cannot lay out these messages: {error}") from None
    return "".join(found)


def _refuse(message):
    raise ArgumentError(f"the chat template of the model refuses these messages: {message}")
