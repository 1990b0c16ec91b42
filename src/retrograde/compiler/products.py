"""Matrix products as launches: a whole product, or one that is a pass of a nest and computes a block of rows at a time."""

from functools import partial

from ..core.symbol import Symbol
from . import threads
from .accesses import Product
from .codegen.matmul import choose, choose_panels, write
from .codegen.target import ITEM_BYTES, host
from .launches import Launch
from .table import Scratch
from .units import unit_of

#: A matrix product of more floating point operations than this is worth sharing.
_SHARED_FLOPS = 1_000_000
#: Packing this many bytes is worth sharing.
_SHARED_BYTES = 65536
#: What one thread takes for one operation, and to pack a byte; rough.
_FLOP_SECONDS, _BYTE_SECONDS = 1.5e-11, 2e-10


def product_launch(step, product, home, lasts):
    """The launch of a whole product; `home(buffer)` is where a buffer lives."""
    return _launch(step, product, choose(host(), product.problem), product.b, home, home(step.roots[0]), lasts)


def array_launch(problem):
    """The launch of a product of no program, whose buffers are "a", "b", "c", in some order, and scratch memory."""
    product = Product(problem, ("a", 0), ("b", 0))
    return _launch(None, product, choose(host(), problem), product.b, lambda buffer: buffer, "c", True)


def packs_matrix(problem):
    """Whether a product first packs its second operand, so that this had better be done once for several products by it."""
    plan = choose(host(), problem)
    is_plain = not problem.batch and problem.c == (problem.n, 1)
    return is_plain and not plan.is_swapped and "right" in plan.functions


def packed_launches(step, product, home, outer, matrix):
    """The launches of a product in the body of a loop, the step `outer`, by a matrix that is the same in each turn: the one that
    packs `matrix`, what that is outside, before the loop, and the product itself.
    """
    packing, (plan,) = choose_panels(host(), product.problem, (product.problem.m,))
    panels = Scratch(packing.panel_bytes)
    before = _packed(outer, packing, lambda buffer: buffer, (matrix, product.b[1]), panels)
    return before, _launch(step, product, plan, (panels, 0), home, home(step.roots[0]), False)


def _launch(step, product, plan, matrix, home, result, lasts):
    """The launch of a whole product with the second operand where `matrix` says."""
    problem = product.problem
    chunks = threads.get_num_threads() if problem.flops > _SHARED_FLOPS else 1
    unit, item = part_unit(plan.entry), ITEM_BYTES[problem.dtype]
    (a, a_start), (b, b_start) = (matrix, product.a) if plan.is_swapped else (product.a, matrix)
    words = (a_start * item, b_start * item, 0, plan.workspace_bytes, *plan.descriptor(chunks, part_unit))
    slots = (home(a), home(b), result, Scratch(chunks * plan.workspace_bytes))
    return Launch(step, unit, unit.name, slots, words, chunks, lasts, problem.flops * _FLOP_SECONDS)


def part_unit(spec):
    """The unit of a part of products."""
    return unit_of(("product", repr(spec)), partial(write, spec=spec), is_final=True)


def rows_launches(step, product, nest, home, lasts, panels):
    """The launches of a product that is a pass of a nest: one that computes a block of rows, and before it, unless `panels` has
    this matrix already as this product reads it, one that packs it.
    """
    problem, node = product.problem, step.roots[0]
    block = nest.block * (problem.m // nest.rows)
    packing, plans = choose_panels(host(), problem, (block, problem.m - (nest.blocks - 1) * block))
    right = packing.functions["right"]
    before, matrix = [], (product.matrix, right, packing.numbers["k_block"])
    if matrix not in panels:
        panels[matrix] = Scratch(packing.panel_bytes)
        before.append(_packed(step, packing, home, product.b, panels[matrix]))
    unit, descriptors = part_unit(plans[0].entry), [plan.descriptor(address=part_unit) for plan in plans]
    item = node.dtype.itemsize
    a = _rows_of(nest, product.a, block * problem.a[0], item)
    c = _rows_of(nest, (node, 0), block * problem.c[0], item)
    room = max([plan.workspace_bytes for plan in plans])
    numbers = (*a, *c, room, nest.blocks - 1, len(descriptors[0]))
    slots = (home(product.a[0]), panels[matrix], home(node), Scratch(nest.frames * room))
    words = (*numbers, *descriptors[0], *descriptors[1])
    seconds = problem.flops * _FLOP_SECONDS
    return [*before, Launch(step, unit, f"{unit.name}_rows", slots, words, nest.chunks, lasts, seconds)]


def _rows_of(nest, operand, move, item):
    """Of an operand whose blocks are `move` elements apart: where it starts, how far it moves with each block, and how far with
    each frame, in bytes.
    """
    buffer, start = operand
    if isinstance(buffer, Symbol) and buffer in nest.local:
        return start * item + nest.local[buffer], 0, nest.frame
    return start * item, move * item, 0


def _packed(step, plan, home, source, panels):
    chunks = threads.get_num_threads() if panels.nbytes > _SHARED_BYTES else 1
    unit, (buffer, start) = part_unit(plan.entry), source
    words = (0, start * plan.numbers["item"], 0, 0, *plan.descriptor(chunks, part_unit))
    slots, seconds = (home(buffer), home(buffer), panels, panels), panels.nbytes * _BYTE_SECONDS
    return Launch(step, unit, f"{unit.name}_panels", slots, words, chunks, False, seconds, role="pack")
