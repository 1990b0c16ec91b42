"""Rows of estimators: their weights, those that are held out, and batches to predict."""

import numpy as np

from ..data.orders import shuffled
from ..errors import ArgumentError


def normalised(weight):
    """Weights whose mean is 1, so that the size of a step does not depend on their unit; None stays."""
    return None if weight is None else weight * (len(weight) / weight.sum())


def without_zeros(weight, *arrays):
    """The arrays and their weight without the rows of weight 0, which are as if they were not there."""
    if weight is None:
        return (*arrays, None)
    chosen = weight > 0
    if not chosen.any():
        raise ArgumentError("sample_weight is zero for all rows, or is so with class_weight; at least one must be greater")
    return tuple([array[chosen] for array in (*arrays, weight)]) if not chosen.all() else (*arrays, weight)


def held_out(count, fraction, key, labels=None):
    """(rows to train on, rows held out): a `fraction`, drawn by `key`; of each of the `labels` about the same one."""
    if isinstance(fraction, bool) or not 0 < fraction < 1:
        raise ArgumentError(f"validation_fraction must be between 0 and 1, got {fraction!r}")
    number = min(max(round(fraction * count), 1), count - 1)
    if number < 1:
        raise ArgumentError(f"early_stopping holds rows out, and needs at least 2, got {count}")
    order = shuffled(count, key)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    # Evenly spaced in an order that is random within each label.
    is_out = np.zeros(count, bool)
    is_out[order[((np.arange(number) + 0.5) * count / number).astype(int)]] = True
    return np.flatnonzero(~is_out), np.flatnonzero(is_out)


def batches(X, size):
    """Batches of `size` rows. The last one is filled up to a power of 2, so that few shapes are compiled."""
    for start in range(0, len(X), size):
        batch = X[start : start + size]
        wanted = min(size, 1 << (len(batch) - 1).bit_length())
        if len(batch) < wanted:
            batch = np.concatenate([batch, np.broadcast_to(batch[-1:], (wanted - len(batch), *batch.shape[1:]))])
        yield batch
