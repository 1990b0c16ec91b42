"""What a trainer is fed with: batches of a loader, or of arrays."""

import numpy as np

from .. import tree
from ..core.value import Value
from ..data.loader import Loader
from ..data.sources.base import Source
from ..errors import ArgumentError


def batches_of(data, shuffle=False):
    """`data` if it gives batches; arrays, a tuple or dictionary of arrays, and sources are put into a loader."""
    is_rows = isinstance(data, (np.ndarray, Value, Source)) or type(data) in (tuple, dict)
    return Loader(data, shuffle=shuffle) if is_rows else data


def check_place(data):
    """Raise an ArgumentError unless data can say where they are, which a checkpoint needs."""
    if not (hasattr(data, "state_dict") and hasattr(data, "load_state_dict")):
        raise ArgumentError(f"a run with checkpoints needs data that can save their place, as rg.data.Loader does; got "
                            f"{type(data).__name__}")


def groups(data, count):
    """Lists of `count` batches in turn; the last one of an epoch may be shorter."""
    found = []
    for batch in data:
        found.append(batch)
        if len(found) == count:
            yield found
            found = []
    if found:
        yield found


def is_at_end(data):
    """Whether a loader has delivered all batches of its epoch, so that asking for one more ends it."""
    return hasattr(data, "position") and data.position == len(data)


def rows_of(batch):
    """How many rows a batch has."""
    first = tree.leaves(batch)[0]
    return first.shape[0] if getattr(first, "shape", ()) else 1
