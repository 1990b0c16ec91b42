"""Which kernel for which problem on which machine."""

from math import ceil

from .....target import ITEM_BYTES
from .cache_blocks import even_block, is_large, k_block
from .fields import batch_fields, fields
from .layouts import block_packing, packed_layout, widest_tile
from .plan import Plan, aligned
from .register_tiling import INTEGER_PAIRS, PAIRS, Panels, tiled
from .spec import Dots, Loops, Packing, Stream
from .tile_sizes import even_tiles, tile_size

#: A product with fewer rows, columns or steps is had as float32.
_FEWEST_PAIRED = 16


def choose(target, problem):
    """The plan of a problem."""
    problem = problem.normal()
    for plan, fits in ((_dots, _fits_dots), (_stream, _fits_stream), (tiled, _fits_narrow)):
        # C = A B is Cᵀ = Bᵀ Aᵀ: what fits the one way round may fit the other.
        for is_swapped, candidate in ((False, problem), (True, problem.swapped())):
            if fits(target, candidate):
                return plan(target, candidate, is_swapped)
    # Vectors run along columns of C, so these should be contiguous.
    is_swapped = problem.c[1] != 1 and problem.c[0] == 1
    return tiled(target, problem.swapped() if is_swapped else problem, is_swapped)


def choose_blocks(target, problem, blocks):
    """The plan of a product whose second operand is in `blocks` of quantised weights, of which panels of numbers are packed."""
    return tiled(target, problem.normal(), False, blocks=blocks)


def choose_panels(target, problem, counts, blocks=None):
    """How to compute a product some rows at a time: the plan that packs all of B in panels, in the place of C, and for each of
    `counts` the plan of so many rows, which reads these panels. B may be in `blocks` of quantised weights.
    """
    problem = problem.normal()
    lanes, item = target.lanes(problem.dtype), ITEM_BYTES[problem.dtype]
    rows, vectors = tile_size(target, lanes, max(counts), problem.n, widest_tile(blocks))
    panels = Panels(rows, vectors, k_block(target, problem, vectors * lanes, 2, item, blocks=blocks))
    plans = [tiled(target, problem._replace(m=m), False, panels=panels) for m in counts]
    if blocks is None:
        packing = Packing(problem.dtype, lanes, packed_layout(problem), vectors=vectors)
    else:
        packing = block_packing(problem.dtype, lanes, blocks, vectors)
    strides = dict(zip(("b_row", "b_column"), [x * item for x in problem.b], strict=True))
    numbers = {**plans[0].numbers, **strides, "m": 1, "row_tiles": 1}
    return Plan(Loops(), {"right": packing}, numbers, (), False, 0), plans


def choose_pairs(target, problem):
    """The plan of a product of bfloat16 by the instruction for pairs, None where there is none or one of float32 is faster.
    The strides of operands are in numbers of theirs, those of the result in float32.
    """
    problem = problem.normal()
    if not target.gains_by_bfloat16 or problem.k % 2 or min(problem.m, problem.n, problem.k) < _FEWEST_PAIRED or problem.c[1] != 1:
        return None
    # Half of k, in items of four bytes: a step over a pair goes over two numbers.
    return tiled(target, problem._replace(k=problem.k // 2), False, PAIRS)


def choose_integer_pairs(target, problem):
    """The plan of a product of integers of 16 bits, of an even number of steps, with a result in row-major order. The strides of
    operands are in numbers of theirs, those of the result in float32, as which integers of 32 bits are moved.
    """
    problem = problem.normal()
    return tiled(target, problem._replace(k=problem.k // 2), False, INTEGER_PAIRS)


def _fits_dots(target, problem):
    """Rows of A contiguous, and a result so narrow that sums of lanes cost less than idle lanes or packing."""
    lanes = target.lanes(problem.dtype)
    if problem.a[1] != 1 or problem.k < 4 * lanes:
        return False
    if problem.b[0] == 1:
        return problem.n <= lanes // 2 or (problem.m <= 8 and problem.k >= 8 * lanes)
    return problem.n <= lanes // 2 and problem.m >= 8


def _dots(target, problem, is_swapped):
    """Groups of rows of A by groups of columns of B, vectors along k."""
    # Sums in registers, which leaves some for rows of A and columns of B.
    budget = 12 if target.registers <= 16 else 24
    column_tiles, widths, short_width, wide = even_tiles(problem.n, 4)
    row_tiles, heights, short, tall = even_tiles(problem.m, max(1, min(8, budget // max(widths))))
    is_b_packed = problem.b[0] != 1 or problem.n == 0
    numbers = fields(
        problem,
        row_tiles=row_tiles,
        short_height=short,
        tall_tiles=tall,
        column_tiles=column_tiles,
        short_width=short_width,
        wide_tiles=wide,
        k_block=max(1, problem.k),
        row_tiles_block=max(1, row_tiles),
        column_tiles_block=max(1, column_tiles),
    )
    # Many rows of A go by for each group of columns, which is read from memory for the first of them only.
    is_far = not is_b_packed and problem.m <= 8 and is_large(target, problem, numbers["item"])
    spec = Dots(problem.dtype, target.lanes(problem.dtype), heights, widths, is_b_packed, target.has_fma, is_far)
    room = column_tiles * problem.k * max(widths) * numbers["item"] if is_b_packed else 0
    return Plan(spec, {}, numbers, batch_fields(problem), is_swapped, aligned(room))


def _fits_stream(target, problem):
    """One row, and a matrix of contiguous rows that the second cache does not hold."""
    is_laid_out = problem.b[1] == 1 and problem.c[1] == 1 and problem.n >= 8 * target.lanes(problem.dtype)
    can_mask = target.has_masks or problem.n % target.lanes(problem.dtype) == 0
    return problem.m == 1 and is_large(target, problem, ITEM_BYTES[problem.dtype]) and is_laid_out and can_mask


def _stream(target, problem, is_swapped):
    """Column tiles of two vectors, as many in a block as keep the row of C in the first cache."""
    lanes = target.lanes(problem.dtype)
    column_tiles, rest = ceil(problem.n / (2 * lanes)), problem.n % (2 * lanes)
    numbers = fields(
        problem,
        row_tiles=1,
        short_height=1,
        tall_tiles=0,
        column_tiles=column_tiles,
        short_width=2 * lanes,
        k_block=max(1, problem.k),
        row_tiles_block=1,
        column_tiles_block=even_block(column_tiles, target.first_cache // 2 // (2 * target.vector_bytes)),
    )
    has_full = column_tiles > (1 if rest else 0)
    spec = Stream(problem.dtype, lanes, 2, ceil(rest / lanes), rest % lanes != 0, has_full, target.has_fma)
    return Plan(spec, {}, numbers, batch_fields(problem), is_swapped, 0)


def _fits_narrow(_, problem):
    """A short wide result of contiguous rows of B, stored wherever C wants it."""
    return problem.b[1] == 1 and problem.m <= 2 and problem.n > 2 * problem.m
