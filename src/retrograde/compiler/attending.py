"""Attention: which nodes the compiler has kernels for, and what they read and cost."""

from math import prod

from ..core.symbol import Symbol
from ..ops.attending import batch_of, is_plain
from ..shapes import row_major
from .recorder import PICK
from .sliding import source_of

#: The arrays that each kernel reads.
OPERANDS = {"attention_with_sums": ("query", "key", "value", "attn_mask"),
             "attention_backward": ("cotangent", "query", "key", "value", "attn_mask", "sums", "means")}


def is_attention(node):
    """Whether a node is a result of a kernel of attention."""
    return node.op is PICK and is_kernel(node.args[0])


def is_kernel(node):
    """Whether a node stands for the results of a kernel of attention."""
    if node.op is PICK or node.op is None or node.op.name not in OPERANDS:
        return False
    named = named_of(node)
    query, key, value, mask = [named[name] for name in OPERANDS["attention_with_sums"]]
    others = [named[name] for name in ("cotangent", "sums", "means") if name in named]
    return is_plain(query, key, value, mask) and all([x.dtype == query.dtype for x in others])


def inverse_order(order):
    """Where each axis is in an order of axes."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def steps_of(node):
    """The steps of the axes of a result of attention in its memory, in their order without one of its own."""
    steps, order = row_major(node.shape), node.args[2] if len(node.args) > 2 else range(node.ndim)
    return tuple([steps[place] for place in inverse_order(order)])


def operands_of(node):
    """The arrays that the kernel of a node reads."""
    named = named_of(source_of(node))
    return [named[name] for name in OPERANDS[source_of(node).op.name] if named[name] is not None]


def memory_of(node, facts):
    """The nodes whose memory the kernel of a node reads, through views."""
    return [facts.base(a) for a in operands_of(node) if isinstance(a, Symbol)]


def flops_of(node):
    """Floating point operations of the products of the kernel of a node."""
    node = source_of(node)
    batch, queries, keys, depth, width = lengths_of(node)
    each = 3 * depth + 2 * width if node.op.name == "attention_backward" else depth + width
    return 2 * each * prod(batch) * queries * keys // (2 if named_of(node)["is_causal"] else 1)


def named_of(node):
    """The arguments of a node by name."""
    return dict(zip(node.op.arguments, node.args, strict=True))


def lengths_of(node):
    """(leading axes, queries, keys, numbers of a query, numbers of a value) of the node of a kernel."""
    query, key, value, mask = [named_of(node)[name] for name in OPERANDS["attention_with_sums"]]
    return tuple(batch_of(query, key, value, mask)), query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1]
