"""Stable sorting by NumPy's sorts of plain numbers, which are vectorised and exchange equal elements.

Numbers of few bits are packed with their positions into integers of 64 bits, no two of which are equal. Others are put in order
first; where there are equal ones, they are sorted once more, as numbers of their group packed with their positions.
"""

import numpy as np

from .._native import small

#: So many elements are packed at once, so that what is in between stays in cache.
_AT_ONCE = 1 << 16
#: With fewer elements, or shorter rows of packed and of wide numbers, NumPy's stable sort is as fast.
_FEWEST, _SHORTEST, _SHORTEST_WIDE = 1024, 8, 128
_POSITION_BITS = 32
#: Rows up to this length are sorted by insertion.
_BY_INSERTION = 64


def in_order(x, axis=-1):
    """The elements of `x` in ascending order along `axis`, NaNs last."""
    if not _is_plain(x):
        return np.sort(x, axis=axis, kind="stable")
    x = _along_memory(x, axis)
    found = np.sort(x)
    if x.dtype.kind == "f":
        # Zeros of both signs are equal, so they keep their order.
        is_zero = found == 0
        if is_zero.any():
            found[is_zero] = x[x == 0]
    return _moved(found, -1, axis)


def order_of(x, axis=-1):
    """The positions along `axis` that put `x` in ascending order, equal elements in theirs."""
    if (short := first_in_order(x, axis, None, False)) is not None:
        return short
    if not _is_plain(x) or x.size < _FEWEST or x.dtype.itemsize < 4 or not _SHORTEST <= x.shape[axis] < 1 << _POSITION_BITS:
        return np.argsort(x, axis=axis, kind="stable")
    x = _along_memory(x, axis)
    rows = x.reshape(-1, x.shape[-1])
    found = np.empty(rows.shape, np.int64)
    step = max(1, _AT_ONCE // rows.shape[-1])
    for start in range(0, len(rows), step):
        found[start : start + step] = _order_of_rows(rows[start : start + step])
    return _moved(found.reshape(x.shape), -1, axis)


def order_along(x, axis, descending):
    """As `order_of`, ascending or descending; equal elements keep their order in both."""
    if not descending:
        return order_of(x, axis)
    if (short := first_in_order(x, axis, None, True)) is not None:
        return short
    return np.flip(np.shape(x)[axis] - 1 - order_of(np.flip(x, axis), axis), axis)


def first_in_order(x, axis, count, descending):
    """The first `count`, None for all, of the positions that put short rows in order, by a kernel; None if there is none."""
    if not _is_plain(x) or not 0 < x.shape[axis] <= _BY_INSERTION or axis not in (-1, x.ndim - 1) or count == 0:
        return None
    *lead, length = x.shape
    count = length if count is None else count
    found = np.empty((*lead, count), np.int64)
    name, rows = "order_descending" if descending else "order", x if x.flags.c_contiguous else np.ascontiguousarray(x)
    return found if small(name, (x.size // length, length, count), (rows,), (found,)) else None


def middle_by_kernel(x):
    """The middle of each row of `x`; None if there is no kernel for them."""
    if x.__class__ is not np.ndarray or not 0 < x.shape[-1] <= _BY_INSERTION:
        return None
    order, found = np.empty(x.shape, np.int64), np.empty(x.shape[:-1], x.dtype)
    sizes = found.size, x.shape[-1]
    return found if small("middle", sizes, (x if x.flags.c_contiguous else x.copy("C"),), (order, found)) else None


def middle_slopes_by_kernel(g, x, z):
    """What the middles `z` of rows of `x` hand back; None if there is no kernel for them."""
    if not (g.__class__ is x.__class__ is z.__class__ is np.ndarray) or not 0 < x.shape[-1] <= _BY_INSERTION:
        return None
    if not g.dtype == x.dtype == z.dtype or not g.shape == z.shape == x.shape[:-1]:
        return None
    order, found = np.empty(x.shape, np.int64), np.empty(x.shape, x.dtype)
    arrays = [a if a.flags.c_contiguous else a.copy("C") for a in (g, x, z)]
    return found if small("middle_slopes", (z.size, x.shape[-1]), arrays, (order, found)) else None


def _is_plain(x):
    """Whether `x` is an array of real numbers that NumPy itself defines, in the order of bytes of the processor."""
    return x.__class__ is np.ndarray and x.ndim > 0 and x.dtype.kind in "fiub" and x.dtype.isnative and x.dtype.isbuiltin == 1


def _along_memory(x, axis):
    return np.ascontiguousarray(_moved(x, axis, -1))


def _moved(x, source, to):
    return x if x.ndim == 1 or source % x.ndim == to % x.ndim else np.moveaxis(x, source, to)


def _order_of_rows(rows):
    if rows.dtype.kind == "f":
        return _unpacked(_keys(rows), _POSITION_BITS) if rows.dtype.itemsize == 4 else _order_of_wide(rows)
    bits, least = rows.shape[-1].bit_length(), rows.min()
    if (int(rows.max()) - int(least)) >> (63 - bits):
        return _order_of_wide(rows)
    return _unpacked((rows.astype(np.int64) if rows.dtype.itemsize == 4 else rows) - least, bits)


def _keys(rows):
    """Integers in the order of numbers of 32 bits, equal where these are: NaNs are the greatest, and there is one zero."""
    bits = (rows + np.float32(0)).view(np.int32)
    keys = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    if np.isnan(np.max(rows)):
        keys[np.isnan(rows)] = np.iinfo(np.int32).max
    return keys


def _unpacked(keys, bits, positions=None):
    """Positions in the order of keys, each packed with its own position, or with that in `positions`, into one integer."""
    packed = keys.astype(np.int64) << bits
    packed |= np.arange(keys.shape[-1]) if positions is None else positions
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _order_of_wide(rows):
    if rows.shape[-1] < _SHORTEST_WIDE:
        return np.argsort(rows, kind="stable")
    order = np.argsort(rows)
    ordered = np.take_along_axis(rows, order, -1)
    is_new = ordered[:, 1:] != ordered[:, :-1]
    if rows.dtype.kind == "f" and np.isnan(ordered[:, -1]).any():
        is_new &= ~np.isnan(ordered[:, :-1])
    ties = np.flatnonzero(~is_new.all(-1))
    if ties.size:
        groups = np.zeros((len(ties), rows.shape[-1]), np.int64)
        np.cumsum(is_new[ties], -1, out=groups[:, 1:])
        order[ties] = _unpacked(groups, _POSITION_BITS, order[ties])
    return order
