"""Messages as plain text, for models that continue text and know no chat; and where messages stand in a text of them."""

#: What ends an answer in a prompt made by `plain` where the request says nothing else: the blank line between turns.
SEPARATOR = "\n\n"
_OPENING = "([{<\"'`/"
#: Stands for the content of a message, by its number; the letter is for private use.
_MARK = "\ue000{}\ue000"


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


def parts_of(shown, contents):
    """The text that `shown` makes of the contents of messages, in parts: each content after what is put before it, and the rest.

    Whether a word is of a content can be seen in no other way: it may stand in the template as well. If the text is not that of
    other contents with these in their places, all of it is taken for a content.

    >>> parts_of(lambda contents: "".join([f"user: {content};" for content in contents]), ["a user", "b"])
    ('user: ', 'a user', ';user: ', 'b', ';')
    """
    whole, marks = shown(contents), [_MARK.format(i) for i in range(len(contents))]
    left, rest, found = whole, shown(marks), []
    for mark, content in zip(marks, contents, strict=True):
        before, _, rest = rest.partition(mark)
        left = left.removeprefix(before)
        # A template may leave out the space around a content.
        kept = next((text for text in (content, content.rstrip(), content.strip()) if left.startswith(text)), "")
        left = left.removeprefix(kept)
        found += [before, kept]
    found.append(rest)
    return tuple(found) if "".join(found) == whole else ("", whole, "")
