"""Packing: several texts in one row of tokens, none of which sees another."""

from bisect import bisect_left, insort
from typing import NamedTuple

import numpy as np

from ...errors import ArgumentError
from ...nn import functional
from ...ops.elementary.comparisons import equal, logical_and
from ...ops.manipulation.movements import expand_dims, transpose

#: The target of a token after which nothing is to be learned.
IGNORED = -100


class Rows(NamedTuple):
    """Texts in rows of one length, each array (rows, length).

    tokens     integers; what is left at the end of a row is filled up
    targets    the token that comes next, or IGNORED
    segments   which text of its row a token is of, from 1 on; 0 where it is of none
    positions  of each token in its text
    """

    tokens: np.ndarray
    targets: np.ndarray
    segments: np.ndarray
    positions: np.ndarray


def packed_rows(examples, length, multiple=1, padding=0):
    """`Rows` of examples, pairs (tokens, is_learned) of `length` tokens at most, put into as few rows as is easily found.

    The number of rows is a multiple of `multiple`; the last ones may be empty. Longest texts first, each into the fullest row that
    has room for it: Johnson, "Near-optimal bin packing algorithms" (1973).
    """
    examples = [_checked(example, length) for example in examples]
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i][0]))
    rooms, rows = [], []
    for i in order:
        size = len(examples[i][0])
        place = bisect_left(rooms, (size, 0))
        if place == len(rooms):
            rows.append([])
        room, row = rooms.pop(place) if place < len(rooms) else (length, len(rows) - 1)
        rows[row].append(i)
        insort(rooms, (room - size, row))
    count = -(-len(rows) // multiple) * multiple
    found = Rows(np.full((count, length), padding, np.int64), np.full((count, length), IGNORED, np.int64),
                 np.zeros((count, length), np.int64), np.zeros((count, length), np.int64))
    for row, members in enumerate(rows):
        start = 0
        for segment, i in enumerate(members, 1):
            _put(found, row, start, segment, examples[i])
            start += len(examples[i][0])
    return found


def _checked(example, length):
    """An example as (tokens, is_learned), two arrays; an ArgumentError if it is none, or does not fit in a row."""
    try:
        tokens, is_learned = [np.asarray(part) for part in example]
    except (TypeError, ValueError):
        raise ArgumentError(f"an example is a pair (tokens, is_learned), got {example!r:.80}") from None
    if tokens.ndim != 1 or tokens.shape != is_learned.shape or not 1 <= len(tokens) <= length:
        raise ArgumentError(f"an example has 1 to {length} tokens, which is the length of a row, and for each whether it is "
                            f"learned, got shapes {tokens.shape} and {is_learned.shape}")
    return tokens, is_learned


def _put(rows, row, start, segment, example):
    tokens, is_learned = example
    place = row, slice(start, start + len(tokens))
    rows.tokens[place], rows.segments[place], rows.positions[place] = tokens, segment, np.arange(len(tokens))
    rows.targets[row, start : start + len(tokens) - 1] = np.where(is_learned[1:], tokens[1:], IGNORED)


class Packed:
    """Attention of texts in one row: a token sees those up to itself that are of the same of `segments`, (batch, length)."""

    def __init__(self, segments):
        length = segments.shape[1]
        same = equal(expand_dims(segments, -1), expand_dims(segments, -2))
        self._same, self._length = expand_dims(same, 1), length
        self._masks = {}

    def __call__(self, query, key, value, scale, window):
        turned = [transpose(x, 1, 2) for x in (query, key, value)]
        mask = self._mask(None if window is None or window >= self._length else window)
        return transpose(functional.scaled_dot_product_attention(*turned, attn_mask=mask, scale=scale, enable_gqa=True), 1, 2)

    def _mask(self, window):
        """Which tokens see which, (batch, 1, length, length); the same for all layers of one window."""
        if window not in self._masks:
            seen = np.tri(self._length, dtype=bool)
            seen = seen if window is None else seen & ~np.tri(self._length, k=-window, dtype=bool)
            self._masks[window] = logical_and(self._same, seen)
        return self._masks[window]
