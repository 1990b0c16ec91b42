"""Products of matrices of integers of 8 bits, which are exact in 32 bits."""

from ...core.symbol import Symbol
from ...ops.linalg.integer_products import fits_pairs
from .. import cost
from ..index.accesses import Operand
from .kernel import Kernel, Scratch, launch
from .matmul import product_launch

#: Bytes of an integer that was widened.
_WIDE = 2


class IntegerMatmul(Kernel):
    """A product of integers of 8 bits: of what is widened to 16 bits, in pairs."""

    name = "integer matmul"

    def matches(self, node, facts):
        return bool(node.size) and all([isinstance(x, Symbol) for x in node.args]) and fits_pairs(*node.args)

    def memory(self, node, facts):
        # Strides are read as they are, but of what shows a part of others no more than that is widened.
        bases = [(x, facts.base(x)) for x in node.args]
        return [base if base.size == x.size else x for x, base in bases]

    def operands(self, step, accesses):
        """The two operands of a product, as `Operand`."""
        return [Operand(x.shape, *accesses.layout(step, x)) for x in step.roots[0].args]

    def product(self, step, accesses):
        return accesses.product(step)

    def launches(self, step, assembler):
        product, wide = assembler.product(step), {}
        before = [part for x in dict.fromkeys((product.a[0], product.b[0])) for part in _widened(step, x, wide, assembler)]
        # Sums are moved as numbers of float32 are, which have as many bits.
        product = product._replace(problem=product.problem._replace(dtype="float32"))
        plan = assembler.once(assembler.code("matmul").choose_integer_pairs, assembler.target, product.problem)
        result, lasts = assembler.storage(step.roots[0]), assembler.lasts(step)
        return [*before, product_launch(step, product, plan, assembler, product.b, wide.__getitem__, result, lasts, _WIDE)]

    def loops(self, step):
        node = step.roots[0]
        return *node.shape, node.args[0].shape[-1]

    def flops(self, node):
        return 2 * node.size * node.args[0].shape[-1]


def _widened(step, operand, wide, assembler):
    """The launch that writes an operand in 16 bits, to memory that `wide` has of it then."""
    code = assembler.code("matmul")
    plan = code.Widening(operand.dtype.kind == "i", operand.size)
    wide[operand] = Scratch(operand.size * _WIDE)
    buffers = assembler.storage(operand), wide[operand]
    return launch(step, plan, code.write_widening, buffers, plan.units * cost.ENTRY_SECONDS, assembler, "widen")
