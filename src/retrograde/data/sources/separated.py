"""CSV files, read by Python's own reader into columns of integers, floats and texts."""

import csv as reading
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from ...errors import ArgumentError, DataError
from .made import Columns

#: Rows that are converted at once.
_PIECE = 4096
#: The longest field that may be a number: one long field among many would make an array of texts of its length each.
_LONGEST_NUMBER = 400
#: The kinds of columns, from the narrowest to the widest, and their dtypes.
_KINDS = (np.dtype(np.int64), np.dtype(np.float64), np.dtypes.StringDType())
_INTEGER, _FLOAT, _TEXT = range(3)


def csv(path, columns=None, header=True, delimiter=",", types=None, encoding="utf-8"):
    """The rows of a CSV file as dictionaries.

    A column whose fields are all integers is int64, one of numbers float64 (an empty field is NaN), others are texts. The file is
    read twice: to find that out, and to fill the columns.

    columns     the names of those to read; None: all
    header      whether the first line names the columns; False: they are named "0", "1", ...; or a list of their names
    types       a dtype for a column by its name (`int`, `float`, `str`), in place of what its fields look like

    >>> import pathlib
    >>> _ = pathlib.Path("rain.csv").write_text("day,mm\\nMo,1.5\\nTu,\\n")
    >>> table = rg.data.csv("rain.csv")
    >>> table[0], table.columns["mm"]
    ({'day': 'Mo', 'mm': np.float64(1.5)}, array([1.5, nan]))
    """
    file = _File(Path(path), header, delimiter, encoding)
    names, kinds, count = _survey(file, types or {})
    wanted = list(names) if columns is None else list(columns)
    for name in [*wanted, *(types or {})]:
        if name not in names:
            raise DataError(f"{path} has no column {name!r}; it has {', '.join(names)}")
    filled = {name: np.empty(count, _KINDS[kinds[names.index(name)]]) for name in wanted}
    place = 0
    with file.rows() as (_, rows):
        while piece := list(islice(rows, _PIECE)):
            fields = list(zip(*[row for _, row in piece], strict=True))
            for name, column in filled.items():
                k = names.index(name)
                column[place : place + len(piece)] = _converted(fields[k], kinds[k], lambda i: file.at(piece[i][0], name))
            place += len(piece)
    return Columns(filled, str(path))


class _File:
    """A CSV file, whose errors say where they are."""

    def __init__(self, path, header, delimiter, encoding):
        self.path, self.header, self.delimiter, self.encoding = path, header, delimiter, encoding

    def at(self, line, name):
        return f"{self.path}, line {line}, column {name!r}"

    @contextmanager
    def rows(self):
        """(names of the columns, an iterator over (line, fields))."""
        try:
            with self.path.open(newline="", encoding=self.encoding) as file:
                reader = reading.reader(file, delimiter=self.delimiter, strict=True)
                try:
                    names, first = self._names(reader)
                    yield names, self._rows(reader, names, first)
                except reading.Error as error:
                    raise DataError(f"{self.path}, line {reader.line_num}: {error}") from None
                except UnicodeDecodeError as error:
                    raise DataError(f"{self.path}, near line {reader.line_num + 1}: no {self.encoding}: {error.reason}") from None
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        except TypeError as error:  # of the delimiter
            raise ArgumentError(f"csv: {error}") from None

    def _names(self, reader):
        if isinstance(self.header, (list, tuple)):
            return list(self.header), None
        first = next(reader, None)
        if not first:
            raise DataError(f"{self.path}, line 1: there are no columns")
        if self.header:
            twice = sorted({name for name in first if first.count(name) > 1})
            if twice:
                raise DataError(f"{self.path}, line 1: two columns are called {twice[0]!r}")
            return first, None
        return [str(i) for i in range(len(first))], (1, first)

    def _rows(self, reader, names, first):
        if first is not None:
            yield first
        for row in reader:
            if not row:  # a blank line
                continue
            if len(row) != len(names):
                raise DataError(f"{self.path}, line {reader.line_num}: {len(row)} fields, where there are {len(names)} columns")
            yield reader.line_num, row


def _survey(file, types):
    """(names, kinds, number of rows) of a file."""
    with file.rows() as (names, rows):
        kinds, count = [_kind(types.get(name)) for name in names], 0
        is_given = [kind is not None for kind in kinds]
        kinds = [_INTEGER if kind is None else kind for kind in kinds]
        while piece := list(islice(rows, _PIECE)):
            count += len(piece)
            for k, fields in enumerate(zip(*[row for _, row in piece], strict=True)):
                while not is_given[k] and kinds[k] < _TEXT and not _fits(fields, kinds[k]):
                    kinds[k] += 1
    return names, kinds, count


def _kind(given):
    if given is None:
        return None
    kind = {"i": _INTEGER, "u": _INTEGER, "f": _FLOAT, "U": _TEXT, "T": _TEXT}.get(np.dtype(given).kind)
    if kind is None:
        raise ArgumentError(f"a column is of type int, float or str, got {given!r}")
    return kind


def _fits(fields, kind):
    if any(["_" in field for field in fields]):  # Python would take 1_000 for a number
        return False
    try:
        _numbers(fields, kind)
    except (ValueError, OverflowError):
        return False
    return not any([_loses_digits(field, kind) for field in fields])


def _loses_digits(field, kind):
    """Whether a number would be another one when written again: with a zero at its front, or too long an integer for a float."""
    digits = field.strip().lstrip("+-")
    if len(digits) < 2 or not digits.isdigit():
        return False
    return digits[0] == "0" or (kind == _FLOAT and len(digits) > 15 and int(digits) != float(digits))


def _numbers(fields, kind):
    if max(map(len, fields)) > _LONGEST_NUMBER:
        raise ValueError("too long for a number")
    if kind == _FLOAT:
        return np.array([field.strip() or "nan" for field in fields]).astype(np.float64)
    return np.array(fields).astype(np.int64)


def _converted(fields, kind, place):
    """The fields of a column as an array of its kind."""
    if kind == _TEXT:
        return np.array(fields, _KINDS[_TEXT])
    try:
        return _numbers(fields, kind)
    except (ValueError, OverflowError):
        for i, field in enumerate(fields):
            try:
                _numbers([field], kind)
            except (ValueError, OverflowError):
                raise DataError(f"{place(i)}: {field!r} is no {_KINDS[kind]}") from None
        raise
