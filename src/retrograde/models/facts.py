"""Facts: what the files of models say of themselves, each checked where it is read, so that no value is taken for another."""

from typing import Any

from ..errors import CheckpointError

#: Stands for no default: the file must have the fact.
_NEEDED: dict = {}
#: The greatest size that a file may name unless said otherwise.
_GREATEST = 2**31 - 1


class Facts:
    """The facts of a file by name; `where` is the file in errors, and `before` what its names begin with.

    A fact that is not there is the default, and so is null where that is None. All else that is not of the kind that is asked for,
    or out of bounds, is a CheckpointError.
    """

    def __init__(self, where, written, before=""):
        self.where, self.written, self.before = where, written, before

    def has(self, name):
        """Whether the file has the fact, and says something by it."""
        return self.written.get(self.before + name) is not None

    def integer(self, name, default=_NEEDED, least=0, greatest=_GREATEST) -> Any:
        """An integer from `least` to `greatest`."""
        found = self._found(name, default)
        if found is default or (type(found) is int and least <= found <= greatest):
            return found
        raise self._wrong(name, found, f"an integer from {least} to {greatest}")

    def number(self, name, default=_NEEDED, least=0.0, greatest=1e30) -> Any:
        """A finite number from `least` to `greatest`."""
        found = self._found(name, default)
        if found is default or (type(found) in (int, float) and least <= found <= greatest):  # no NaN is
            return found if found is default else float(found)
        raise self._wrong(name, found, f"a number from {least:g} to {greatest:g}")

    def flag(self, name, default=_NEEDED) -> Any:
        """True or False, and nothing that stands for one of them."""
        found = self._found(name, default)
        if found is default or type(found) is bool:
            return found
        raise self._wrong(name, found, "true or false")

    def text(self, name, default=_NEEDED, among=None) -> Any:
        """A text, one of those `among` which it must be."""
        found = self._found(name, default)
        if found is default or (type(found) is str and (among is None or found in among)):
            return found
        raise self._wrong(name, found, "a text" if among is None else f"one of {', '.join(sorted(among))}")

    def texts(self, name, default=_NEEDED) -> Any:
        """A tuple of texts."""
        found = self._found(name, default)
        if found is default:
            return found
        if not isinstance(found, list) or not all([type(text) is str for text in found]):
            raise self._wrong(name, found, "a list of texts")
        return tuple(found)

    def tokens(self, name, size, default=()):
        """A tuple of tokens of a vocabulary of `size`, of one token or a list of them.

        Those beyond it are left out: small models keep the usual tokens of their kind in their files, and these never come.
        """
        found = self._found(name, None)
        found = ([] if name in self.written else default) if found is None else found
        found = [found] if type(found) is int else found
        if not isinstance(found, (list, tuple)) or not all([type(token) is int and 0 <= token <= _GREATEST for token in found]):
            raise self._wrong(name, found, f"tokens, which are integers from 0 to {_GREATEST}")
        return tuple([token for token in found if token < size])

    def part(self, name):
        """The facts in a dictionary of this name; none where there is no such dictionary."""
        found = self._found(name, None)
        if found is not None and not isinstance(found, dict):
            raise self._wrong(name, found, "an object")
        return Facts(f"{self.where}, {name},", found or {})

    def refuse(self, neutral):
        """Raise a CheckpointError if a fact says more than nothing; `neutral` has by name the value that says nothing."""
        for name, value in neutral.items():
            found = self._found(name, None)
            if found is not None and not (type(found) in (bool, int, float) and found == value):
                raise CheckpointError(f"{self.where} asks for {self.before}{name} {found!r:.80}, which retrograde does not have")

    def _found(self, name, default) -> Any:
        key = self.before + name
        found = self.written.get(key)
        if found is None and (key not in self.written or default is None):
            if default is _NEEDED:
                raise CheckpointError(f"{self.where} lacks {key}")
            return default
        return found

    def _wrong(self, name, found, kind):
        return CheckpointError(f"{self.where} has {self.before}{name} {found!r:.80}, which must be {kind}")
