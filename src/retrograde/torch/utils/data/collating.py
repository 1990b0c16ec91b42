"""`default_collate`: rows become a batch of tensors, as in PyTorch."""

from collections.abc import Mapping, Sequence

import numpy as np

from ....core.value import Value
from ....dtypes import float64
from ....errors import DTypeError, ShapeError
from ...creation import as_tensor, of, tensor
from ...shapes import stack


def default_collate(batch):
    """A batch of rows: tensors, arrays and numbers are stacked, texts are listed, containers are taken apart.

    Python floats become float64, tuples of rows become lists, as in PyTorch.

    >>> from retrograde.torch.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Value):
        return _stacked(batch)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "OUSTMm":
            raise DTypeError(f"default_collate takes arrays of numbers, got elements of {first.dtype}; give collate_fn=")
        return _stacked([as_tensor(row) for row in batch])
    if isinstance(first, np.generic):
        return as_tensor(np.array(batch, first.dtype))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([row[key] for row in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any([len(row) != len(first) for row in batch]):
            raise ShapeError(f"the rows of a batch must have equally many parts, got {sorted({len(row) for row in batch})}")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return parts if isinstance(first, (tuple, list)) else _like(first, parts)
    raise DTypeError(f"default_collate takes tensors, arrays, numbers, texts and containers of them, got {type(first).__name__}; "
                     "give collate_fn=")


def default_convert(data):
    """A row with tensors in the place of arrays."""
    if isinstance(data, Value):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "OUSTMm" else as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(part) for part in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(part) for part in data])
    return data


def _like(container, content):
    """A container of the type of another one, if that can be made of the content."""
    try:
        return type(container)(content)
    except TypeError:
        return content


def _stacked(rows):
    shape, dtype = rows[0].raw.shape, rows[0].raw.dtype
    for row in rows:
        if row.raw.shape != shape:
            shapes = ", ".join(dict.fromkeys(str(tuple(row.raw.shape)) for row in rows))
            raise ShapeError(f"the rows of a batch must have one shape, got {shapes}; pad them in collate_fn=")
    if any([row.requires_grad or row.raw.dtype != dtype for row in rows]):
        return stack(rows)
    return of(as_tensor(np.stack([row.raw for row in rows])))
