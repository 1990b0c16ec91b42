"""How a model is asked for a new text, and how its reply is read: as a rewrite, or as patches of the old text."""

import re

from ..errors import ParseError
from .wording import prompt

_NEW = re.compile(r"<NEW>\n?(.*?)\n?</NEW>", re.DOTALL)
_PATCH = re.compile(r"<FIND>(.*?)</FIND>\s*<REPLACE>(.*?)</REPLACE>", re.DOTALL)


class Rewrite:
    """The model writes the whole text anew."""

    @staticmethod
    def messages(**values):
        """The conversation that asks for it."""
        return [("system", prompt("rewrite_system")), ("user", prompt("rewrite", **values))]

    @staticmethod
    def read(reply, text):
        """The new text in `reply`; a ParseError if there is none."""
        found = _NEW.findall(reply)
        if not found or not found[-1].strip():
            raise ParseError("it has no text between <NEW> and </NEW>")
        return found[-1].strip()


class Patches:
    """The model writes edits; all that they do not name stays as it is."""

    @staticmethod
    def messages(**values):
        """The conversation that asks for them."""
        return [("system", prompt("patch_system")), ("user", prompt("patch", **values))]

    @staticmethod
    def read(reply, text):
        """`text` with the edits in `reply` made, all of them or none; a ParseError if one does not fit.

        >>> Patches.read("<FIND>brief</FIND><REPLACE>very brief</REPLACE>", "Be brief.")
        'Be very brief.'
        """
        found = _PATCH.findall(reply)
        if not found:
            raise ParseError("it has no edit of the form <FIND>...</FIND><REPLACE>...</REPLACE>")
        for old, new in found:
            count = text.count(old) if old.strip() else 0
            if old.strip() and count != 1:
                raise ParseError(f"{old!r} must stand in the text exactly once, and stands there {count} times")
            text = text.replace(old, new) if old.strip() else f"{text.rstrip()}\n{new.strip()}"
        return text.strip()
