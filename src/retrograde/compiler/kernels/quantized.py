"""Quantised weights: products of a few rows by them, which read their blocks directly, and their numbers in memory."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.networks._quantizing import PLAIN, format_of
from .. import cost
from .kernel import Kernel, launch

#: So many weights of a row at least are read at a time; a row is a multiple of that, or the library's.
_AT_ONCE, _PLAIN_AT_ONCE = 32, 16


class QuantizedProduct(Kernel):
    """Products by quantised weights."""

    name, ops = "quantized product", ("quantized_linear",)

    def matches(self, node, facts):
        x, blocks, form = node.args
        has_operands = isinstance(x, Symbol) and isinstance(blocks, Symbol) and name_of(x.dtype) == "float32"
        return bool(node.size) and has_operands and bool(x.size) and _is_whole(x.shape[-1], form)

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("quantized")
        x, blocks, form = node.args
        rows, count = prod(x.shape[:-1]), x.shape[-1]
        plan = code.Product(**_fields(form, assembler.target), outputs=blocks.shape[0], count=count, rows=rows)
        buffers = assembler.layout(step, x)[0], assembler.layout(step, blocks)[0], assembler.storage(node)
        seconds = blocks.shape[0] * count * (cost.UNPACK_SECONDS + rows * cost.FEW_ROWS_SECONDS)
        return launch(step, plan, code.write_product, buffers, seconds, assembler)

    def flops(self, node):
        return 2 * node.size * node.args[0].shape[-1]


class Unpacking(Kernel):
    """The numbers of quantised weights."""

    name, ops = "unpacking", ("dequantize",)

    def matches(self, node, facts):
        return bool(node.size) and isinstance(node.args[0], Symbol) and _is_whole(node.shape[-1], node.args[1])

    def launches(self, step, assembler):
        node, code = step.roots[0], assembler.code("quantized")
        blocks, form = node.args
        plan = code.Unpacking(**_fields(form, assembler.target), outputs=prod(node.shape[:-1]), count=node.shape[-1])
        buffers = assembler.layout(step, blocks)[0], assembler.storage(node)
        return launch(step, plan, code.write_unpacking, buffers, node.size * cost.UNPACK_SECONDS, assembler)


def _is_whole(count, form):
    """Whether a row of so many weights can be read some at a time."""
    return count % (_PLAIN_AT_ONCE if form == PLAIN else _AT_ONCE) == 0


def _fields(form, target):
    """What the code of all formats depends on."""
    # All processors with fused multiply-adds that are known widen numbers of 16 bits.
    has_halves = target.has_fma and "-f16c" not in target.features
    # A block has 16 codes in a row at least.
    return {"format": format_of(form).name, "lanes": min(target.lanes("float32"), 16), "is_fused": target.has_fma,
            "has_halves": has_halves, "has_tables": target.machine == "x86_64" and target.vector_bytes == 64}
