"""Reads pages of the documentation: their headings, and what links to them say."""

import re

__all__ = ["anchor", "headings"]


def headings(text):
    """(line, title) of each heading of a page; what stands in a block of code is none."""
    is_code = False
    for number, line in enumerate(text.splitlines()):
        is_code ^= line.startswith("```")
        if not is_code and (match := re.match(r"#+ (.+)", line)):
            yield number, match[1]


def anchor(title):
    """What a link to a heading says, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
