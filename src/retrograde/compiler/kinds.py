"""Kinds: what the compiler can do with a node."""

import numpy as np

from ..core.dispatch import operands_of
from ..core.symbol import Symbol
from ..dtypes import is_complex, name_of
from .attending import is_attention, is_kernel
from .emitted import ELEMENTS, EMITTED, OF_FLOATS
from .pieces import PIECES, are_tiles
from .random_plan import is_random
from .recorder import PICK
from .sliding import is_shared, is_sliding
from .solvers import is_solver
from .transforming import is_transform
from .views import index_map, is_movement

#: How each reduction combines two numbers, by the name of the builder's operation, and where it starts.
REDUCTIONS = {"sum": ("add", 0), "prod": ("multiply", 1), "max": ("maximum", -np.inf), "min": ("minimum", np.inf),
              "any": ("bitwise_or", False), "all": ("bitwise_and", True)}
#: Running sums, products and recurrences: what joins two numbers, and whether they start with the last element.
RUNNING = {"cumsum": ("fadd", False), "cumprod": ("fmul", False), "cumsum_from_end": ("fadd", True),
           "linear_recurrence": ("recur", False)}
#: Ops that take the processor about as long as reading a number.
CHEAP_OPS = frozenset(["add", "subtract", "multiply", "negative", "astype", "maximum", "minimum", "where", "less", "less_equal",
                       "greater", "greater_equal", "equal", "not_equal", "relu", "abs", "square", "positive", "after"])
#: Ops whose values are found together for little more than one of them takes, by the function that finds both.
PAIRS = {"sincos": ("sin", "cos"), "gelu_and_slope": ("gelu_erf", "gelu_erf_slope"),
         "gelu_tanh_and_slope": ("gelu_tanh", "gelu_tanh_slope"), "silu_and_slope": ("silu", "silu_slope")}
#: For each of these ops (the function, which of the two it is, the other one).
PARTNERS = {name: (both, i, names[1 - i]) for both, names in PAIRS.items() for i, name in enumerate(names)}
#: Of more than so many numbers a row is sorted: to put one in its place takes long among many.
MOST_RANKED = 128
#: So many ranks are looked for one by one.
MOST_SELECTED = 8
#: Ops that only hand their argument on.
IDENTITIES = frozenset(["positive", "contiguous", "contiguous_backward", "copy_to_device"])

#: The parts of complex numbers, as they lie beside each other.
PARTS = ("real", "imag")

#: The kinds of node that are a pass by themselves.
PASSES = ("matmul", "sliding", "attention", "solver", "scatter", "running", "ranking", "selection", "transform", "random", "call")
#: What is found in memory only, once the pass that makes it is over.
APART = frozenset(["reduction", "pair", *PASSES])

#: The op that hands its first argument on once the second is there.
AFTER = "after"

#: Ops that hand their argument on and stop the program where it is not what it must be.
CHECKS = frozenset(["checked_positions"])


class Facts:
    """What is known about each node of one graph, found once."""

    def __init__(self):
        self._maps, self._pieces = {}, {}
        #: kind(node) is what a node is to the compiler: "leaf", "elementwise", "reduction", "view", "reshaped" memory, "pieces"
        #: of other arrays, one "part" of complex numbers in memory, a "pair" of parts that makes such numbers, "gather", "matmul",
        #: "sliding" windows, "attention", "scatter", "running" sums, the "ranking" of the first few, the "selection" of given
        #: ranks, a Fourier "transform", "random" numbers, a "solver" of linear algebra, the "shared" kernel of several results, or
        #: "call" for all that has no lowering and runs as a library call. It is asked ten times for each node.
        self.kind = _Kinds(self).__getitem__

    def index_map(self, node):
        """The index map of a movement node, or None."""
        if node not in self._maps:
            self._maps[node] = index_map(node.op, node.args[0].shape, node.args[1:])
        return self._maps[node]

    def pieces(self, node):
        """The pieces that a node is laid together from and what is between them; None if it is not."""
        if node not in self._pieces:
            self._pieces[node] = PIECES[node.op.name](node)
        return self._pieces[node]

    def is_tiled(self, node):
        """Whether arrays of one shape fill a node, which are then written where they stand in it."""
        return node.op is not None and self.kind(node) == "pieces" and are_tiles(node, self.pieces(node)[0])

    @staticmethod
    def gather(node):
        """(source, axis, indices, whether indices and source are paired line by line) of a node that chooses elements."""
        source, indices, axis = node.args
        return source, axis % source.ndim, indices, node.op.name == "take_along_axis"

    def memory(self, node):
        """The node whose memory holds the elements of `node` in the same order: itself, or what it is a new shape of."""
        while isinstance(node, Symbol) and self.kind(node) == "reshaped":
            node = node.args[0]
        return node

    def base(self, node):
        """The node whose memory `node` shows: itself, or what is under its views."""
        while isinstance(node, Symbol) and self.kind(node) in ("view", "part"):
            node = node.args[0]
        return self.memory(node)

    @staticmethod
    def part(node):
        """Which part of complex numbers a node of that kind is: 0 for the real one, 1 for the imaginary one."""
        return PARTS.index(node.op.name)


class _Kinds(dict):
    """The kind of each node, found when it is first asked for."""

    def __init__(self, facts):
        super().__init__()
        self._facts = facts

    def __missing__(self, node):
        self[node] = found = _kind(self._facts, node)
        return found


def _kind(facts, node):
    op = node.op
    if op is None:
        return "leaf"
    if op.broadcasts and node.size and _is_elementwise(node) and _has_elements(node):  # most nodes
        return "elementwise"
    if is_attention(node):
        return "attention"
    if is_sliding(node):
        return "sliding"
    if is_shared(node) or is_kernel(node):
        return "shared"
    if op is PICK or node.shape is None or not node.size:
        return "call"
    if is_random(node):
        return "random"
    if is_transform(node):
        return "transform"
    if op.name in PARTS and is_complex(node.args[0]) and isinstance(node.args[0], Symbol):
        return "part"
    if node.dtype.kind == "c":
        return _complex_kind(facts, node)
    if not _has_elements(node):
        return "call"
    if _is_elementwise(node):
        return "elementwise"
    if op.name in REDUCTIONS and _is_plain_reduction(node):
        return "reduction"
    if op.name == "matmul" and node.dtype.kind == "f" and all(_is_matrix(a, node.dtype) for a in node.args):
        return "matmul"
    if is_solver(node):
        return "solver"
    if op.name == "scatter_add" and scattered(node) is not None:
        return "scatter"
    if op.name in RUNNING and _is_running(node):
        return "running"
    if op.name == "top_places" and _is_ranking(node):
        return "ranking"
    if op.name == "rank_places" and _is_selection(node):
        return "selection"
    if op.name in PIECES and facts.pieces(node) is not None:
        return "pieces"
    if op.name in ("take", "take_along_axis") and _is_gather(node):
        return "gather"
    if is_movement(node) and isinstance(node.args[0], Symbol) and facts.index_map(node) is not None:
        return "view"
    if op.name == "reshape" and isinstance(node.args[0], Symbol):
        return "reshaped"
    return "call"


def _complex_kind(facts, node):
    """The kind of a node that makes complex numbers."""
    op = node.op
    if op.name == "complex":
        return "pair"
    if op.name in RUNNING and _is_running(node):
        return "running"
    if op.name != "reshape" or not isinstance(node.args[0], Symbol):
        return "call"
    return "reshaped" if facts.index_map(node) is None else "view"


def _is_gather(node):
    source, indices, axis = node.args
    return isinstance(source, Symbol) and hasattr(indices, "shape") and axis is not None and indices.dtype.kind in "iu"


def are_within(positions, size):
    """Whether positions are constants that count from the front and lie in an axis of so many elements."""
    if not isinstance(positions, np.ndarray):
        return False
    return not positions.size or (positions.min() >= 0 and positions.max() < size)


def scattered(node):
    """(what is added, the positions, along which axis) of a node that adds lines at positions along one axis; None of others."""
    x, shape, index = node.args
    index = index if isinstance(index, tuple) else (index,)
    axis = len(index) - 1
    is_plain = axis >= 0 and all(isinstance(i, slice) and i == slice(None) for i in index[:-1])
    if not is_plain or not hasattr(index[-1], "dtype") or name_of(index[-1].dtype) not in ("int32", "int64"):
        return None
    fits = node.dtype.kind == "f" and getattr(x, "dtype", None) == node.dtype
    fits = fits and x.shape == (*shape[:axis], *index[-1].shape, *shape[axis + 1 :])
    return (x, index[-1], axis) if fits else None


def _is_running(node):
    axis, operands = node.args[len(node.op.operands)], operands_of(node.op, node.args)
    has_dtypes = node.dtype.kind in "fc" and all([getattr(x, "dtype", None) == node.dtype for x in operands])
    return axis is not None and node.ndim > 0 and has_dtypes and any([isinstance(x, Symbol) for x in operands])


def _is_ranking(node):
    x, ranked, axis, _ = node.args
    is_plain = isinstance(x, Symbol) and name_of(x.dtype) in ("float32", "float64") and axis % x.ndim == x.ndim - 1
    return is_plain and ranked <= MOST_RANKED


def _is_selection(node):
    x, ranks = node.args
    has_ranks = hasattr(ranks, "shape") and ranks.dtype == np.int64 and ranks.size > 0
    is_plain = has_ranks and isinstance(x, Symbol) and name_of(x.dtype) in ("float32", "float64") and x.size < 1 << 31
    # Each rank takes some passes over its row; many are found faster in the whole order.
    return is_plain and ranks.shape[-1] <= MOST_SELECTED and ranks.shape in (ranks.shape[-1:], (*x.shape[:-1], ranks.shape[-1]))


def _is_matrix(argument, dtype):
    return hasattr(argument, "ndim") and argument.ndim >= 2 and argument.dtype == dtype


def is_checked(node):
    """Whether a node is positions that are in range, or else its own step has failed."""
    return isinstance(node, Symbol) and node.op is not None and node.op.name in CHECKS


def is_emittable(op):
    """Whether the code generator knows the op: by its own `emit`, or by the operation of the same name."""
    return op.emit is not None or op.name in EMITTED


def _is_elementwise(node):
    """Whether a loop can compute the node."""
    op = node.op
    if op.name == "astype" or op.name in IDENTITIES:
        return True
    return op.broadcasts and is_emittable(op) and (op.name not in OF_FLOATS or node.dtype.kind == "f")


def operation_key(op):
    """What the code of an op on one element depends on: its name, and for ops of users their `emit` itself."""
    code = getattr(op.emit, "__code__", None)
    if code is None or op.emit.__module__.startswith("retrograde."):
        return op.name
    return op.name, code.co_code.hex(), repr(code.co_consts), code.co_names


def _has_elements(node):
    """Whether kernels can compute in all dtypes that a node meets."""
    return name_of(node.dtype) in ELEMENTS and all([_is_computed(a, node.dtype) for a in node.args])


def _is_computed(argument, known):
    """Whether kernels can compute with an argument, whose dtype is often that of its node, which is `known`."""
    if argument.__class__ in (tuple, list):
        return all([_is_computed(a, known) for a in argument])
    if not hasattr(argument, "dtype") or isinstance(argument, type):
        return argument.__class__ is not complex
    return argument.dtype is known or name_of(argument.dtype) in ELEMENTS


def start_of(name, dtype):
    """Where a reduction over numbers of `dtype` starts, as a number of Python's."""
    start = REDUCTIONS[name][1]
    if np.dtype(dtype).kind == "f":
        return float(start)
    limits = np.iinfo(dtype) if np.isinf(start) else None
    return int(start) if limits is None else limits.max if start > 0 else limits.min


def _is_plain_reduction(node):
    named, x = dict(zip(node.op.arguments, node.args, strict=True)), node.args[0]
    kinds = "b" if node.op.name in ("any", "all") else "fi"
    return x.dtype == node.dtype and node.dtype.kind in kinds and named.get("where") is None and x.size > 0
