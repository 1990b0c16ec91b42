"""Quantised weights: products by them, which read their blocks directly, and their numbers in memory."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.networks._quantizing import PLAIN
from ...ops.networks._rounding import BLOCK
from ...ops.networks.quantized import FEW_ROWS, weights_missing
from .. import cost
from ..index.accesses import Operand
from .blocks import few_rows_launches, fields
from .kernel import Kernel, Scratch, launch
from .matmul import Matmul, product_launch

#: Of a block of activations of 8 bits the scale, and what it makes of their sum.
_SCALES_BYTES = 8


class QuantizedProduct(Kernel):
    """Products of a few rows by quantised weights."""

    name = "quantized product"

    def matches(self, node, facts):
        x, blocks, form, first, last, activations = node.args
        is_short = not first and last is None and (form == PLAIN or prod(x.shape[:-1]) <= FEW_ROWS)
        return activations is None and is_short and _are_operands(node, x, blocks) and not weights_missing(x.shape[-1], form)

    def launches(self, step, assembler):
        node = step.roots[0]
        x, blocks, form, *_ = node.args
        buffers = assembler.layout(step, x)[0], assembler.layout(step, blocks)[0], assembler.storage(node)
        return few_rows_launches(step, form, (prod(x.shape[:-1]), x.shape[-1], blocks.shape[0]), buffers, assembler)

    def flops(self, node):
        return 2 * node.size * node.args[0].shape[-1]


class IntegerProduct(QuantizedProduct):
    """The same of activations that become integers of 8 bits."""

    name = "integer product"

    def matches(self, node, facts):
        x, blocks, form, _, _, activations = node.args
        # Others are products of rounded floats: see the op.
        return activations is not None and _are_operands(node, x, blocks) and not weights_missing(x.shape[-1], form)

    def launches(self, step, assembler):
        node, code, way = step.roots[0], assembler.code("quantized"), assembler.target.byte_dots
        x, blocks, form, *_ = node.args
        rows, count = prod(x.shape[:-1]), x.shape[-1]
        codes, scales = Scratch(x.size), Scratch(x.size // BLOCK * _SCALES_BYTES)
        rounding = code.Activations(min(assembler.target.lanes("float32"), 16), x.size)
        read, seconds = (assembler.layout(step, x)[0], codes, scales), x.size * cost.ENTRY_SECONDS
        before = launch(step, rounding, code.write_activations, read, seconds, assembler, "round")
        read_so = {**fields(form, assembler.target), "lanes": code.lanes_of(way), "has_tables": False}
        plan = code.IntegerProduct(**read_so, outputs=blocks.shape[0], count=count, rows=rows, way=way)
        buffers = codes, scales, assembler.layout(step, blocks)[0], assembler.storage(node)
        seconds = blocks.shape[0] * count * (cost.CODE_SECONDS + rows * cost.FEW_CODES_SECONDS)
        return [*before, *launch(step, plan, code.write_integer_product, buffers, seconds, assembler)]


class QuantizedMatmul(Matmul):
    """Products of many rows by quantised weights, of which panels of numbers are packed, and those of cotangents by them."""

    name, matrix_item = "quantized matmul", 1

    def matches(self, node, facts):
        x, blocks, form, *_ = node.args
        is_of_floats, is_whole = node.args[5:] in ((), (None,)), not weights_missing(_inputs(node), form)
        return is_of_floats and is_whole and form != PLAIN and _are_operands(node, x, blocks) and x.ndim > 1

    def memory(self, node, facts):
        return [facts.base(node.args[0]), node.args[1]]

    def operands(self, step, accesses):
        node = step.roots[0]
        x, blocks, _, first, last = node.args[:5]
        # From the first block of a buffer on, in bytes, since what shows a part of others is copied.
        buffer = accesses.layout(step, blocks)[0]
        inputs, outputs = _inputs(node), (blocks.shape[0] if last is None else last) - first
        first = first * blocks.shape[1]
        numbers = ((inputs, outputs), (1, inputs)) if _is_forward(node) else ((outputs, inputs), (inputs, 1))
        return Operand(x.shape, *accesses.layout(step, x)), Operand(numbers[0], buffer, first, numbers[1])

    def launches(self, step, assembler):
        product, storage = assembler.product(step), assembler.storage
        choose = assembler.code("matmul").choose_blocks
        plan = assembler.once(choose, assembler.target, product.problem, self._blocks(step, assembler))
        result, lasts = storage(step.roots[0]), assembler.lasts(step)
        return [product_launch(step, product, plan, assembler, product.b, storage, result, lasts,
                               matrix_item=self.matrix_item)]

    def panels(self, step, problem, counts, assembler):
        choose = assembler.code("matmul").choose_panels
        return assembler.once(choose, assembler.target, problem, counts, self._blocks(step, assembler))

    @staticmethod
    def _blocks(step, assembler):
        node = step.roots[0]
        return assembler.code("matmul").Blocks(**fields(node.args[2], assembler.target), is_along_k=_is_forward(node))


def _is_forward(node):
    """Whether blocks lie along the axis that is summed, as in a product, and not across it, as in that of its cotangent."""
    return node.op.name == "quantized_linear"


def _inputs(node):
    """How many numbers a row of weights has."""
    return node.args[0].shape[-1] if _is_forward(node) else node.shape[-1]


def _are_operands(node, x, blocks):
    is_of_symbols = isinstance(x, Symbol) and isinstance(blocks, Symbol)
    return is_of_symbols and bool(node.size) and bool(x.size) and name_of(x.dtype) == "float32"


class Unpacking(Kernel):
    """The numbers of quantised weights."""

    name = "unpacking"

    def matches(self, node, facts):
        return bool(node.size) and isinstance(node.args[0], Symbol) and not weights_missing(node.shape[-1], node.args[1])

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("quantized")
        blocks, form = node.args
        plan = code.Unpacking(**fields(form, assembler.target), outputs=prod(node.shape[:-1]), count=node.shape[-1])
        buffers = assembler.layout(step, blocks)[0], assembler.storage(node)
        return launch(step, plan, code.write_unpacking, buffers, node.size * cost.UNPACK_SECONDS, assembler)

