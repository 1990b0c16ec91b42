"""Matrix products as launches: a whole product, or one that is a pass of a nest and computes a block of rows at a time."""

from math import prod

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
    problem, node = product.problem, step.roots[0]
    plan = choose(host(), problem)
    chunks = threads.get_num_threads() if problem.flops > _SHARED_FLOPS else 1
    size = _aligned(plan.workspace_bytes)
    unit = unit_of(("product", repr(plan.spec)), lambda module, name: write_product(module, name, plan.spec), is_final=True)
    (a, a_start), (b, b_start) = product.a, product.b
    words = (a_start, b_start, 0, size, *plan.descriptor(chunks))
    slots = (home(a), home(b), home(node), Scratch(chunks * size))
    return Launch(step, unit, unit.name, slots, words, chunks, lasts, problem.flops * _FLOP_SECONDS)


def rows_launches(step, product, nest, home, lasts):
    """(the launch that packs B, the launch of one block of rows after the other) of a product that is a pass of a nest."""
    problem, node = product.problem, step.roots[0]
    (a, a_start), (b, b_start) = product.a, product.b
    rest = nest.rows - (nest.blocks - 1) * nest.block
    packing, plans = choose_panels(host(), problem, (nest.block, rest))
    panels = Scratch(packing.panel_bytes)
    size = _aligned(max(plan.workspace_bytes for plan in plans))
    specs, descriptors = [plan.spec for plan in plans], [plan.descriptor() for plan in plans]
    unit = unit_of(("rows", repr(specs)), lambda module, name: write_rows(module, name, specs), is_final=True)
    moves = {"a": nest.moves(a, problem.a[0]), "c": nest.moves(node, problem.c[0])}
    numbers = (
        a_start, 0, 0, size, moves["a"][0], moves["c"][0], moves["a"][1], moves["c"][1], nest.chunk_blocks, nest.blocks - 1,
        len(descriptors[0]))
    slots = (home(a), panels, home(node), Scratch(nest.chunks * size))
    words = (*numbers, *descriptors[0], *descriptors[1])
    launch = Launch(step, unit, unit.name, slots, words, nest.chunks, lasts, problem.flops * _FLOP_SECONDS)
    return _packed(step, packing, (home(b), b_start), panels), launch


def _packed(step, plan, source, panels):
    chunks = threads.get_num_threads() if panels.nbytes > _SHARED_BYTES else 1
    unit = unit_of(("product", repr(plan.spec)), lambda module, name: write_product(module, name, plan.spec), is_final=True)
    buffer, start = source
    words = (0, start, 0, 0, *plan.descriptor(chunks))
    slots = (buffer, buffer, panels, panels)
    return Launch(step, unit, unit.name, slots, words, chunks, False, panels.nbytes * _BYTE_SECONDS, role="pack")


def _aligned(nbytes):
    return -(-nbytes // 64) * 64
