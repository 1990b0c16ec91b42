"""Lanes: how many elements one value of a loop kernel holds, which is one vector of them, or several."""

from ....index.box import is_ordered
from ....index.expression import Apply, Constant, Load, depends_of, dtype_of_entry
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
#: What memory has without a NaN of more bits than bfloat16 keeps.
_PAYLOAD_FREE = frozenset(["bfloat16", "bool", "int8", "int16", "int32", "int64"])


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


def has_payloads(box):
    """Whether NaN in a kernel may have bits that bfloat16 has no room for: where all numbers from memory are bfloat16, and no
    constant is NaN, arithmetic makes none.
    """
    read = {e.dtype for e in box.entries if isinstance(e, Load)}
    is_nan = any([isinstance(e, Constant) and e.value != e.value for e in box.entries])
    own = all([_is_own(e.node.op) for e in box.entries if isinstance(e, Apply)])
    return is_nan or not own or not read <= _PAYLOAD_FREE


def is_packed(box, vector, has_runs):
    """Whether the lanes of a kernel may stand in any order, in which bfloat16 is widened and packed again: it computes by element,
    of bfloat16 that lies side by side, and stores the same, or folds all lanes.
    """
    if vector is None or has_runs or box.crossing(vector) is not None:
        return False
    if not all([_fits_any_order(store, box, vector) for store in box.stores]):
        return False
    moves = lambda number: bool(loops := depends_of(box.entries[number])) and loops[vector]
    moving = [e for number, e in enumerate(box.entries) if moves(number)]
    is_read = lambda load: _is_beside(load, vector) and not load.chosen and load.guard is None
    # What moves with the loop and reads nothing that does would be of places, not of numbers.
    return all([is_read(e) if isinstance(e, Load) else isinstance(e, Apply) and any(map(moves, e.arguments)) for e in moving])


def _fits_any_order(store, box, vector):
    """Whether a store of bfloat16 is packed again, or a fold is of all lanes, in no order of theirs."""
    return _is_beside(store, vector) if store.combine is None else bool(box.is_reduced[vector]) and not is_ordered(store)


def _is_beside(part, vector):
    return part.dtype == "bfloat16" and part.steps[vector] == 1 and part.part is None


def _is_own(op):
    return op.emit is None or op.emit.__module__.startswith("retrograde.")
