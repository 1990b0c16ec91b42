"""Attention of a text that grows, to a cache that is read only as far as it is filled."""

from math import ceil

from ...core.symbol import Symbol
from ...dtypes import name_of
from .. import cost
from .attention import for_few, tiles_of
from .kernel import Kernel, Scratch

#: Of so many new positions tiles are worth their while.
_PROMPT = 16


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
        read = [assembler.layout(step, x)[0] for x in (*arrays, lengths)]
        # How far caches are filled is not known: half of them, say.
        seconds = 2 * node.size * longest * cost.ATTENTION_SECONDS
        if new >= _PROMPT:
            return _prompt(step, node, read, seconds, assembler)
        lanes = min(target.lanes("float32"), size & -size)
        plan = code.CachedPlan(lanes, target.has_fma, heads // shared, size, float(scale), None if window is None else int(window),
                               batch, new, longest, shared)
        unit = assembler.unit(plan.key, lambda module, name: code.write_cached(module, name, plan))
        buffers = *read, assembler.storage(node), Scratch(plan.chunks * plan.room * 4)
        return [assembler.launch(step, unit, unit.name, buffers, plan.words, plan.chunks, assembler.lasts(step), seconds)]


def _prompt(step, node, read, seconds, assembler):
    """The launch for many new positions."""
    code = assembler.code("attention")
    *arrays, _, scale, window = node.args
    (batch, new, heads, size), (_, longest, shared, _) = node.shape, arrays[3].shape

    def steps(count):
        return code.Operand((size,), count * size, 1)

    plan = code.Prompt(
        **for_few(tiles_of(assembler.target, "float32"), new), sizes=code.Sizes((heads,), None, None, size, size),
        scale=float(scale), query=steps(heads), key=steps(shared), value=steps(shared), result=steps(heads), group=heads // shared,
        window=None if window is None else int(window), mask=None, has_booleans=False, is_causal=True, has_sums=False)
    tasks = batch * heads * ceil(new / plan.query_block)
    chunks = min(tasks, cost.CACHED_ATTENTION.chunks(node.size * longest))
    key = "prompt attention", repr(plan)
    unit = assembler.unit(key, lambda module, name: code.write_prompt(module, name, plan), is_final=True)
    buffers = *read, assembler.storage(node), Scratch(sum(plan.parts) * 4 * chunks)
    words = *[0] * len(buffers), tasks, chunks, new, longest
    return [assembler.launch(step, unit, unit.name, buffers, words, chunks, assembler.lasts(step), seconds)]
