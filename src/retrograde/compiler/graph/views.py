"""Views: movement ops as index maps, found by asking NumPy where the elements go."""

import numpy as np

from ...core.symbol import Symbol

#: Movement ops that can be an index map; all others are computed into memory.
MOVEMENTS = frozenset(["reshape", "permute_dims", "transpose", "broadcast_to", "flip", "expand_dims", "squeeze", "moveaxis",
                       "shrink", "getitem", "unfold"])
#: Movement ops that only change the order of axes.
_REORDERING = frozenset(["permute_dims", "transpose", "moveaxis"])


def index_map(op, shape, rest):
    """For each axis of the source, (offset, step per axis of the result); None where the op is no such map.

    The op is applied to the coordinates of the source, one axis at a time: arrays that count along that axis with zero
    strides elsewhere. Where the result is still a view, its strides are the steps.
    """
    found = []
    for axis, size in enumerate(shape):
        line = np.arange(size, dtype=np.int64)
        along = line.reshape([size if a == axis else 1 for a in range(len(shape))])
        # NumPy itself says where elements go: there is no second list of what each movement does.
        moved = op.kernel(np.broadcast_to(along, shape), *rest)
        if not isinstance(moved, np.ndarray):  # one element: NumPy gives the number, which is its own coordinate
            found.append((int(moved), ()))
            continue
        if not moved.size:
            return None
        # The first number that the view shows is where it starts, and the array counts from 0 in steps of 8 bytes.
        offset = moved.__array_interface__["data"][0] - line.__array_interface__["data"][0]
        if not 0 <= offset < max(line.nbytes, 1):
            return None  # a copy
        found.append((offset // 8, tuple(s // 8 if n > 1 else 0 for s, n in zip(moved.strides, moved.shape, strict=True))))
    return found


def is_movement(node):
    """Whether a node may be an index map of its first argument."""
    return node.op is not None and moves(node.op, node.args[1:])


def moves(op, rest):
    """Whether `op`, with `rest` behind its first argument, may be an index map."""
    return op.name in MOVEMENTS and not _has_arrays(rest, op.name == "getitem")


def is_reordered(node):
    """Whether something is another node of the graph with its axes in another order."""
    return isinstance(node, Symbol) and node.op is not None and node.op.name in _REORDERING and isinstance(node.args[0], Symbol)


def _has_arrays(args, are_lists):
    """Whether arrays are among arguments; a list of integers is one in an index, and a shape elsewhere."""
    return any(
        _has_arrays(a, are_lists) if isinstance(a, (tuple, list)) and not all(isinstance(i, int) for i in a)
        else hasattr(a, "shape") or (isinstance(a, list) and are_lists)
        for a in args
    )
