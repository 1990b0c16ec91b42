"""Running an update over arrays near the speed of memory: in runs that stay in cache, small arrays packed together.

The parts of complex numbers are updated as numbers of their own, as in PyTorch.
"""

import numpy as np

from ..core import writes
from ..dtypes import parts_dtype

# Elements of a run: five arrays of them stay in the second-level cache.
_RUN = 1 << 14
# Parameters up to this size are packed: below it the cost of a call outweighs that of its elements.
_SMALL = 1 << 12


def update_flat(update, arrays):
    """Replace `arrays`, which have one shape, by what `update` makes of them, in runs; the second, the gradient, stays."""
    written = (arrays[0], *arrays[2:])
    if not all([a.flags.c_contiguous for a in written]):
        for part in [arrays] if arrays[0].dtype.kind != "c" else [[a.real for a in arrays], [a.imag for a in arrays]]:
            update_whole(update, part)
        return
    flat = [a.reshape(-1).view(parts_dtype(a.dtype)) for a in arrays]
    for i in range(0, flat[0].size, _RUN):
        run = [a[i : i + _RUN] for a in flat]
        _replace((run[0], *run[2:]), update(*run))


def update_whole(update, arrays):
    """Replace `arrays`, of any shapes, by what `update` makes of them; the second, the gradient, stays."""
    _replace((arrays[0], *arrays[2:]), update(*arrays))


def update_rows(update, gradient, arrays):
    """Replace the rows of `arrays`, of one shape, at the positions of a `RowGradient` by what `update` makes of them."""
    gradient = gradient.coalesce()
    positions, rows = (part.raw for part in gradient.parts)
    first, *kept = [a[positions] for a in arrays]
    for array, new in zip(arrays, update(first, rows, *kept), strict=True):
        array[positions] = new


def _replace(arrays, made):
    for array, new in zip(arrays, made, strict=True):
        array[...] = new


class Packs:
    """Small parameters whose states lie side by side in one array, so that one call updates them all."""

    def __init__(self):
        self._packs = {}

    @staticmethod
    def takes(parameter, gradient, kept):
        """Whether a parameter is worth packing. What is kept of it may have a dtype of before a conversion, and keeps it."""
        if parameter.size > _SMALL or not type(parameter.raw) is type(gradient.raw) is np.ndarray:
            return False
        dtype = parameter.raw.dtype
        return all([array.dtype == dtype for array in kept])

    def update(self, update, members, states):
        """Update `members`, whose state tensors are the rows of `states`."""
        key = (len(states[0]), *[id(p) for p in members])  # an option that changes may bring more to keep
        pack = self._packs.get(key)
        if pack is None or not pack.holds(states):
            pack = self._packs[key] = _Pack(members, states)
        pack.update(update, members)


class _Pack:
    """The arrays of one set of parameters: numbers and gradients are copied in, states live here."""

    def __init__(self, members, states):
        ends = np.cumsum([p.size for p in members]).tolist()
        self._places = list(zip([0, *ends], ends, [p.shape for p in members], strict=False))
        self._numbers, self._gradients = (np.empty(ends[-1], members[0].dtype) for _ in range(2))
        self._parts = self._split(self._numbers)
        self._kept, self._views = [], []
        for column in zip(*states, strict=True):
            flat = np.concatenate([tensor.raw.reshape(-1) for tensor in column])
            views = self._split(flat)
            for tensor, view in zip(column, views, strict=True):
                tensor.raw = view
            self._kept.append(flat)
            self._views.append(views)

    def _split(self, flat):
        return [flat[start:end].reshape(shape) for start, end, shape in self._places]

    def holds(self, states):
        """Whether the state tensors still show this pack's memory."""
        return all([t.raw is view for row, views in zip(zip(*states, strict=True), self._views, strict=True)
                    for t, view in zip(row, views, strict=True)])

    def update(self, update, members):
        """Update `members`."""
        np.concatenate([p.raw.reshape(-1) for p in members], out=self._numbers)
        np.concatenate([p.grad.raw.reshape(-1) for p in members], out=self._gradients)
        update_flat(update, [self._numbers, self._gradients, *self._kept])
        for parameter, part in zip(members, self._parts, strict=True):
            writes.into(parameter.raw)[...] = part
