"""Attention of a text that grows, to a cache that is read only as far as it is filled."""

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from .kernel import Kernel, Scratch


class CachedAttention(Kernel):
    """Attention to a cache and to what is new."""

    name = "cached attention"

    def matches(self, node, facts):
        *arrays, lengths, _, _ = node.args
        are_plain = all([isinstance(x, Symbol) and name_of(x.dtype) == "float32" for x in arrays])
        # Vectors run along the numbers of a head: of at least four.
        has_size = bool(node.size) and node.shape[-1] % 4 == 0 and arrays[3].size
        return are_plain and has_size and isinstance(lengths, Symbol) and name_of(lengths.dtype) == "int64"

    def launches(self, step, assembler):
        node, code, target = step.roots[0], assembler.code("attention"), assembler.target
        *arrays, lengths, scale, window = node.args
        (batch, new, heads, size), (_, longest, shared, _) = node.shape, arrays[3].shape
        lanes = min(target.lanes("float32"), size & -size)
        plan = code.CachedPlan(lanes, target.has_fma, heads // shared, size, float(scale), None if window is None else int(window),
                               batch, new, longest, shared)
        unit = assembler.unit(plan.key, lambda module, name: code.write_cached(module, name, plan))
        read = [assembler.layout(step, x)[0] for x in (*arrays, lengths)]
        buffers = *read, assembler.storage(node), Scratch(plan.chunks * plan.room * 4)
        # How far caches are filled is not known: half of them, say.
        seconds = 2 * node.size * longest * cost.ATTENTION_SECONDS
        return [assembler.launch(step, unit, unit.name, buffers, plan.words, plan.chunks, assembler.lasts(step), seconds)]
