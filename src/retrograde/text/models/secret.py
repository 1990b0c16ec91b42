"""A key that shows itself nowhere."""

import json
import os
from urllib.parse import quote

from ...errors import ArgumentError


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

    def remove_from(self, body):
        """The bytes `body` with stars in place of the key, also of one that stands behind `Bearer`, and of its escaped form."""
        for value in {self._value, self._value.removeprefix("Bearer ")} if self else ():
            for shown in {value, json.dumps(value)[1:-1], quote(value, safe="")}:
                body = body.replace(shown.encode(), b"***")
        return body


def secret_from(value, variables):
    """The Secret `value`, or what the first of the environment variables that is set holds."""
    return Secret(value or next((os.environ[name] for name in variables if os.environ.get(name)), ""))
