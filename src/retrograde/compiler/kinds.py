"""Kinds: the list of all that the compiler can do with a node, and what is known of the nodes of one graph."""

from ..core.symbol import Symbol
from .graph.views import index_map
from .index.pieces import PIECES
from .kernels.attention import ATTENTION
from .kernels.cached_attention import CachedAttention
from .kernels.convolution import Convolution
from .kernels.fourier import Fourier
from .kernels.inline import After, Elementwise, Gather, Leaf, Part, Pieces, Reshaped, Rounded, Several, View, Widened
from .kernels.library import Library, Repeated
from .kernels.linalg import LinearAlgebra
from .kernels.loops import Pair, Reduction
from .kernels.matmul import Matmul
from .kernels.pooling import Pooling
from .kernels.positions import FirstPlaces, Written
from .kernels.quantized import QuantizedMatmul, QuantizedProduct, Unpacking
from .kernels.random import Random
from .kernels.ranking import Ranking
from .kernels.running import Running
from .kernels.scatter import Scatter
from .kernels.selection import Selection

_LEAF, _ELEMENTWISE, _LIBRARY, _POOLING = Leaf(), Elementwise(), Library(), Pooling()
#: All kinds but those of leaves, of elementwise ops, whatever they are called, and of ops that nothing else knows. The ops of most
#: kinds are theirs alone; of an op of several, the first one here that `matches` has the node: a sum at positions is a kernel if it
#: has the form that this knows, else pieces if they never meet; a new shape is a view if it can be.
KINDS = (
    After(), Widened(), Rounded(), Reduction(), Matmul(), View(), Reshaped(), Gather(), Scatter(), Pieces(), Part(), Pair(),
    ATTENTION, Convolution(), _POOLING, LinearAlgebra(), Running(), Ranking(), Selection(), Fourier(), Random(),
    QuantizedProduct(), QuantizedMatmul(), Unpacking(), CachedAttention(), Written(), FirstPlaces(),
    Repeated(), Several(ATTENTION), Several(_POOLING))


def _by_op(kinds):
    """For the name of each op, the kinds that a node of it may be of, in order."""
    found = {}
    for kind in kinds:
        for name in kind.ops:
            found.setdefault(name, []).append(kind)
    return found


_BY_OP = _by_op(KINDS)


class Facts:
    """What is known about each node of one graph, found once."""

    def __init__(self):
        self._maps, self._pieces = {}, {}
        #: kind(node) is what a node is to the compiler, as `Kind`. It is asked ten times for each node.
        self.kind = _Kinds(self).__getitem__

    def index_map(self, node):
        """The index map of a movement node, or None."""
        if node not in self._maps:
            self._maps[node] = index_map(node.op, node.args[0].shape, node.args[1:])
        return self._maps[node]

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
        self._facts = facts

    def __missing__(self, node):
        self[node] = found = _kind(self._facts, node)
        return found


def _kind(facts, node):
    if node.op is None:
        return _LEAF
    # By name first: of some twenty kinds one or two are asked for a node.
    for kind in _BY_OP.get(node.op.name, ()):
        if kind.matches(node, facts):
            return kind
    return _ELEMENTWISE if node.shape is not None and _ELEMENTWISE.matches(node, facts) else _LIBRARY
