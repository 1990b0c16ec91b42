"""Pooling as launches of generated code."""

import math

from ..dtypes import name_of
from .codegen.pooling import Pool, write_backward, write_forward
from .codegen.target import host
from .launches import Launch
from .sliding import source_of, windows_of
from .trace import PICK
from .units import unit_of

#: What one thread takes for one number of an image, rough; a chunk has at least so many numbers, and there are so many chunks.
_SECONDS, _CHUNK, _MOST_CHUNKS = 5e-10, 16384, 64


def pooling(step, layout_in_memory, home, lasts):
    """The launches of a step: `layout_in_memory(node)` is (buffer, first element, steps), `home(node)` the memory of a result."""
    node = source_of(step.roots[0])
    windows, named = windows_of(node), dict(zip(node.op.arguments, node.args, strict=True))
    source, *others = [layout_in_memory(a) for a in node.args[:2] if hasattr(a, "dtype")]
    is_mean, is_backward = "avg" in node.op.name, "shape" in named
    wanted = {root.args[1]: home(root) for root in step.roots if root.op is PICK}
    means = {"divisor": named["divisor_override"], "lengths": windows.lengths(named["count_include_pad"])} if is_mean else {}
    dtype = name_of(node.args[0].dtype)
    pool = Pool(
        dtype, host().lanes(dtype), windows.shape[-2:], windows.result, windows.kernel, windows.stride, windows.padding,
        windows.dilation, is_mean, has_values=is_mean or 0 in wanted, has_taps=1 in wanted, **means)
    write = write_backward if is_backward else write_forward
    unit = unit_of((write.__name__, repr(pool)), lambda module, name: write(module, name, pool), is_final=True)
    if is_backward:
        taps = others[0] if others else source
        buffers, starts = (source[0], taps[0], home(node)), (source[1], taps[1], 0)
    else:
        first = home(node) if is_mean else wanted.get(0, wanted.get(1))
        buffers, starts = (source[0], first, wanted.get(1, first)), (source[1], 0, 0)
    planes, size = math.prod(windows.shape[:-2]), math.prod(windows.shape)
    chunks = max(1, min(planes, size // _CHUNK, _MOST_CHUNKS))
    return [Launch(step, unit, unit.name, buffers, (*starts, planes, chunks), chunks, lasts, size * _SECONDS)]
