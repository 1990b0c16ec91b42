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
    form = [f"<FIND{code}>", f"</FIND{code}>", f"<REPLACE{code}>", f"</REPLACE{code}>"]
    # Text, tag, text, ..., tag, text: of each edit four tags, with nothing between its two parts.
    pieces = re.split(f"({'|'.join(map(re.escape, form))})", reply)
    tags, found = pieces[1::2], list(zip(pieces[2::8], pieces[6::8], strict=False))
    if tags != form * len(found) or any(between.strip() for between in pieces[4::8]):
        raise ParseError(f"an edit must have the form {form[0]}...{form[1]}{form[2]}...{form[3]}, and one has not")
    return found
