"""What a trainer is fed with: batches of a loader, or of arrays."""

from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from .. import tree
from ..core.value import Value
from ..data.loader import Loader
from ..data.sources.base import Source
from ..data.sources.made import is_table
from ..errors import ArgumentError


def batches_of(data, shuffle=False) -> Any:
    """`data` if it gives batches; arrays, a tuple or dictionary of arrays, tables and sources are put into a loader."""
    is_rows = type(data) in (tuple, dict) or is_table(data) or isinstance(data, (np.ndarray, Value, Source, str, bytes, PathLike))
    if data is not None and not is_rows and not hasattr(data, "__iter__"):
        raise ArgumentError(f"data are a loader, arrays (inputs, targets), or batches to iterate over, got {type(data).__name__}")
    return Loader(data, shuffle=shuffle) if is_rows else data


def is_new(data):
    """Whether data are a loader that has given nothing yet."""
    return isinstance(data, Loader) and (data.epoch, data.position, data.is_fresh) == (0, 0, True)


def same_rows(loader, other):
    """Whether the place of one loader means the same in another."""
    if not isinstance(loader, Loader):
        return False
    return {**loader.state_dict(), "epoch": 0, "position": 0} == {**other.state_dict(), "epoch": 0, "position": 0}


@contextmanager
def whole(data):
    """Within it a loader gives a whole epoch, wherever it stands; after it, it stands there again, and training goes on from it."""
    if not isinstance(data, Loader):
        yield
        return
    place = data.epoch, data.position, data.is_fresh
    data.position, data.is_fresh = 0, True
    try:
        yield
    finally:
        data.epoch, data.position, data.is_fresh = place


def check_place(data):
    """Raise an ArgumentError unless data can say where they are, which a checkpoint needs."""
    if not (hasattr(data, "state_dict") and hasattr(data, "load_state_dict")):
        raise ArgumentError(f"a run with checkpoints needs data that can save their place, as rg.data.Loader does; got "
                            f"{type(data).__name__}")


def groups(data, count):
    """(a list of `count` batches, whether it is known to be the last of the epoch) in turn; the last list may be shorter.

    Once the last one is handed over, data stand at the beginning of the next epoch.
    """
    batches, found = iter(data), []
    for batch in batches:
        found.append(batch)
        is_last = isinstance(data, Loader) and data.position == len(data)
        if is_last:
            next(batches, None)  # there is none, and the loader moves on
        if len(found) == count or is_last:
            yield found, is_last
            found = []
    if found:
        yield found, True


def rows_of(batch):
    """How many rows a batch has."""
    first = tree.leaves(batch)[0]
    return first.shape[0] if getattr(first, "shape", ()) else 1
