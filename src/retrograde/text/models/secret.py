"""A key that shows itself nowhere."""

import os
import re
from functools import cache

from ...errors import ArgumentError

#: What is shorter is no key, but what stands for none ("EMPTY", "ollama"), and may be a word of an answer.
_SHORTEST = 8
_ESCAPES = (b"\\u00", b"\\/", b"%", b'\\"', b"\\\\")
#: The names of options, of the body or the address, whose values are keys.
_NAME = re.compile(r"(^|[_-])(api)?(key|secret|password|auth|authorization|cookie|sig|signature)$"
                   r"|(^|(access|user|api|auth|bearer|session|refresh|id)[_-]?)token$", re.IGNORECASE)


class Secret:
    """Holds a key. Only `reveal` gives it; text made of a Secret, and pickles of it, do not hold it.

    >>> Secret("sk-123")
    Secret(***)
    """

    __slots__ = ("_value",)

    def __init__(self, value):
        value = (value or "").strip()
        if not (value.isascii() and value.isprintable()):
            raise ArgumentError("a key must consist of printable ASCII characters; this one does not (it is not shown)")
        self._value = value

    def __bool__(self):
        return bool(self._value)

    def __repr__(self):
        return "Secret(***)" if self else "Secret()"

    def __reduce__(self):
        return Secret, ("",)

    def reveal(self):
        """The key itself; the empty string if there is none."""
        return self._value

    @property
    def shown(self):
        """What must not show: the key, of one behind `Bearer` what follows; "" where it is too short to be one."""
        key = self._value.removeprefix("Bearer ")
        return key if len(key) >= _SHORTEST else ""

    def remove_from(self, body):
        """The bytes `body` with stars in place of the key, as it is and in any escaped form."""
        if not self.shown:
            return body
        body = body.replace(self.shown.encode(), b"***")
        # Escapes that text has at every turn, such as that of a line feed, are none of a key.
        return _forms(self.shown).sub(b"***", body) if any(mark in body for mark in _ESCAPES) else body


class Pieces:
    """A text that comes in pieces, without keys: also where one is spread over several pieces."""

    def __init__(self, secrets):
        self._keys, self._held = [secret.shown for secret in secrets if secret.shown], ""

    def add(self, piece):
        """The text that may be shown once `piece` has come: all but an end that may be the beginning of a key."""
        text = self._held + piece
        for key in self._keys:
            text = text.replace(key, "***")
        held = max((size for key in self._keys for size in range(1, len(key)) if text.endswith(key[:size])), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self):
        """What is left when no piece comes any more; stars where that is much of a key."""
        held, self._held = self._held, ""
        return held if len(held) < _SHORTEST else "***"


@cache
def _forms(value):
    """The pattern of a key in which each character may be escaped, as JSON or an address has it."""
    return re.compile(b"".join(rb"(?:\\*%b|\\+u00(?i:%02x)|%%(?i:%02x))" % (re.escape(sign.encode()), ord(sign), ord(sign))
                               for sign in value))


def hidden(options):
    """`options` with a Secret in place of each string whose name says that it is a key."""
    return {name: hidden(value) if isinstance(value, dict) else
            Secret(value) if isinstance(value, str) and _NAME.search(name) and value.isascii() and value.isprintable() else value
            for name, value in options.items()}


def revealed(options):
    """What `hidden` was given; a key that is not known any more, after a pickle, is left out."""
    return {name: revealed(value) if isinstance(value, dict) else value.reveal() if isinstance(value, Secret) else value
            for name, value in options.items() if not isinstance(value, Secret) or value}


def without_secrets(options):
    """(`options` without the Secrets in them, these Secrets)."""
    rest, found = {}, []
    for name, value in options.items():
        if isinstance(value, Secret):
            found.append(value)
        elif isinstance(value, dict):
            rest[name], inner = without_secrets(value)
            found += inner
        else:
            rest[name] = value
    return rest, found


def secret_from(value, variables):
    """The Secret `value`, or what the first of the environment variables that is set holds."""
    return Secret(value or next((os.environ[name] for name in variables if os.environ.get(name)), ""))
