"""Failures: the errors of workers on their way to whoever waits for the batch."""

import pickle
import traceback
from typing import Any, NamedTuple

from ...errors import WorkerError


class WorkerTraceback(Exception):  # noqa: N818 - it is the cause of an error, and shows where that comes from
    """The traceback of a worker, as text."""

    def __str__(self):
        return f"\n\n{self.args[0]}"


class Failure(NamedTuple):
    """An error, or its pickle, and its traceback as text."""

    error: Any
    text: str

    def throw(self, name):
        """Raise the error, of the type that it has without workers, with the worker's own traceback as its cause."""
        error = self.error
        if isinstance(error, bytes):
            error = _restored(error)
            if error is None:
                raise WorkerError(f"{name} met an error that cannot be sent:\n{self.text}")
            error.__cause__ = WorkerTraceback(self.text)
        error.add_note(f"in {name}")
        raise error


def caught(error):
    """The failure that stands for an error, as a thread hands it over."""
    return Failure(error, "")


def packed(error):
    """The failure that stands for an error, as a process hands it over."""
    text = "".join(traceback.format_exception(error))
    try:
        # What lies behind an error is in the text.
        content = pickle.dumps(error)
    except Exception:  # noqa: BLE001 - whatever an error holds may be impossible to send
        return Failure(b"", text)
    return Failure(content, text)


def _restored(content):
    try:
        error = pickle.loads(content) if content else None
    except Exception:  # noqa: BLE001 - an error may be written so that it cannot be made again
        return None
    return error if isinstance(error, Exception) else None
