"""Matrix products as launches: a whole product, or one that is a pass of a nest and computes a block of rows at a time."""

from ..core.symbol import Symbol
from . import threads
from .codegen.matmul import choose, choose_panels, write_product, write_rows
from .codegen.target import host
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
    return _launch(step, product, choose(host(), product.problem), product.b, home, lasts)


def packs_matrix(problem):
    """Whether a product first packs its second operand, so that this had better be done once for several products by it."""
    spec = choose(host(), problem).spec
    is_plain = not problem.batch and problem.c == (problem.n, 1)
    return is_plain and spec.kind == "tiles" and not spec.is_swapped and spec.b_layout != "direct"


def packed_launches(step, product, home, outer, matrix):
    """The launches of a product in the body of a loop, the step `outer`, by a matrix that is the same in each turn: the one that
    packs `matrix`, what that is outside, before the loop, and the product itself.
    """
    packing, (plan,) = choose_panels(host(), product.problem, (product.problem.m,))
    panels = Scratch(packing.panel_bytes)
    before = _packed(outer, packing, lambda buffer: buffer, (matrix, product.b[1]), panels)
    return before, _launch(step, product, plan, (panels, 0), home, False)


def _launch(step, product, plan, matrix, home, lasts):
    """The launch of a whole product with the second operand where `matrix` says."""
    problem, node = product.problem, step.roots[0]
    chunks = threads.get_num_threads() if problem.flops > _SHARED_FLOPS else 1
    size = _aligned(plan.workspace_bytes)
    unit = unit_of(("product", repr(plan.spec)), lambda module, name: write_product(module, name, plan.spec), is_final=True)
    (a, a_start), (b, b_start) = product.a, matrix
    words = (a_start, b_start, 0, size, *plan.descriptor(chunks))
    slots = (home(a), home(b), home(node), Scratch(chunks * size))
    return Launch(step, unit, unit.name, slots, words, chunks, lasts, problem.flops * _FLOP_SECONDS)


def rows_launches(step, product, nest, home, lasts, panels):
    """The launches of a product that is a pass of a nest: one that computes a block of rows, and before it, unless `panels` has
    this matrix already as this product reads it, one that packs it.
    """
    problem, node = product.problem, step.roots[0]
    block = nest.block * (problem.m // nest.rows)
    packing, plans = choose_panels(host(), problem, (block, problem.m - (nest.blocks - 1) * block))
    before, matrix = [], (product.matrix, repr(packing.spec), packing.numbers["k_block"])
    if matrix not in panels:
        panels[matrix] = Scratch(packing.panel_bytes)
        before.append(_packed(step, packing, home, product.b, panels[matrix]))
    specs, descriptors = [plan.spec for plan in plans], [plan.descriptor() for plan in plans]
    unit = unit_of(("rows", repr(specs)), lambda module, name: write_rows(module, name, specs), is_final=True)
    a, c = _rows_of(nest, product.a, block * problem.a[0]), _rows_of(nest, (node, 0), block * problem.c[0])
    size = _aligned(max(plan.workspace_bytes for plan in plans))
    numbers = (*a, *c, size, nest.blocks - 1, len(descriptors[0]))
    slots = (home(product.a[0]), panels[matrix], home(node), Scratch(nest.frames * size))
    words = (*numbers, *descriptors[0], *descriptors[1])
    return [*before, Launch(step, unit, unit.name, slots, words, nest.chunks, lasts, problem.flops * _FLOP_SECONDS)]


def _rows_of(nest, operand, move):
    """Of an operand whose blocks are `move` elements apart: where it starts, in elements, and how far it moves with each block,
    in elements, and with each frame, in bytes.
    """
    buffer, start = operand
    if isinstance(buffer, Symbol) and buffer in nest.local:
        return start + nest.local[buffer] // buffer.dtype.itemsize, 0, nest.frame
    return start, move, 0


def _packed(step, plan, home, source, panels):
    chunks = threads.get_num_threads() if panels.nbytes > _SHARED_BYTES else 1
    unit = unit_of(("product", repr(plan.spec)), lambda module, name: write_product(module, name, plan.spec), is_final=True)
    buffer, start = source
    words = (0, start, 0, 0, *plan.descriptor(chunks))
    slots = (home(buffer), home(buffer), panels, panels)
    return Launch(step, unit, unit.name, slots, words, chunks, False, panels.nbytes * _BYTE_SECONDS, role="pack")


def _aligned(nbytes):
    return -(-nbytes // 64) * 64
