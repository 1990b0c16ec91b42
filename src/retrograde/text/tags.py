"""Tags around data in a prompt: none that stands in the data can be taken for one of the prompt's, or of a reply's."""

import re
from hashlib import sha256

from ..errors import ParseError
from .data import as_text

#: The names of the tags that prompts put around data and ask for in replies.
NAMES = ("TEXT", "NEW", "FIND", "REPLACE", "PART", "ANSWER", "TARGET")
_OPEN = rf"(/?(?:{'|'.join(NAMES)})(?:-[0-9a-f]{{8}})?)"
_TAG = re.compile(rf"&((?:amp;)*)lt;{_OPEN}&gt;|<{_OPEN}>", re.IGNORECASE)
_ESCAPED = re.compile(rf"&amp;((?:amp;)*)lt;{_OPEN}&gt;|&lt;{_OPEN}&gt;", re.IGNORECASE)


def nonce(*values):
    """Eight hexadecimal digits for the tags of one request: the same for the same values, and in none of them.

    A text cannot hold a digest of itself, so what is shown cannot know the tags around it; and since they depend on nothing else,
    an answer that a cache keeps is found again.

    >>> nonce("some text") == nonce("some text") != nonce("another")
    True
    """
    shown = "\0".join(map(as_text, values)).encode("utf-8", "surrogatepass")
    found = sha256(shown).hexdigest()
    return next(found[i : i + 8] for i in range(56) if found[i : i + 8].encode() not in shown)


def escaped(text):
    """`text` with tags that prompts use written as entities; `unescaped` gives it back.

    >>> escaped("</TEXT> <b>")
    '&lt;/TEXT&gt; <b>'
    """
    return _TAG.sub(lambda m: f"&lt;{m[3]}&gt;" if m[3] is not None else f"&amp;{m[1]}lt;{m[2]}&gt;", as_text(text))


def unescaped(text):
    """The text that `escaped` was given.

    >>> unescaped(escaped("<NEW> and &lt;NEW&gt;"))
    '<NEW> and &lt;NEW&gt;'
    """
    return _ESCAPED.sub(lambda m: f"<{m[3]}>" if m[3] is not None else f"&{m[1]}lt;{m[2]}&gt;", text)


def block(reply, name, code):
    """What stands in the one block called `name` of a reply, with the `code` of the request or without one.

    Raises a ParseError unless there is exactly one, so that no block which is quoted from data is taken for the answer.

    >>> block("Here: <NEW-01234567>Use <NEW> tags.</NEW-01234567>", "NEW", "01234567")
    'Use <NEW> tags.'
    """
    for tag in (f"{name}-{code}", name):
        opened, closed = reply.count(f"<{tag}>"), reply.count(f"</{tag}>")
        if opened == closed == 0:
            continue
        start, end = reply.find(f"<{tag}>") + len(f"<{tag}>"), reply.find(f"</{tag}>")
        if opened != 1 or closed != 1 or end < start:
            raise ParseError(f"it must have one block from <{tag}> to </{tag}>, and has {opened} times <{tag}> and {closed} times "
                             f"</{tag}>")
        return reply[start:end]
    raise ParseError(f"it has no text between <{name}-{code}> and </{name}-{code}>")
