"""Collating: rows become a batch, whose leaves are arrays with one more axis at their front."""

from collections.abc import Mapping
from numbers import Number

import numpy as np

from ..core.value import Value
from ..dtypes import default_float
from ..errors import ArgumentError, DTypeError, ShapeError
from ..tensor.creation import asarray

#: The kinds of arrays that are no numbers: objects, texts, bytes, dates and spans of time.
_NO_NUMBERS = "OUSTMm"


def collate(rows):
    """Rows as one batch: arrays and numbers are stacked, texts are listed, tuples and dictionaries are taken apart.

    Python floats become float32 and integers int64, as in `rg.tensor`.

    >>> rg.data.collate([{"x": np.ones(2), "name": "a"}, {"x": np.zeros(2), "name": "b"}])
    {'x': array([[1., 1.],
           [0., 0.]]), 'name': ['a', 'b']}
    """
    first = rows[0]
    if isinstance(first, np.ndarray):
        return _stacked(rows)
    if isinstance(first, Value):
        return _stacked([np.asarray(row.detach().data) for row in rows])
    if isinstance(first, np.generic):
        return np.array(rows, first.dtype)
    if isinstance(first, Number):
        return _numbers(rows)
    if isinstance(first, (str, bytes)) or first is None:
        return list(rows)
    if isinstance(first, Mapping):
        return _mapped(rows)
    if isinstance(first, (tuple, list)):
        return _sequence(rows)
    raise DTypeError(f"rows of type {type(first).__name__} cannot be made a batch; give arrays, numbers, texts, tuples or "
                     "dictionaries, or make the batch by collate=")


def _stacked(rows):
    shape, dtype = rows[0].shape, rows[0].dtype
    for row in rows:
        if getattr(row, "shape", None) != shape:
            shapes = ", ".join(dict.fromkeys(str(np.shape(row)) for row in rows))
            raise ShapeError(f"the rows of a batch must have one shape, got {shapes}; pad them with collate=rg.data.Pad()")
    if any([row.dtype != dtype for row in rows]):
        return np.stack(rows)
    batch = np.empty((len(rows), *shape), dtype)
    for i, row in enumerate(rows):
        batch[i] = row
    return batch


def _numbers(rows):
    batch = np.array(rows)
    return batch.astype(default_float) if batch.dtype == np.float64 else batch


def _check_kind(rows, kind):
    """Raise a DTypeError unless all rows are of a kind, such as Mapping."""
    if odd := [row for row in rows if not isinstance(row, kind)]:
        raise DTypeError(f"the rows of a batch must be alike, got {type(rows[0]).__name__} and {type(odd[0]).__name__}; several "
                         "lists of one length are a source as a tuple of arrays, (np.asarray(x), np.asarray(y))")


def _mapped(rows):
    first = rows[0]
    _check_kind(rows, Mapping)
    for row in rows:
        if row.keys() != first.keys():
            raise ArgumentError(f"the rows of a batch must have the same keys, got {list(first)} and {list(row)}")
    return {key: collate([row[key] for row in rows]) for key in first}


def _sequence(rows):
    first = rows[0]
    _check_kind(rows, (tuple, list))
    if isinstance(first, list) and first and all([isinstance(x, Number) for x in first]):
        return collate([np.asarray(row, default_float if isinstance(row[0], float) else None) for row in rows])
    if len({len(row) for row in rows}) > 1:
        raise ShapeError(f"the rows of a batch must have equally many parts, got {sorted({len(row) for row in rows})}")
    parts = [collate(list(part)) for part in zip(*rows, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def as_tensors(batch):
    """A batch with tensors in the place of arrays of numbers, of the same memory, and lists in the place of arrays of texts."""
    if isinstance(batch, np.ndarray):
        kind = batch.dtype.kind
        return asarray(batch) if kind not in _NO_NUMBERS else batch if kind in "Mm" else batch.tolist()
    if isinstance(batch, dict):
        return {key: as_tensors(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return type(batch)(*map(as_tensors, batch)) if hasattr(batch, "_fields") else tuple([as_tensors(part) for part in batch])
    if isinstance(batch, list) and batch and isinstance(batch[0], (np.ndarray, dict, tuple)):
        return [as_tensors(part) for part in batch]
    return batch


class Pad:
    """Makes a batch of rows of different lengths: arrays are filled up with `value` along their first axis, to the longest.

    value        what is put behind the end
    multiple_of  the padded length is a multiple of it: fewer shapes, for which a compiled step is compiled fewer times
    lengths_of   the part of a row (a position or a key) whose lengths are added to the batch: as its last part, or as "lengths"

    >>> rg.data.Pad(lengths_of=0)([(np.array([1, 2, 3]), 0), (np.array([4]), 1)])
    (array([[1, 2, 3],
           [4, 0, 0]]), array([0, 1]), array([3, 1]))
    """

    def __init__(self, value=0, multiple_of=1, lengths_of=None):
        if multiple_of < 1:
            raise ArgumentError(f"multiple_of must be at least 1, got {multiple_of}")
        self.value, self.multiple_of, self.lengths_of = value, multiple_of, lengths_of

    def __call__(self, rows):
        """The batch of `rows`."""
        first = rows[0]
        if isinstance(first, dict):
            batch = {key: self._padded([row[key] for row in rows]) for key in first}
            return batch if self.lengths_of is None else {**batch, "lengths": self._lengths(rows)}
        if isinstance(first, tuple):
            parts = [self._padded(list(part)) for part in zip(*rows, strict=True)]
            parts += [] if self.lengths_of is None else [self._lengths(rows)]
            return tuple(parts)
        return self._padded(rows) if self.lengths_of is None else (self._padded(rows), np.array([len(row) for row in rows]))

    def _lengths(self, rows):
        return np.array([len(row[self.lengths_of]) for row in rows])

    def _padded(self, rows):
        if not isinstance(rows[0], (np.ndarray, list, Value)):
            return collate(rows)
        arrays = [np.asarray(row.detach().data if isinstance(row, Value) else row) for row in rows]
        if arrays[0].ndim == 0:
            return collate(arrays)
        inner = {a.shape[1:] for a in arrays}
        if len(inner) > 1 or any([a.ndim == 0 for a in arrays]):
            raise ShapeError(f"Pad fills up the first axis alone; the others differ: {sorted({a.shape for a in arrays})}")
        longest = max(len(a) for a in arrays)
        longest += -longest % self.multiple_of
        batch = np.full((len(arrays), longest, *inner.pop()), self.value, np.result_type(*arrays))
        for i, a in enumerate(arrays):
            batch[i, : len(a)] = a
        return batch
