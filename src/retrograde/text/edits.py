"""How a model is asked for a new text, and how its reply is read: as a rewrite, or as patches of the old text."""

import re

from ..errors import ParseError
from .tags import block, unescaped
from .wording import prompt


class Rewrite:
    """The model writes the whole text anew."""

    @staticmethod
    def messages(**values):
        """The conversation that asks for it; data in `values` are escaped, and `nonce` is that of the tags around them."""
        return [("system", prompt("rewrite_system")), ("user", prompt("rewrite", **values))]

    @staticmethod
    def read(reply, text, nonce=""):
        """The new text in `reply`; a ParseError if there is none, or more than one."""
        found = unescaped(block(reply, "NEW", nonce)).strip()
        if not found:
            raise ParseError(f"it has no text between <NEW-{nonce}> and </NEW-{nonce}>")
        return found


class Patches:
    """The model writes edits; all that they do not name stays as it is."""

    @staticmethod
    def messages(**values):
        """The conversation that asks for them, as that of `Rewrite`."""
        return [("system", prompt("patch_system")), ("user", prompt("patch", **values))]

    @staticmethod
    def read(reply, text, nonce=""):
        """`text` with the edits in `reply` made, all of them or none; a ParseError if one does not fit.

        >>> Patches.read("<FIND>brief</FIND><REPLACE>very brief</REPLACE>", "Be brief.")
        'Be very brief.'
        """
        found = _edits(reply, f"-{nonce}") or _edits(reply, "")
        if not found:
            raise ParseError("it has no edit of the form <FIND>...</FIND><REPLACE>...</REPLACE>")
        for old, new in found:
            old, new = unescaped(old), unescaped(new)
            count = text.count(old) if old.strip() else 0
            if old.strip() and count != 1:
                raise ParseError(f"{old!r} must stand in the text exactly once, and stands there {count} times")
            text = text.replace(old, new) if old.strip() else f"{text.rstrip()}\n{new.strip()}"
        return text.strip()


def _edits(reply, code):
    """(what to find, what to put there) of each edit; a ParseError where a tag stands outside of an edit."""
    pattern = rf"<FIND{code}>(.*?)</FIND{code}>\s*<REPLACE{code}>(.*?)</REPLACE{code}>"
    found = re.findall(pattern, reply, re.DOTALL)
    tags = len(re.findall(rf"</?(?:FIND|REPLACE){code}>", reply))
    if tags != 4 * len(found):
        form = f"<FIND{code}>...</FIND{code}><REPLACE{code}>...</REPLACE{code}>"
        raise ParseError(f"an edit must have the form {form}, and one has not")
    return found
