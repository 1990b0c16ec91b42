"""Blocks: products by matrices whose numbers are in blocks of quantised weights, or are of 16 bits and read as if they were."""

from ...dtypes import name_of
from ...ops.networks._quantizing import HALVES, format_of
from ...ops.networks.quantized import FEW_ROWS, weights_missing
from .. import cost
from .kernel import launch


def fields(form, target):
    """What the code of all formats depends on."""
    # A block has 16 codes in a row at least.
    return {"format": format_of(form).name, "lanes": min(target.lanes("float32"), 16), "is_fused": target.has_fma,
            "has_halves": target.converts_half, "has_tables": target.machine == "x86_64" and target.vector_bytes == 64}


def few_rows_launches(step, form, sizes, buffers, assembler):
    """The launches of a product of a few rows: of `sizes` (rows, inputs, outputs), of float32, by (outputs, inputs) weights of a
    format. Its `buffers` are those of the rows, the weights, and the result.
    """
    code, (rows, count, outputs) = assembler.code("quantized"), sizes
    plan = code.Product(**fields(form, assembler.target), outputs=outputs, count=count, rows=rows)
    seconds = outputs * count * (cost.UNPACK_SECONDS + rows * cost.FEW_ROWS_SECONDS)
    return launch(step, plan, code.write_product, buffers, seconds, assembler)


class HalfMatrix:
    """The second operand of a product, of half precision, as a matrix of blocks."""

    def __init__(self, product):
        self.product, self._problem = product, product.problem.normal()
        self.form = HALVES.get(name_of(product.b[0].dtype))
        #: Whether its rows are columns of B, as those of the weights of a layer are.
        self.is_along_k = self._problem.b == (1, self._problem.k)

    @property
    def is_readable(self):
        """Whether its rows lie one behind the other, as those of weights do, and are whole blocks."""
        problem = self._problem
        is_plain = not problem.batch and problem.c[1] == 1 and (self.is_along_k or problem.b == (problem.n, 1))
        return self.form is not None and is_plain and not weights_missing(problem.k if self.is_along_k else problem.n, self.form)

    @property
    def has_few_rows(self):
        """Whether it meets a few rows only, which lie one behind the other as well."""
        problem, firsts = self._problem, (self.product.a[1], self.product.b[1])
        is_dense = problem.m == 1 and problem.a[1] == 1 or (problem.a, problem.c) == ((problem.k, 1), (problem.n, 1))
        return self.is_along_k and problem.m <= FEW_ROWS and is_dense and firsts == (0, 0)

    @property
    def sizes(self):
        """How many rows there are, and their inputs and outputs."""
        return self._problem.m, self._problem.k, self._problem.n

    def plan(self, assembler):
        """How panels of it are multiplied."""
        code = assembler.code("matmul")
        blocks = code.Blocks(**fields(self.form, assembler.target), is_along_k=self.is_along_k)
        return assembler.once(code.choose_blocks, assembler.target, self._problem, blocks)
