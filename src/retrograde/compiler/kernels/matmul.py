"""Matrix products: a whole product, or one that is a pass of a nest and computes a block of rows at a time."""

from functools import partial

from ...core.symbol import Symbol
from ...dtypes import bfloat16, float32, name_of
from .. import cost
from ..index.accesses import Operand, Product
from ..index.box import Box, Store
from ..index.elements import has_elements
from ..index.emitted import NARROW
from ..index.expression import Load
from ..index.row_dependences import is_worth_rows, met_by_product
from ..target import ITEM_BYTES
from .blocks import HalfMatrix, few_rows_launches
from .kernel import Kernel, Scratch


class Matmul(Kernel):
    """A product of matrices."""

    name, may_interchange = "matmul", True
    #: Bytes in which the place of the second operand is counted, if not in numbers.
    matrix_item = None

    def matches(self, node, facts):
        # Products of integers are the library's, which checks that none of them wraps.
        is_plain = bool(node.size) and node.dtype.kind == "f" and has_elements(node)
        return is_plain and all([_is_matrix(a, node.dtype) for a in node.args])

    def memory(self, node, facts):
        return [facts.base(_unwidened(a)) for a in node.inputs]

    def operands(self, step, accesses):
        """The two operands of a product, as `Operand`."""
        return [Operand(x.shape, *accesses.layout(step, x)) for x in step.roots[0].args]

    def product(self, step, accesses):
        return accesses.product(step)

    def rows(self, step, accesses):
        product = accesses.product(step)
        # One count only: a product's rows are those of its matrix, and what is worth it was decided by their number. A product of
        # half precision is a pass of its own: where no instruction reads its operands, they are widened as a whole.
        return [product.problem.m] if is_worth_rows(product) and not any(_are_narrow(product)) else []

    def met(self, step, rows, accesses):
        return met_by_product(accesses.product(step), rows)

    def is_worth_tiling(self, step):
        return True

    def rows_read(self, step, accesses):
        return [accesses.product(step).a[0]]

    def launches(self, step, assembler):
        product, body = assembler.product(step), assembler.body
        if any(_are_narrow(product)):
            return _narrow_launches(step, product, assembler)
        matrix = None if body is None else body.fixed(product.b[0])
        # Outside of loops packing is a part of the product, which does it block by block while the block is in cache.
        if matrix is None or not _packs_matrix(product.problem, assembler):
            plan, result = _chosen(product.problem, assembler), assembler.storage(step.roots[0])
            return [product_launch(step, product, plan, assembler, product.b, assembler.storage, result, assembler.lasts(step))]
        return [self._packed_before(step, product, assembler, matrix)]

    def _packed_before(self, step, product, assembler, matrix):
        """The launch of a product in the body of a loop, by a matrix that is the same in each iteration: it is packed once, before
        the loop.
        """
        packing, (plan,) = assembler.code("matmul").choose_panels(assembler.target, product.problem, (product.problem.m,))
        panels = Scratch(packing.panel_bytes)
        source = matrix, product.b[1]
        assembler.before.append(_packed(assembler.body.step, packing, assembler, lambda buffer: buffer, source, panels))
        assembler.body.keep(panels)
        result = assembler.storage(step.roots[0])
        return product_launch(step, product, plan, assembler, (panels, 0), assembler.storage, result, False)

    def rows_launches(self, step, nest, assembler, panels):
        """The launches of a product in a nest: one that computes a block of rows, and before it, unless `panels`
        has this matrix already as this product reads it, one that packs it.
        """
        product, storage = assembler.product(step), assembler.storage
        problem, node = product.problem, step.roots[0]
        block = nest.block * (problem.m // nest.rows)
        # Two plans: the last block may have fewer rows, and tiles are chosen by their number.
        blocks = block, problem.m - (nest.blocks - 1) * block
        packing, plans = self.panels(step, problem, blocks, assembler)
        right = packing.functions["right"]
        # Forward and backward passes read one weight in two orders, which are two packings; equal ones are packed once for all
        # products.
        before, matrix = [], (product.matrix, right, packing.numbers["k_block"])
        if matrix not in panels:
            panels[matrix] = Scratch(packing.panel_bytes)
            before.append(_packed(step, packing, assembler, storage, product.b, panels[matrix], self.matrix_item))
        unit_for = partial(part_unit, assembler)
        # The entry is the same for both, since it reads what differs from the descriptor.
        unit, descriptors = unit_for(plans[0].entry), [plan.descriptor(address=unit_for) for plan in plans]
        item = node.dtype.itemsize
        a = _rows_of(nest, product.a, block * problem.a[0], item)
        c = _rows_of(nest, (node, 0), block * problem.c[0], item)
        # One room in each frame, for whichever plan the block has.
        room = max([plan.workspace_bytes for plan in plans])
        numbers = (*a, *c, room, nest.blocks - 1, len(descriptors[0]))
        slots = (storage(product.a[0]), panels[matrix], storage(node), Scratch(nest.frames * room))
        words = (*numbers, *descriptors[0], *descriptors[1])
        seconds = problem.flops * cost.PRODUCT_SECONDS
        lasts = assembler.lasts(step)
        return [*before, assembler.launch(step, unit, f"{unit.name}_rows", slots, words, nest.chunks, lasts, seconds)]

    def panels(self, step, problem, counts, assembler):
        """The plan that packs the second operand, and that of each of `counts` rows which reads what it packed."""
        return assembler.once(assembler.code("matmul").choose_panels, assembler.target, problem, counts)

    def loops(self, step):
        node = step.roots[0]
        return *node.shape, node.args[0].shape[-1]

    def flops(self, node):
        return 2 * node.size * node.args[0].shape[-1]


def _narrow_launches(step, product, assembler):
    """The launches of a product with operands of half precision: of bfloat16 in pairs where the processor is faster by these, else
    by a matrix that is widened in registers, as blocks of weights are. What is neither is widened to float32 before.
    """
    storage, result, lasts = assembler.storage, assembler.storage(step.roots[0]), assembler.lasts(step)
    if all([a.dtype == bfloat16 for a, _ in (product.a, product.b)]):
        plan = assembler.code("matmul").choose_pairs(assembler.target, product.problem)
        if plan is not None:
            return [product_launch(step, product, plan, assembler, product.b, storage, result, lasts, ITEM_BYTES["float32"] // 2)]
    matrix = next((m for m in map(HalfMatrix, (product, product.swapped())) if m.is_readable), None)
    product, before, wide = product if matrix is None else matrix.product, [], {}

    def widened(operand):
        buffer, first = operand
        if name_of(buffer.dtype) not in NARROW:
            return operand
        if id(buffer) not in wide:
            wide[id(buffer)] = Scratch(buffer.size * ITEM_BYTES["float32"])
            before.append(_widened(step, buffer, wide[id(buffer)], assembler))
        return wide[id(buffer)], first

    product = product._replace(a=widened(product.a), b=product.b if matrix else widened(product.b))
    if matrix is None:
        plan, item = _chosen(product.problem, assembler), None
    elif matrix.has_few_rows:
        buffers = storage(product.a[0]), storage(product.b[0]), result
        return [*before, *few_rows_launches(step, matrix.form, matrix.sizes, buffers, assembler)]
    else:
        plan, item = matrix.plan(assembler), ITEM_BYTES["float32"] // 2
    return [*before, product_launch(step, product, plan, assembler, product.b, storage, result, lasts, matrix_item=item)]


def _widened(step, operand, room, assembler):
    """The launch that writes an operand of half precision as float32."""
    load, store = Load(operand, 0, (1,), name_of(operand.dtype)), Store(room, 0, 0, (1,), "float32")
    plan = assembler.code("loop_plan").plan_loops(Box((operand.size,), (False,), (load,), (store,)), assembler.target)
    unit = assembler.unit(plan.key(), lambda module, name: assembler.code("loops").write_loops(module, name, plan))
    buffers = tuple([assembler.storage(b) if b is operand else b for b in plan.buffers])
    seconds = plan.work * cost.ENTRY_SECONDS
    return assembler.launch(step, unit, unit.name, buffers, tuple(plan.words), plan.chunks, False, seconds, role="widen")


def _unwidened(argument):
    """An operand as it is in memory: of what is widened to float32, the numbers of half precision."""
    is_widened = argument.op is not None and argument.op.name == "astype" and name_of(argument.args[0].dtype) in NARROW
    return argument.args[0] if is_widened and isinstance(argument.args[0], Symbol) and argument.dtype == float32 else argument


def _are_narrow(product):
    """Which operands are of half precision."""
    return [name_of(buffer.dtype) in NARROW for buffer, _ in (product.a, product.b)]


def array_launch(problem, writer):
    """The launch of a product of no program. Its buffers are "a", "b", "c", in some order, and scratch memory."""
    product = Product(problem, ("a", 0), ("b", 0))
    return product_launch(None, product, _chosen(problem, writer), writer, product.b, lambda buffer: buffer, "c", True)


def panel_launches(problem, writer):
    """The launches of products of no program by a matrix that stays: one that packs "b" in panels, which lie in "c", and one whose
    "b" is these panels; and how many bytes they take.
    """
    packing, (plan,) = writer.code("matmul").choose_panels(writer.target, problem, (problem.m,))
    product, identity = Product(problem, ("a", 0), ("b", 0)), lambda buffer: buffer
    pack = _packed(None, packing, writer, identity, product.b, Scratch(packing.panel_bytes))
    pack = pack._replace(buffers=("b", "b", "c", Scratch(0)))
    return pack, product_launch(None, product, plan, writer, product.b, identity, "c", True), packing.panel_bytes


def part_unit(writer, spec):
    """The unit of a part of products."""
    return writer.unit(("product", repr(spec)), partial(writer.code("matmul").write, spec=spec), is_final=True)


def _chosen(problem, writer):
    return writer.once(writer.code("matmul").choose, writer.target, problem)


def _is_matrix(argument, dtype):
    return hasattr(argument, "ndim") and argument.ndim >= 2 and argument.dtype == dtype


def _packs_matrix(problem, writer):
    """Whether a product first packs its second operand, so that this had better be done once for several products by it."""
    plan = _chosen(problem, writer)
    is_plain = not problem.batch and problem.c == (problem.n, 1)
    return is_plain and not plan.is_swapped and "right" in plan.functions


def product_launch(step, product, plan, writer, matrix, storage, result, lasts, item=None, matrix_item=None):
    """The launch of a whole product with the second operand where `matrix` says; numbers of operands have `item` bytes, if
    not those of the result, and the place of the second one is counted in `matrix_item` bytes, if not in those.
    """
    problem = product.problem
    # Here the number of threads may decide: each element of the result is summed by one thread, in one order.
    chunks = writer.threads if problem.flops > cost.SHARED_FLOPS else 1
    unit_for = partial(part_unit, writer)
    unit, item = unit_for(plan.entry), item or ITEM_BYTES[problem.dtype]
    matrix, left = (matrix[0], matrix[1] * (matrix_item or item)), (product.a[0], product.a[1] * item)
    (a, a_start), (b, b_start) = (matrix, left) if plan.is_swapped else (left, matrix)
    words = (a_start, b_start, 0, plan.workspace_bytes, *plan.descriptor(chunks, unit_for))
    slots = (storage(a), storage(b), result, Scratch(chunks * plan.workspace_bytes))
    return writer.launch(step, unit, unit.name, slots, words, chunks, lasts, problem.flops * cost.PRODUCT_SECONDS)


def _rows_of(nest, operand, move, item):
    """Of an operand whose blocks are `move` elements apart: where it starts, how far it moves with each block, and how far with
    each frame, in bytes.
    """
    buffer, start = operand
    if isinstance(buffer, Symbol) and buffer in nest.local:
        # One block in each frame: it moves with the frame, and all blocks that a thread computes lie in the same place.
        return start * item + nest.local[buffer], 0, nest.frame
    return start * item, move * item, 0


def _packed(step, plan, writer, storage, source, panels, item=None):
    chunks = writer.threads if panels.nbytes > cost.SHARED_BYTES else 1
    unit_for = partial(part_unit, writer)
    unit, (buffer, start) = unit_for(plan.entry), source
    words = (0, start * (item or plan.numbers["item"]), 0, 0, *plan.descriptor(chunks, unit_for))
    slots, seconds = (storage(buffer), storage(buffer), panels, panels), panels.nbytes * cost.PACK_SECONDS
    return writer.launch(step, unit, f"{unit.name}_panels", slots, words, chunks, False, seconds, role="pack")
