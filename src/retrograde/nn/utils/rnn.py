"""Sequences of unequal lengths put together into one batch: filled up, or packed without any filling."""

from typing import Any, NamedTuple

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError, DTypeError, ShapeError, TraceError
from ...ops.elementary.comparisons import where
from ...ops.manipulation.borders import pad
from ...ops.manipulation.gathering import take
from ...ops.manipulation.joins import stack
from ...ops.manipulation.movements import reshape, transpose
from ...ops.manipulation.selections import getitem
from ...tensor.creation import asarray

_SIDES = ("right", "left")


class _Packed(NamedTuple):
    """What a packed sequence holds."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """Sequences as one array without filling: all first elements, longest sequence first, then all second ones, and so on.

    data              the elements, (sum of the lengths, ...)
    batch_sizes       how many sequences are longer than 0, 1, 2, ...
    sorted_indices    the places of the sequences in order of length, or None if they were so ordered
    unsorted_indices  the inverse of `sorted_indices`

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent networks take one and return one. To `jit` and its like all but
    the data are constants: sequences of other lengths are compiled anew.
    """

    __slots__ = ()
    _tree_constants = ("batch_sizes", "sorted_indices", "unsorted_indices")

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        """Only `data` and `batch_sizes` must be given."""
        if batch_sizes is None:
            raise ArgumentError("a PackedSequence needs batch_sizes; make one with pack_padded_sequence or pack_sequence")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *targets, **named):
        """The same sequences with their data moved or converted, as by `Tensor.to`."""
        return self._replace(data=self.data.to(*targets, **named))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """The first `lengths` elements of the sequences of `input`, (longest, batch, ...), as a `PackedSequence`.

    With `enforce_sorted` the lengths must not grow from one sequence to the next; otherwise any order will do. Under `jit` the
    lengths are constants of the compiled code: those that differ are compiled anew.

    >>> nn = rg.nn.utils.rnn
    >>> packed = nn.pack_padded_sequence(rg.tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], batch_first=True)
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 3], [2, 1, 1])
    """
    x = transpose(input, 0, 1) if batch_first else input
    counts = _constants(lengths, "lengths")
    if counts.shape != x.shape[1:2]:
        raise ShapeError(f"pack_padded_sequence needs one length for each of {x.shape[1]} sequences, got shape {counts.shape}")
    if not counts.size or counts.min() < 1 or counts.max() > x.shape[0]:
        raise ArgumentError(f"lengths must lie between 1 and {x.shape[0]}, got {counts.tolist()}")
    order = np.argsort(-counts, kind="stable")
    if enforce_sorted and (np.diff(counts) > 0).any():
        raise ArgumentError(f"lengths must not grow, got {counts.tolist()}; sort the sequences, or set enforce_sorted=False")
    sizes = (counts > np.arange(counts.max())[:, None]).sum(axis=1)
    times, columns = places(sizes)
    data = getitem(x, (times, order[columns]))
    return PackedSequence(data, asarray(sizes), None if enforce_sorted else asarray(order))


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(sequences side by side, (longest, batch, ...), filled up with `padding_value`; their lengths) of a `PackedSequence`.

    With `batch_first` they are (batch, longest, ...); `total_length` is what they are filled up to instead of the longest.

    >>> nn = rg.nn.utils.rnn
    >>> padded, lengths = nn.pad_packed_sequence(nn.pack_sequence([rg.tensor([1, 2]), rg.tensor([3])]), batch_first=True)
    >>> padded.tolist(), lengths.tolist()
    ([[1, 2], [3, 0]], [2, 1])
    """
    found, is_inside = unpacked(sequence, padding_value)
    longest, lengths = is_inside.shape[0], is_inside.sum(axis=0)
    if total_length is not None and total_length < longest:
        raise ArgumentError(f"total_length must be at least {longest}, the length of the longest sequence, got {total_length}")
    if total_length is not None:
        found = _filled(found, total_length, padding_value, "right")
    if sequence.unsorted_indices is not None:
        order = _constants(sequence.unsorted_indices, "unsorted_indices")
        found, lengths = take(found, order, 1), lengths[order]
    return transpose(found, 0, 1) if batch_first else found, asarray(lengths)


def pack_sequence(sequences, enforce_sorted=True):
    """`sequences`, (length, ...) each, as a `PackedSequence`. See `pack_padded_sequence`."""
    sequences = list(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of the sequences of a `PackedSequence`, in the order in which they were packed."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def invert_permutation(permutation):
    """The order that undoes the order `permutation`, a tensor; None for None."""
    return None if permutation is None else asarray(np.argsort(_constants(permutation, "permutation")))


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


def unpacked(sequence, padding_value=0.0):
    """(the data of a `PackedSequence` as (longest, batch, ...), longest sequence first; which elements are inside one)."""
    sizes = _constants(sequence.batch_sizes, "batch_sizes")
    is_inside = np.arange(sizes[0]) < sizes[:, None]
    starts = np.cumsum(sizes) - sizes
    rows = np.where(is_inside, starts[:, None] + np.arange(sizes[0]), 0)
    found = take(sequence.data, rows, 0)
    marks = reshape(is_inside, (*is_inside.shape, *[1] * (found.ndim - 2)))
    return found if is_inside.all() else where(marks, found, np.full((), padding_value, found.dtype)), is_inside


def places(batch_sizes):
    """(time, column) of each element of packed data."""
    sizes = _constants(batch_sizes, "batch_sizes")
    times = np.repeat(np.arange(len(sizes)), sizes)
    return times, np.arange(len(times)) - (np.cumsum(sizes) - sizes)[times]


def _constants(numbers, name):
    """Integers, known now, as a NumPy array."""
    if isinstance(numbers, Value):
        if numbers.is_traced:
            raise TraceError(f"{name} must be numbers that are known when jit traces the function, since shapes depend on them; "
                             "give lengths as a list, and pack inside the jitted function")
        numbers = numbers.detach().numpy()
    found = np.asarray([int(n) for n in numbers] if isinstance(numbers, (list, tuple)) else numbers)
    if found.dtype.kind not in "iu":
        raise DTypeError(f"{name} must be integers, got {found.dtype}")
    return found.astype(np.int64)
