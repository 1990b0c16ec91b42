"""Attention: softmax of scaled products of queries and keys, times values, forward and back, without the matrix of weights."""

from math import prod

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.networks.attending import are_shared, batch_of, is_plain
from ...shapes import row_major
from .. import cost
from ..target import ITEM_BYTES
from .kernel import Kernel, Scratch, source

#: The arrays that each kernel reads.
_OPERANDS = {"attention_with_sums": ("query", "key", "value", "attn_mask"),
             "attention_backward": ("cotangent", "query", "key", "value", "attn_mask", "sums", "means")}


class Attention(Kernel):
    """Attention and its derivatives; each of the several results that are wanted is a node."""

    name, has_several = "attention", True

    def matches(self, node, facts):
        named = node.named
        query, key, value, mask = [named[name] for name in _OPERANDS["attention_with_sums"]]
        others = [named[name] for name in ("cotangent", "sums", "means") if name in named]
        return is_plain(query, key, value, mask) and all([x.dtype == query.dtype for x in others])

    def maker(self, node):
        return source(node)

    def memory(self, node, facts):
        node = source(node)
        read = [node.named[name] for name in _OPERANDS[node.op.name]]
        return [facts.base(a) for a in read if isinstance(a, Symbol)]

    def launches(self, step, assembler):
        node = source(step.roots[0])
        wanted = {root.args[1]: assembler.storage(root) for root in step.roots}
        named = node.named
        read = {name: assembler.layout(step, named[name]) for name in _OPERANDS[node.op.name] if named[name] is not None}
        launches = _forward if node.op.name == "attention_with_sums" else _backward
        return launches(step, node, read, wanted, assembler)

    def can_reorder(self, node, order):
        # One query is written as a row for each head already; and a row of a head must stay one in memory.
        is_first = source(node).op.name == "attention_with_sums" and node.args[1] == 0
        return is_first and node.shape[-2] > 1 and order[-1] == node.ndim - 1

    def flops(self, node):
        return _flops(source(node))


def _flops(node):
    batch, queries, keys, depth, width = _lengths_of(node)
    each = 3 * depth + 2 * width if node.op.name == "attention_backward" else depth + width
    return 2 * each * prod(batch) * queries * keys // (2 if node.named["is_causal"] else 1)


def _lengths_of(node):
    """(leading axes, queries, keys, numbers of a query, numbers of a value) of the node of a kernel."""
    query, key, value, mask = [node.named[name] for name in _OPERANDS["attention_with_sums"]]
    return tuple(batch_of(query, key, value, mask)), query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1]


def _forward(step, node, read, wanted, assembler):
    fields, code = _shared_fields(node, read, assembler), assembler.code("attention")
    if fields["sizes"].queries == 1:
        # The only query sees the first key alone if it may not look ahead.
        keys = 1 if fields["is_causal"] else fields["sizes"].keys
        fields = _with_heads_as_queries({**fields, "sizes": fields["sizes"]._replace(keys=keys), "is_causal": False})
    # As when a text grows by a token: every key is read once, in vectors along its numbers.
    if fields["sizes"].queries == 1 and fields["key"].column == fields["value"].column == 1:
        plan, write = code.Single(**fields, has_sums=1 in wanted), code.write_single
    else:
        result, fields = code.Operand(*_result(step, fields["sizes"]), 1), for_few(fields, fields["sizes"].queries)
        plan, write = code.Forward(**fields, result=result, has_sums=1 in wanted), code.write_forward
    unit = assembler.unit(("attention", repr(plan)), lambda module, name: write(module, name, plan), is_final=True)
    tasks, flops = prod(plan.sizes.batch) * plan.blocks, _flops(node)
    chunks = _chunks(tasks, flops, assembler)
    item, first = ITEM_BYTES[plan.dtype], read["query"]
    mask = read.get("attn_mask", first)
    sources = first, read["key"], read["value"], mask
    # Without a need for the results themselves, they have no memory.
    numbers = prod(plan.sizes.batch) * plan.sizes.queries * plan.sizes.width
    result = wanted[0] if 0 in wanted else Scratch(numbers * item)
    buffers = *[buffer for buffer, _, _ in sources], result, wanted.get(1, result), Scratch(sum(plan.parts) * item * chunks)
    words = *[start for _, start, _ in sources], 0, 0, 0, tasks, chunks
    return [assembler.launch(step, unit, unit.name, buffers, words, chunks, assembler.lasts(step), flops * cost.ATTENTION_SECONDS)]


def _result(step, sizes):
    """How far apart results lie along leading axes and from row to row: in an order of axes of their own, or as they come."""
    ordered = [_steps_of(root) for root in step.roots if root.args[1] == 0 and len(root.args) > 2]
    steps = ordered[0] if ordered else row_major((*sizes.batch, sizes.queries, sizes.width))
    return steps[:-2], steps[-2]


def _steps_of(node):
    """The steps of the axes of a result of attention in its memory, in their order without one of its own."""
    steps, order = row_major(node.shape), node.args[2] if len(node.args) > 2 else range(node.ndim)
    return tuple([steps[place] for place in tuple(sorted(range(len(order)), key=order.__getitem__))])


def _with_heads_as_queries(fields):
    """`fields` with the heads that share keys as queries of one matrix, where each has one query."""
    sizes, mask = fields["sizes"], fields["mask"]
    if not all([fields[label].batch[-1:] == (0,) for label in ("key", "value")]):
        return fields
    changed = {label: fields[label]._replace(batch=fields[label].batch[:-1]) for label in ("key", "value")}
    changed["sizes"] = sizes._replace(batch=sizes.batch[:-1], queries=sizes.batch[-1])
    return {**fields, **changed, "query": _heads_as_rows(fields["query"]), "mask": mask and _heads_as_rows(mask)}


def _heads_as_rows(operand):
    return operand._replace(batch=operand.batch[:-1], row=operand.batch[-1])


def for_few(fields, queries):
    """`fields` with tiles for so many queries: for few of them as many sums, in tiles of one vector."""
    if queries > fields["lanes"]:
        return fields
    return {**fields, "rows": fields["rows"] * fields["vectors"], "vectors": 1}


def _backward(step, node, read, wanted, assembler):
    named, code = node.named, assembler.code("attention")
    sizes = code.Sizes(*_lengths_of(node))
    item = ITEM_BYTES[name_of(named["query"].dtype)]
    group = sizes.batch[-1] if are_shared(sizes.batch, named["key"], named["value"]) else 1
    fields = _shared_fields(node, read, assembler)
    given = {name: _operand(code, read[name], named[name], sizes.batch) for name in ("cotangent", "sums", "means")}
    plan = code.Backward(**fields, **given, group=group, shares=1)
    matrices = prod(plan.batch)
    # Planned twice: how many shares there are depends on the blocks of keys, which a plan knows.
    plan = code.Backward(**fields, **given, group=group, shares=max(1, min(plan.blocks, cost.ATTENTION_TASKS // matrices)))
    key = "attention backward", repr(plan)
    unit = assembler.unit(key, lambda module, name: code.write_backward(module, name, plan), is_final=True)
    tasks, flops, queries = matrices * plan.shares, _flops(node), matrices * group * sizes.queries
    chunks = _chunks(tasks, flops, assembler)
    results = []
    for i, numbers in enumerate((queries * sizes.depth, matrices * sizes.keys * sizes.depth, matrices * sizes.keys * sizes.width)):
        # All three come of one pass; what nobody wants needs a place all the same.
        results.append(wanted[i] if i in wanted else Scratch(numbers * item))
    slopes = results[0] if plan.is_direct else Scratch(plan.shares * queries * plan.line * item)
    mask = read.get("attn_mask", read["query"])
    sources = [read[name] if name != "attn_mask" else mask for name in _OPERANDS[node.op.name]]
    buffers = *[buffer for buffer, _, _ in sources], slopes, *results[1:], Scratch(sum(plan.parts) * item * chunks)
    words = *[start for _, start, _ in sources], 0, 0, 0, 0, tasks, chunks
    first = assembler.launch(step, unit, unit.name, buffers, words, chunks, assembler.lasts(step), flops * cost.ATTENTION_SECONDS)
    if plan.is_direct:
        return [first]
    total = assembler.unit(("total", *key), lambda module, name: code.write_total(module, name, plan), is_final=True)
    parts = min(assembler.threads, queries) if plan.shares * queries * plan.line > cost.SHARED_NUMBERS else 1
    words, lasts = (0, 0, queries, parts), assembler.lasts(step)
    return [first, assembler.launch(step, total, total.name, (slopes, results[0]), words, parts, lasts, role="finish")]


def _chunks(tasks, flops, assembler):
    return min(tasks, cost.ATTENTION_CHUNKS * assembler.threads) if flops > cost.SHARED_FLOPS else 1


def tiles_of(target, dtype):
    """What the tiles of attention are on a processor."""
    return {"dtype": dtype, "lanes": target.lanes(dtype), "vectors": 2, "rows": 6 if target.registers <= 16 else 12,
            "is_fused": target.has_fma, "first_cache": target.first_cache}


def _shared_fields(node, read, assembler):
    """What both directions depend on."""
    named, code = node.named, assembler.code("attention")
    sizes = code.Sizes(*_lengths_of(node))
    mask = named["attn_mask"]
    operands = {label: _operand(code, read[label], named[label], sizes.batch) for label in ("query", "key", "value")}
    return {
        **operands, **tiles_of(assembler.target, name_of(named["query"].dtype)), "sizes": sizes,
        "is_causal": bool(named["is_causal"]),
        "mask": None if mask is None else _operand(code, read["attn_mask"], mask, sizes.batch, (sizes.queries, sizes.keys)),
        "has_booleans": mask is not None and mask.dtype.kind == "b", "scale": float(named["scale"])}


def _operand(code, layout, array, batch, matrix=None):
    """The steps of an array along all leading axes, 0 along those that it is repeated for."""
    steps, shape = layout[2], array.shape
    lengths = (*batch, *(matrix or shape[-2:]))
    missing = len(lengths) - len(shape)
    found = [0] * missing + [0 if n == 1 else step for n, step in zip(shape, steps, strict=True)]
    return code.Operand(tuple(found[:-2]), *found[-2:])
