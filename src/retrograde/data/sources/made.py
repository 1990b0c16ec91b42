"""Sources of what is in memory: arrays, columns, tables, and anything with `len` and `[]`."""

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ...core.value import Value
from ...dtypes import default_float
from ...errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from .base import Source

#: Tables of other libraries, by the module of their class: what gives a column by its name, and all names.
_TABLES = {
    "pandas": lambda table: {str(name): table[name].to_numpy() for name in table.columns},
    "polars": lambda table: {name: table[name].to_numpy() for name in table.columns},
    "pyarrow": lambda table: {name: _of_arrow(table.column(name)) for name in table.schema.names},
}


def source(rows: Any, *more):
    """A source of rows: an array (or several of one length), a tuple or dictionary of arrays, a table of pandas, polars or Arrow,
    or anything with `len` and `[]`.

    A row of several arrays is a tuple, one of a dictionary or a table is a dictionary.

    >>> rg.data.source(np.arange(3), np.arange(3) * 10)[1]
    (np.int64(1), np.int64(10))
    >>> rg.data.source({"x": np.arange(3)})[2]
    {'x': np.int64(2)}
    """
    if more:
        return Arrays((rows, *more))
    if isinstance(rows, Source):
        return rows
    if is_table(rows):
        return Columns(columns_of(rows)) if hasattr(rows, "columns") else _of_column(_column(rows))
    if isinstance(rows, (np.ndarray, Value)):
        return Array(rows)
    if isinstance(rows, tuple) and rows and all([isinstance(part, (np.ndarray, Value)) or is_table(part) for part in rows]):
        return Arrays([_numbers_of(part) if is_table(part) else part for part in rows])
    if isinstance(rows, Mapping):
        return Columns(rows)
    if isinstance(rows, (str, bytes, PathLike)):
        raise DTypeError(f"a text is no source of rows; for the file {str(rows)[:80]!r} there are rg.data.csv, text_lines, "
                         "parquet, arrow and image_folder")
    if not hasattr(rows, "__len__") or not hasattr(rows, "__getitem__"):
        raise DTypeError(f"a source of rows needs `len` and `[]`, which {type(rows).__name__} has not got; list(...) makes a list "
                         "of it")
    return Sequence(rows)


def is_table(rows):
    """Whether it is a table, or a column, of pandas, polars or Arrow."""
    return _library(rows) in _TABLES and (hasattr(rows, "columns") or hasattr(rows, "to_numpy"))


def columns_of(table):
    """The columns of a table of pandas, polars or Arrow, as arrays by their names."""
    names = Counter(str(name) for name in (table.schema.names if _library(table) == "pyarrow" else table.columns))
    if twice := [name for name, count in names.items() if count > 1]:
        raise ArgumentError(f"the columns of a table need names that differ; there are several called {', '.join(twice)}")
    return _TABLES[_library(table)](table)


def _column(rows):
    """A column as an array: in the order of its rows, whatever its index says."""
    return _of_arrow(rows) if _library(rows) == "pyarrow" else rows.to_numpy()


def _of_column(array):
    return Array(array) if array.dtype != object else Sequence(array)


def _numbers_of(table):
    """A column, or the columns of a table side by side, as one array of numbers."""
    array = np.asarray(table) if hasattr(table, "columns") else _column(table)
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"a {type(table).__name__} among arrays needs numbers, got {array.dtype}; make numbers of its columns, or "
                         f"hand it over by itself, whose rows are dictionaries")
    return array


def _library(rows):
    return type(rows).__module__.partition(".")[0]


class Sequence(Source):
    """The rows of an object with `len` and `[]`."""

    def __init__(self, rows):
        self.rows = rows
        if hasattr(rows, "where"):
            self.where = rows.where
        if hasattr(rows, "__getitems__"):
            self.__getitems__ = rows.__getitems__

    def __len__(self):
        return len(self.rows)

    def row(self, i):
        return self.rows[i]


class Array(Source):
    """The entries of an array along its first axis."""

    can_gather = True

    def __init__(self, rows):
        self.rows = _array(rows)

    def __len__(self):
        return len(self.rows)

    def row(self, i):
        return self.rows[i]

    def gather(self, indices):
        return taken(self.rows, indices)


class Arrays(Source):
    """Tuples of the entries of arrays of one length."""

    can_gather = True

    def __init__(self, arrays):
        self.arrays = tuple([_array(a) for a in arrays])
        self.length = _one_length(dict(enumerate(self.arrays)))

    def __len__(self):
        return self.length

    def row(self, i):
        return tuple([a[i] for a in self.arrays])

    def gather(self, indices):
        return tuple([taken(a, indices) for a in self.arrays])


class Columns(Source):
    """Dictionaries of the entries of named arrays of one length."""

    def __init__(self, columns, name=""):
        self.columns = {key: _array(a) for key, a in columns.items()}
        if not self.columns:
            raise ArgumentError("a source needs at least one column")
        self.length, self.name = _one_length(self.columns), name
        # Objects are collated row by row: they may be texts, or arrays of different lengths.
        self.can_gather = all([a.dtype != object for a in self.columns.values()])

    def __len__(self):
        return self.length

    def row(self, i):
        return {key: a[i] for key, a in self.columns.items()}

    def gather(self, indices):
        return {key: taken(a, indices) for key, a in self.columns.items()}

    def where(self, i):
        return f"row {i} of {self.name}" if self.name else ""

    def tuples(self, *names, dtype=default_float):
        """The columns `names` as a source of tuples, or of the entries of one column. Floats are converted to `dtype`.

        A list of names is one array of these columns side by side.

        >>> table = rg.data.source({"a": np.arange(3), "b": np.ones(3), "y": np.zeros(3)})
        >>> table.tuples(["a", "b"], "y")[2]
        (array([2., 1.], dtype=float32), np.float32(0.0))
        """
        for name in [n for part in names for n in (part if isinstance(part, list) else [part])]:
            if name not in self.columns:
                raise OutOfRangeError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        arrays = [self._side_by_side(part) if isinstance(part, list) else self.columns[part] for part in names]
        arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]
        return Array(arrays[0]) if len(arrays) == 1 else Arrays(arrays)

    def _side_by_side(self, names):
        return np.stack([self.columns[name] for name in names], axis=1)


def taken(array, indices):
    """The entries of an array of these numbers, copied."""
    if isinstance(indices, range):
        return np.array(array[indices.start : indices.stop])
    return np.asarray(array).take(indices, axis=0)


def _of_arrow(column):
    # One chunk is not copied: it may lie in the map of a file.
    column = column.chunk(0) if getattr(column, "num_chunks", 0) == 1 else column
    return column.to_numpy(zero_copy_only=False)


def _array(rows):
    # A memory map stays one: its class says how it is sent to other processes.
    array = rows.detach().data if isinstance(rows, Value) else rows if isinstance(rows, np.ndarray) else _read(rows)
    if array.ndim == 0:
        raise ShapeError("a source needs arrays with rows, got one without axes")
    return array


def _read(rows):
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise ShapeError(f"a column is an array, or a list of which one can be made: {error}; give rows of different lengths as a "
                         "list of rows, and pad them with collate=rg.data.Pad()") from None
    return array.astype(np.float32) if array.dtype == np.float64 and isinstance(rows, (list, tuple)) else array


def _one_length(arrays):
    lengths = {key: len(a) for key, a in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ShapeError(f"arrays must have one length, got {', '.join(f'{key}: {n}' for key, n in lengths.items())}")
    return next(iter(lengths.values()))
