"""Pooling of images: the greatest number or the mean of each window, and their gradients."""

import math

import numpy as np

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.images._pooling import Windows
from .. import cost
from ..graph.recorder import PICK
from ..index.elements import has_float_operands
from .kernel import Kernel, source

#: Places in a window are kept as bytes, and each is written out.
_MOST_PLACES = 100


class Pooling(Kernel):
    """Pooling, or its gradient."""

    name, has_several = "pooling", True

    def matches(self, node, facts):
        if node.shape is not None and not node.size:
            return False
        first, *others = _operands(node)
        window = _windows_of(node).kernel
        is_plain = has_float_operands([first]) and first.size > 0 and window[0] * window[1] <= _MOST_PLACES
        is_known = not any([isinstance(a, Symbol) for a in (first, *others)])
        return is_plain and not is_known and all([a.dtype == np.uint8 for a in others])

    def maker(self, node):
        return source(node)

    def memory(self, node, facts):
        return [facts.memory(a) for a in _operands(source(node)) if isinstance(a, Symbol)]

    def launches(self, step, assembler):
        node = source(step.roots[0])
        windows, named = _windows_of(node), node.named
        read, *others = [assembler.layout(step, a) for a in node.args[:2] if hasattr(a, "dtype")]
        is_mean, is_backward = "avg" in node.op.name, "shape" in named
        wanted = {root.args[1]: assembler.storage(root) for root in step.roots if root.op is PICK}
        means = {"divisor": named["divisor_override"], "lengths": windows.lengths(named["count_include_pad"])} if is_mean else {}
        dtype, code = name_of(node.args[0].dtype), assembler.code("pooling")
        pool = code.Pool(
            dtype, assembler.target.lanes(dtype), windows.shape[-2:], windows.result, windows.kernel, windows.stride,
            windows.padding, windows.dilation, is_mean, has_values=is_mean or 0 in wanted, has_taps=1 in wanted, **means)
        write = code.write_backward if is_backward else code.write_forward
        unit = assembler.unit((write.__name__, repr(pool)), lambda module, name: write(module, name, pool), is_final=True)
        if is_backward:
            taps = others[0] if others else read
            buffers, starts = (read[0], taps[0], assembler.storage(node)), (read[1], taps[1], 0)
        else:
            # Where only places are wanted the slot of the values must hold something: nothing is written there.
            first = assembler.storage(node) if is_mean else wanted.get(0, wanted.get(1))
            buffers, starts = (read[0], first, wanted.get(1, first)), (read[1], 0, 0)
        # Planes are dealt whole: windows of one may overlap, and on the way back two chunks would add to one place.
        planes, size = math.prod(windows.shape[:-2]), math.prod(windows.shape)
        chunks = min(planes, cost.POOLS.chunks(size))
        words, seconds = (*starts, planes, chunks), size * cost.POOL_SECONDS
        return [assembler.launch(step, unit, unit.name, buffers, words, chunks, assembler.lasts(step), seconds)]

    def flops(self, node):
        return math.prod(_windows_of(source(node)).shape)


def _operands(node):
    return [a for a in node.args[:3] if hasattr(a, "dtype")]


def _windows_of(node):
    """The windows of pooling."""
    named = node.named
    shape = named.get("shape", node.args[0].shape)
    names = ("kernel_size", "stride", "padding")
    return Windows.of(shape, *[named[name] for name in names], named.get("dilation", 1), named["ceil_mode"])
