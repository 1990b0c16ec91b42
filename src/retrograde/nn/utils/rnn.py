"""Sequences of unequal lengths put together into one batch."""

from ...errors import ArgumentError, ShapeError
from ...ops.borders import pad
from ...ops.joins import stack
from ...ops.movements import transpose
from ...tensor.creation import asarray

_SIDES = ("right", "left")


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """`sequences`, (length, ...) each, side by side, (longest, batch, ...), filled up with `padding_value`.

    With `batch_first` the result is (batch, longest, ...).

    >>> rg.nn.utils.rnn.pad_sequence([rg.tensor([1, 2]), rg.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if padding_side not in _SIDES:
        raise ArgumentError(f"padding_side must be one of {', '.join(_SIDES)}, got {padding_side!r}")
    sequences = [asarray(x) for x in sequences]
    shapes = [tuple(x.shape) for x in sequences]
    if not shapes or () in shapes or len({shape[1:] for shape in shapes}) != 1:
        raise ShapeError(f"pad_sequence needs sequences that differ in length alone, the first axis, got shapes {shapes}")
    longest = max([shape[0] for shape in shapes])
    found = stack([_filled(x, longest, padding_value, padding_side) for x in sequences])
    return found if batch_first else transpose(found, 0, 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of `lengths` that `pad_sequence` has put together, filled up on the right."""
    rows = padded_sequences if batch_first else transpose(padded_sequences, 0, 1)
    return [row[: int(length)] for row, length in zip(rows, lengths, strict=True)]


def _filled(x, longest, value, side):
    lacking = longest - x.shape[0]
    first = (0, lacking) if side == "right" else (lacking, 0)
    return pad(x, (first, *[(0, 0)] * (x.ndim - 1)), value=value) if lacking else x
