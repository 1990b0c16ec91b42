"""Kinds: the list of all that the compiler can do with a node, and what is known of the nodes of one graph."""

from functools import cache
from importlib import import_module
from typing import NamedTuple

from ..core.symbol import Symbol
from .graph.signatures import Signatures
from .graph.views import index_map
from .index.pieces import PIECES
from .kernels.inline import Elementwise, Leaf, Several
from .kernels.kernel import source
from .kernels.library import Library

_LEAF, _ELEMENTWISE, _SEVERAL, _LIBRARY = Leaf(), Elementwise(), Several(), Library()


class Entry(NamedTuple):
    """A kind by the file and the name of its class, and the names of the ops whose nodes may be of it. The file is loaded when such
    a node is first met: few programs have nodes of many kinds.
    """

    file: str
    name: str
    ops: tuple

    @property
    def kind(self):
        """The kind, of which there is one."""
        return _kind_at(self.file, self.name)


@cache
def _kind_at(file, name):
    return getattr(import_module(f"{__package__}.kernels.{file}"), name)()


#: All kinds but those of leaves, of elementwise ops, whatever they are called, and of ops that nothing else knows. The ops of most
#: kinds are theirs alone; of an op of several, the first one here that `matches` has the node: a sum at positions is a kernel if it
#: has the form that this knows, else pieces if they never meet; a new shape is a view if it can be.
KINDS = (
    Entry("inline", "After", ("after",)),
    Entry("inline", "Widened", ("astype",)),
    Entry("inline", "Rounded", ("rounded",)),
    Entry("loops", "Reduction", ("sum", "prod", "max", "min", "any", "all")),
    Entry("matmul", "Matmul", ("matmul",)),
    Entry("integer_matmul", "IntegerMatmul", ("integer_matmul",)),
    Entry("inline", "View", ("reshape", "permute_dims", "transpose", "broadcast_to", "flip", "expand_dims", "squeeze", "moveaxis",
                             "shrink", "getitem", "unfold")),
    Entry("inline", "Reshaped", ("reshape",)),
    Entry("inline", "Gather", ("take", "take_along_axis")),
    Entry("scatter", "Scatter", ("scatter_add",)),
    Entry("inline", "Pieces", ("pad", "concatenate", "stack", "scatter_add")),
    Entry("inline", "Part", ("real", "imag")),
    Entry("loops", "Pair", ("complex",)),
    Entry("attention", "Attention", ("attention_with_sums", "attention_backward")),
    Entry("winograd", "Winograd", ("conv2d", "conv2d_input", "conv2d_weight")),
    Entry("convolution", "Convolution", ("conv2d", "conv2d_input", "conv2d_weight")),
    Entry("pooling", "Pooling", ("max_pool2d_with_taps", "max_pool2d_input", "avg_pool2d", "avg_pool2d_input")),
    Entry("linalg", "LinearAlgebra", ("cholesky", "cholesky_gradient", "solve_triangular", "lu_factor", "lu_solve")),
    Entry("running", "Running", ("cumsum", "cumprod", "cumsum_from_end", "linear_recurrence")),
    Entry("ranking", "Ranking", ("top_indices",)),
    Entry("selection", "Selection", ("rank_indices",)),
    Entry("fourier", "Fourier", ("transform_axes", "inverse_transform_axes", "real_transform", "inverse_real_transform")),
    Entry("random", "Random", ("random_mask", "random_bits", "random_uniform", "random_normal", "random_integers")),
    Entry("quantized", "QuantizedProduct", ("quantized_linear",)),
    Entry("quantized", "IntegerProduct", ("quantized_linear",)),
    Entry("quantized", "QuantizedMatmul", ("quantized_linear", "quantized_linear_input")),
    Entry("quantized", "Unpacking", ("dequantize",)),
    Entry("cached_attention", "CachedAttention", ("cached_attention",)),
    Entry("positions", "Written", ("set_at",)),
    Entry("row_updates", "RowUpdate", ("put_rows",)),
    Entry("row_updates", "SumAlongPlaces", ("sum_along_places",)),
    Entry("positions", "FirstPlaces", ("first_places",)),
    Entry("positions", "NextPlaces", ("next_places",)),
    Entry("exchange", "Begun", ("begin_means",)),
    Entry("exchange", "Finished", ("finish_means",)),
    Entry("library", "InPlace", ("finish_means",)),
    Entry("library", "Repeated", ("loop",)),
)


def _by_op(kinds):
    """For the name of each op, the kinds that a node of it may be of, in order."""
    found = {}
    for entry in kinds:
        for name in entry.ops:
            found.setdefault(name, []).append(entry)
    return found


_BY_OP = _by_op(KINDS)


class Facts:
    """What is known about each node of one graph, found once."""

    def __init__(self):
        self.signatures, self._maps, self._pieces = Signatures(), {}, {}
        self._kinds = _Kinds(self)
        #: kind(node) is what a node is to the compiler, as `Kind`. It is asked ten times for each node.
        self.kind = self._kinds.__getitem__

    def hand_on(self, made):
        """Know of nodes what is known of those that they stand for, by these: they were made anew with operands of the same shapes
        and dtypes, and what a node is depends on nothing else.
        """
        for node, new in made.items():
            if new is not node:
                for known in (self.signatures, self._kinds):
                    if node in known:
                        known[new] = known[node]

    def index_map(self, node):
        """The index map of a movement node, or None."""
        signature, _ = self.signatures[node]
        if signature not in self._maps:
            self._maps[signature] = index_map(node.op, node.args[0].shape, node.args[1:])
        return self._maps[signature]

    def pieces(self, node):
        """The pieces that a node is joined from and what is between them; None if it is not."""
        if node not in self._pieces:
            self._pieces[node] = PIECES[node.op.name](node)
        return self._pieces[node]

    @staticmethod
    def gather(node):
        """(source, axis, indices, whether indices and source are paired line by line) of a node that chooses elements."""
        source, indices, axis = node.args
        return source, axis % source.ndim, indices, node.op.name == "take_along_axis"

    def memory(self, node):
        """The node whose memory holds the elements of `node` in the same order: itself, or what it is a new shape of."""
        while isinstance(node, Symbol) and (below := self.kind(node).unshaped(node)) is not None:
            node = below
        return node

    def base(self, node):
        """The node whose memory `node` shows: itself, or what is under its views."""
        while isinstance(node, Symbol) and (below := self.kind(node).viewed(node)) is not None:
            node = below
        return self.memory(node)


class _Kinds(dict):
    """The kind of each node, found when it is first asked for."""

    def __init__(self, facts):
        super().__init__()
        self._facts, self._by_signature = facts, {}

    def __missing__(self, node):
        if node.op is None:
            found = _LEAF
        else:
            # One of several results is of the kind of the node that it is a result of.
            of = source(node)
            key = self._facts.signatures[of][0], node.shape is None
            found = self._by_signature.get(key)
            if found is None:
                found = self._by_signature[key] = _kind(self._facts, node, of)
        self[node] = found
        return found


def _kind(facts, node, of):
    if of.op is None:
        return _LIBRARY
    # By name first: of some thirty kinds one or two are asked for a node.
    for entry in _BY_OP.get(of.op.name, ()):
        kind = entry.kind
        if kind.matches(of, facts):
            return _SEVERAL if node.shape is None and kind.has_several else kind
    return _ELEMENTWISE if node.shape is not None and _ELEMENTWISE.matches(node, facts) else _LIBRARY
