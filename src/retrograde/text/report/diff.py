"""Differences between two values of a parameter, word by word, line by line where they are long, or row by row for lists."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from ..data import as_text

_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
#: Texts that have less than this in common are shown one after the other.
_ALIKE = 0.5
#: The time of a comparison grows with the product of the lengths. Above this lines are compared, and above it again, nothing.
_MOST = 4_000_000


class Piece(NamedTuple):
    """A run of text that is the "same", "gone" or "new"."""

    kind: str
    text: str


def pieces(before, after):
    """How `before` became `after`: runs of text, in order.

    >>> [tuple(piece) for piece in pieces("Be brief.", "Be very brief.")]
    [('same', 'Be'), ('new', ' very'), ('same', ' brief.')]
    """
    old, new = _parts(before), _parts(after)
    if len(old) * len(new) > _MOST:
        old, new = ("".join(parts).splitlines(keepends=True) for parts in (old, new))
    matcher, found = SequenceMatcher(None, old, new, autojunk=False), []
    is_rewritten = len(old) * len(new) > _MOST or (not isinstance(before, list) and matcher.ratio() < _ALIKE)
    for action, a, b, c, d in [("replace", 0, len(old), 0, len(new))] if is_rewritten else matcher.get_opcodes():
        if action == "equal":
            found.append(Piece("same", "".join(old[a:b])))
        else:
            found += [Piece(kind, "".join(part)) for kind, part in (("gone", old[a:b]), ("new", new[c:d])) if part]
    return found


def _parts(data):
    """What is compared: words, spaces and signs of a text; rows of a list, each a line."""
    if not isinstance(data, list):
        return _PIECE.findall(as_text(data))
    return [" → ".join(map(as_text, row)) + "\n" if isinstance(row, list) else f"{as_text(row)}\n" for row in data]
