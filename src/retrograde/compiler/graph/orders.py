"""Orders: in which order the elements of a traced value would lie in memory if it were computed by eager ops."""

import numpy as np

from ... import tree
from ...core.dispatch import operands_of
from ...core.symbol import Symbol, ordered
from ...errors import InplaceError
from .views import MOVEMENTS, is_movement

#: Ops that make arrays in another order than the rows of their operands, as NumPy's functions leave them; a sweep finds all.
ANY_ORDER = frozenset([
    "adaptive_avg_pool3d", "argsort", "avg_pool3d", "columns_to_image", "conv3d", "conv_transpose3d", "cumsum_from_end",
    "diagonal", "lu_solve", "max_pool3d", "nanquantile", "quantile", "solve_banded", "solve_triangular", "sort", "split",
    "top_indices",
])

#: Views that leave what lies in row-major order in it.
_KEEP_ROWS = frozenset(["reshape", "expand_dims", "squeeze"])


def in_order(symbol, inputs=None):
    """An array of the shape and the strides that the value of `symbol` has in eager mode, where inputs are in row-major order. What
    its elements are is not said. An InplaceError where the order is not known. The inputs that count are added to a set.
    """
    found = {}
    for node in ordered([symbol]):
        if inputs is not None and node.op is None and len(node.shape) > 1:
            inputs.add(node)
        _find(node, found)
    if found[symbol] is None:
        raise InplaceError("whether this reshape is a view depends on the order in memory of a value that is traced, which only "
                           "eager ops know; reshape a copy in row-major order, x.contiguous()")
    return found[symbol]


def orders(symbols, nodes):
    """Arrays as `in_order` gives them, or None where the order is not known, by symbol; those are left out that are sure to lie in
    row-major order. `nodes` are all that the symbols depend on, arguments first.
    """
    wanted = [symbol for symbol in symbols if _has_order(symbol)]
    if not wanted or all([_keeps_rows(node) for node in nodes]):
        return {}
    found = {}
    for node in nodes:
        _find(node, found)
    return {symbol: found[symbol] for symbol in wanted}


def is_alike(array, other):
    """Whether two arrays of one shape lie in memory alike."""
    return not array.size or all([
        a == b for a, b, n in zip(array.strides, other.strides, array.shape, strict=True) if n > 1
    ])


def written_over(symbol, old):
    """Take note that what a value holds is `symbol` from here on and was `old`, in whose memory eager ops write it."""
    if isinstance(symbol, Symbol) and symbol is not old and symbol.shape is not None and len(symbol.shape) > 1:
        first, _ = getattr(old, "over", ((old,), True))  # of many only the first, so that those between may go
        others, _ = getattr(symbol, "over", ((), True))
        symbol.over = (*others, *first), not others and (_is_spread(symbol) or any([node is old for node in symbol.inputs]))


def _find(node, found):
    """Add what array `node` would be, or None, to those that were found for its inputs."""
    found[node] = _made(node, found)
    if found[node] is None and not _has_order(node):
        # A row of elements can be taken apart in any way, however far apart they lie.
        found[node] = np.empty(node.shape, node.dtype)


def _has_order(node):
    """Whether a node has elements along two axes or more, or may have, as one of several results."""
    return node.shape is None or sum([n > 1 for n in node.shape]) > 1


def _keeps_rows(node):
    """Whether a node is sure to lie in row-major order where its inputs do."""
    if node.op is None:
        return node.order is not None and node.order.flags.c_contiguous
    if node.shape is None or hasattr(node, "over"):
        return False
    return node.op.name in _KEEP_ROWS or node.op.name not in MOVEMENTS and _is_row_major(node, ())


def _is_spread(symbol):
    """Whether a write made a node of a number, or of a row."""
    return symbol.op is not None and symbol.op.name == "broadcast_to"


def _made(node, found):
    over, is_own = getattr(node, "over", ((), True))
    if not over:
        return _alone(node, found)
    known = [found[other] if other in found else _try_order(other) for other in over]
    known += [] if is_own else [_alone(node, found)]  # it may be another value's too, which lies elsewhere
    return None if any([x is None or known[0] is None or not is_alike(x, known[0]) for x in known]) else known[0]


def _try_order(symbol):
    try:
        return in_order(symbol)
    except InplaceError:
        return None


def _alone(node, found):
    """As an op makes it, in memory of its own or as a view."""
    if node.shape is None:
        return None
    known = [found[a] for a in node.inputs]
    if node.op is None and getattr(node, "array", None) is not None:
        return node.order
    if node.op is not None and node.op.name == "getitem" and not is_movement(node):
        return _chosen(node, known)
    if node.op is None or not is_movement(node) and _is_row_major(node, known):
        return np.empty(node.shape, node.dtype)
    if is_movement(node) and isinstance(node.args[0], Symbol) and known[0] is not None:
        return np.asarray(node.op.kernel(known[0], *node.args[1:]))
    if node.op.name == "astype":  # a copy puts axes of stride 0 innermost, where a function of each element has them in order
        return None if known[0] is None else np.empty_like(known[0], node.dtype)
    if any([a is None for a in known]):
        return None
    if not node.op.broadcasts:
        is_alike = bool(known) and known[0].shape == node.shape and node.op.name not in ANY_ORDER and not _may_be_large(node)
        return _tried(node, found) if is_alike else None  # as a running sum is
    if any(map(_is_repeated, known)) and not _may_be_large(node):
        return _tried(node, found)
    operands = [a for a in operands_of(node.op, node.args) if a is not None]
    return _elementwise(node, [found[a] if isinstance(a, Symbol) else np.asarray(a) for a in operands])


def _chosen(node, known):
    """The elements at positions that are arrays: NumPy puts those axes outermost in memory, wherever they stand in the result."""
    if not isinstance(node.args[0], Symbol) or known[0] is None or not known[0].size:
        return None
    index = tree.map(lambda part: np.zeros(part.shape, part.dtype) if isinstance(part, Symbol) else part, node.args[1:])
    return np.asarray(node.op.kernel(known[0], *index))


def _is_row_major(node, known):
    """Whether an op that shows no memory makes an array in row-major order: of such, and NumPy's product of matrices always."""
    if node.op.name == "contract" or node.op.name in ANY_ORDER:  # in any order, or a view
        return len(node.shape) < 2
    if node.op.name == "contiguous":
        return True
    are_matrices = node.op.name == "matmul" and all([a is not None and a.ndim <= 2 for a in known])
    return are_matrices or all([a is not None and a.flags.c_contiguous for a in known])


def _is_repeated(array):
    """Whether an array shows elements more than once, as `broadcast_to` does."""
    return any([stride == 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)])


def _may_be_large(node):
    return node.op.large is not None and node.size >= node.op.fewest


def _tried(node, found):
    """The result of an op whose shape is that of its operand, found by trying a corner: so of a function of each element of what is
    repeated an op of one step leaves its axes in order, and one that copies on the way puts the repeated ones innermost.
    """
    corner = lambda x: x[(slice(2),) * np.ndim(x)] if np.ndim(x) else x
    like = lambda x: found[x] if isinstance(x, Symbol) else x
    args = tree.map(lambda x: corner(like(x)) if isinstance(x, (Symbol, np.ndarray)) else x, node.args)
    with np.errstate(all="ignore"):
        try:
            made = np.asarray(node.op.kernel(*args))
        except Exception:  # noqa: BLE001 - numbers that are none of the program's may be refused
            return None
    axes = sorted(range(made.ndim), key=lambda axis: -made.strides[axis])
    return np.empty([node.shape[axis] for axis in axes], node.dtype).transpose(np.argsort(axes)) if made.ndim else made


def _elementwise(node, operands):
    """The result of a function of each element, whose order is that of its operands as far as they agree."""
    flags = [*[["readonly"]] * len(operands), ["writeonly", "allocate"]]
    order = "K"
    if _may_be_large(node) and len({a.strides for a in operands}) > 1:
        order = "C" if len({(a.shape, a.dtype) for a in operands}) == 1 else order  # by a kernel, which goes row by row
    iterator = np.nditer([*operands, None], ["zerosize_ok"], flags, [*[None] * len(operands), node.dtype], order=order)
    return iterator.operands[-1]
