"""Text files by line: only the places of lines are kept in memory."""

import os
from pathlib import Path

import numpy as np

from ...errors import DataError
from .base import Source
from .views import concat

_PIECE = 1 << 20


class Lines(Source):
    """The lines of a text file, without their ends."""

    def __init__(self, path, encoding="utf-8"):
        self.path, self.encoding, self.file = Path(path), encoding, None
        try:
            self.starts, self.size = _starts(self.path)
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None

    def __getstate__(self):
        return {**self.__dict__, "file": None}

    def __len__(self):
        return len(self.starts) - 1

    def row(self, i):
        start, end = int(self.starts[i]), int(self.starts[i + 1])
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self.size:
                    raise DataError(f"{self.where(i)}: the file has become shorter since it was opened")
                file.seek(start)
                raw = file.read(end - start)
        except OSError as error:
            raise DataError(f"{self.where(i)}: {error.strerror}") from None
        try:
            text = raw.decode(self.encoding).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.where(i)}: no {self.encoding}: {error.reason} at byte {error.start} of the line") from None

        # A mark of the order of bytes may begin a file, and is no part of its text.
        return text if i else text.removeprefix("\ufeff")

    def where(self, i):
        return f"{self.path}, line {i + 1}"


def text_lines(*paths, encoding="utf-8"):
    """The lines of one or several text files, read when they are asked for; the places of all lines are found now.

    >>> import pathlib
    >>> _ = pathlib.Path("poem.txt").write_text("one\\ntwo\\n")
    >>> list(rg.data.text_lines("poem.txt"))
    ['one', 'two']
    """
    found = [Lines(path, encoding) for path in paths]
    return found[0] if len(found) == 1 else concat(*found)


def _starts(path):
    """Where each line starts, and the end of the file as the last one."""
    found, offset = [np.zeros(1, np.int64)], 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.append(np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n")) + offset + 1)
            offset += len(piece)
    starts = np.concatenate(found)
    # A last line without an end is a line as well.
    return (starts if starts[-1] == offset else np.append(starts, offset)), offset
