"""A number of seconds that a block of code says, or the environment of the process."""

import os
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from math import nan

from ..errors import ArgumentError

_watching: weakref.WeakSet = weakref.WeakSet()


def watch(who):
    """Let `who.timed()` be called whenever a block of code changes some number of seconds, while `who` lives."""
    _watching.add(who)


class Seconds:
    """So many seconds: within a block what it says, elsewhere what a variable of the environment says, or else `usual`.

    name      what takes so long, as errors call it
    is_right  whether a number may be that, as `told` says in words
    """

    def __init__(self, name, variable, usual, is_right, told):
        self._name, self._variable, self._usual, self._is_right, self._told = name, variable, usual, is_right, told
        self._said: ContextVar = ContextVar(name, default=None)

    @contextmanager
    def within(self, seconds):
        """Within it, it is `seconds`."""
        token = self._said.set(self._checked(seconds))
        try:
            _tell()
            yield
        finally:
            self._said.reset(token)
            _tell()

    def here(self):
        """How many it is here."""
        said = self._said.get()
        return self._checked(os.environ.get(self._variable, self._usual)) if said is None else said

    def _checked(self, seconds):
        try:
            found = float(seconds)
        except (TypeError, ValueError):
            found = nan
        if not self._is_right(found):
            raise ArgumentError(f"{self._name} must be a number of seconds {self._told}, got {seconds!r}")
        return found


def _tell():
    for who in list(_watching):
        who.timed()
