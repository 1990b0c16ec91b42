"""Lanes: how many elements one value of a loop kernel holds, which is one vector of them, or several."""

from ....index.expression import Apply, depends_of, dtype_of_entry
from .vecmath.elements import BYTES, in_registers, is_float

#: A body with fewer entries than the first runs on several vectors at once, which keeps the processor busy and loads each
#: constant once for all of them.
_WIDTHS, _WIDTH = ((24, 4), (96, 2)), 4
#: Several vectors at once are worth a rest of fewer if they take so many iterations: with repetitions inside, and without.
_FEWEST_ITERATIONS_OF_RUNS, _FEWEST_ITERATIONS = 1, 4
#: Functions that have so many values at a time that those of four vectors find no registers: they count as so many entries.
_WIDE_FUNCTIONS, _WIDE = frozenset(["gelu_erf", "gelu_erf_slope", "erfc"]), 24
#: What does fewer entries in all than this is not worth the code for most vectors at once.
_WIDE_WORK = 8192


def chosen_lanes(entries, box, vector, target, has_runs):
    """How many elements one value of a body of these entries holds: those of several vectors, if the vector loop takes as many
    iterations then as are worth it.
    """
    if vector is None:
        return 1
    moving = {dtype for dtype, loops in {(dtype_of_entry(e), depends_of(e)) for e in entries} if not loops or loops[vector]}
    sizes = [BYTES[dtype] for dtype in {in_registers(dtype) for dtype in moving - {None}} if is_float(dtype)]
    lanes, length = target.vector_bytes // max(sizes, default=8), box.lengths[vector]
    size = sum([_WIDE if isinstance(e, Apply) and e.node.op.name in _WIDE_FUNCTIONS else 1 for e in entries])
    fewest = _FEWEST_ITERATIONS_OF_RUNS if has_runs else _FEWEST_ITERATIONS
    for most, width in _WIDTHS:
        if size < most and length >= fewest * width * lanes and (width < _WIDTH or box.work >= _WIDE_WORK):
            lanes *= width
            break
    else:
        while lanes > 1 and lanes >= 2 * length:
            lanes //= 2
    return _wide_lanes(box, vector, lanes, target) if has_runs else lanes


def _wide_lanes(box, vector, lanes, target):
    """Enough lanes for all of a short vector loop: long chains wait for each other, not for the processor."""
    length = box.lengths[vector]
    while lanes < length <= _WIDTH * lanes and lanes * BYTES["float32"] < _WIDTH * target.vector_bytes:
        lanes *= 2
    return lanes
