"""Messages as plain text, for models that continue text and know no chat."""

#: What ends an answer in a prompt made by `plain` where the request says nothing else: the blank line between turns.
SEPARATOR = "\n\n"
_OPENING = "([{<\"'`/"


def plain(messages):
    """The messages, a blank line between them; an answer stands on the line that asks for it.

    Spaces at the end are left out: models of this kind expect them at the start of the answer's first token.

    >>> from retrograde.text.models import Message
    >>> plain([Message("system", "Colours."), Message("user", "Sky:"), Message("assistant", "blue"), Message("user", "Sun: ")])
    'Colours.\\n\\nSky: blue\\n\\nSun:'
    """
    text = ""
    for message in messages:
        is_answer = message.role == "assistant" and text
        text = text + gap(text) + message.content if is_answer else text + SEPARATOR * bool(text) + message.content
        text = text.rstrip(" \t")
    return text


def gap(text):
    """What stands between `text` and an answer to it: a space, but nothing after a line's end or an opening bracket.

    >>> gap("Label:"), gap("Label:\\n"), gap("Label: (")
    (' ', '', '')
    """
    return "" if not text or text[-1].isspace() or text[-1] in _OPENING else " "
