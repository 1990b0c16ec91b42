"""Sliding windows: which nodes are convolutions and pooling that the compiler has kernels for, and what they read and cost."""

import math

import numpy as np

from ..core.symbol import Symbol
from ..ops._convolving import Geometry
from ..ops._pooling import Windows
from ..shapes import row_major
from .places import Places
from .trace import PICK

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])


def is_sliding(node):
    """Whether there is a kernel for a node."""
    if node.op is PICK:
        return is_shared(node.args[0])
    is_known = node.op.name in _GEOMETRIES or node.op.name in _WINDOWS
    return is_known and node.shape is not None and node.size > 0 and _has_kernel(node)


def is_shared(node):
    """Whether a node stands for several results of one kernel."""
    return node.op is not PICK and node.shape is None and node.op.name in _WINDOWS and _has_kernel(node)


def _has_kernel(node):
    first, *others = operands = operands_of(node)
    if node.op.name in _GEOMETRIES:
        has_dtypes = all([a.dtype == first.dtype and a.size > 0 for a in others])
    else:
        has_dtypes = all([a.dtype == np.uint8 for a in others]) and _places(windows_of(node)) <= _MOST_PLACES
    is_known = all([isinstance(a, np.ndarray) for a in operands])
    return first.dtype in _FLOATS and first.size > 0 and not is_known and has_dtypes


def _places(windows):
    return windows.kernel[0] * windows.kernel[1]


def memory_of(node, facts):
    """The nodes whose memory the kernel of a node reads: convolutions read through views, but images whose neighbours lie apart are
    brought together first.
    """
    operands = operands_of(node)
    images = () if not is_convolution(node) else operands if node.op.name == "conv2d_weight" else operands[:1]
    read = facts.base if is_convolution(node) else facts.memory
    apart = [id(a) for a in images if isinstance(a, Symbol) and _lies_apart(a, facts)]
    return [a if id(a) in apart else read(a) for a in operands if isinstance(a, Symbol)]


def _lies_apart(image, facts):
    """Whether an image is a view in which the numbers of a row do not follow each other, nor are every other number."""
    if image.op is None or facts.kind(image) != "view":
        return False
    places, node = Places(image.shape), image
    place = places.start
    while node.op is not None and facts.kind(node) == "view":
        place, node = places.moved(facts.index_map(node), place), node.args[0]
    step = sum([stride * along[-1] for stride, (_, along) in zip(row_major(node.shape), places[place], strict=True)])
    return abs(step) > _MOST_APART and image.shape[-1] > 1


def operands_of(node):
    """The arrays that the kernel of a node reads."""
    return [a for a in source_of(node).args[:3] if hasattr(a, "dtype")]


def source_of(node):
    """The node that a kernel is for: of one of several results, what they are results of."""
    return node.args[0] if node.op is PICK else node


def is_convolution(node):
    """Whether a kernel is one of a convolution, rather than of pooling."""
    return source_of(node).op.name in _GEOMETRIES


def geometry_of(node):
    """The sizes of a convolution."""
    named = dict(zip(node.op.arguments, node.args, strict=True))
    shapes = [getattr(named[name], "shape", named[name]) for name in _GEOMETRIES[node.op.name]]
    return Geometry.of(*shapes, *[named[name] for name in ("stride", "padding", "dilation", "groups")])


def windows_of(node):
    """The windows of pooling."""
    named = dict(zip(node.op.arguments, node.args, strict=True))
    shape = named.get("shape", node.args[0].shape)
    names = ("kernel_size", "stride", "padding")
    return Windows.of(shape, *[named[name] for name in names], named.get("dilation", 1), named["ceil_mode"])


def flops_of(node):
    """Floating point operations of the kernel of a node."""
    node = source_of(node)
    if node.op.name in _GEOMETRIES:
        geometry = geometry_of(node)
        return 2 * geometry.batch * geometry.outputs * geometry.depth * geometry.result[0] * geometry.result[1]
    return math.prod(windows_of(node).shape)


#: For each convolution, what stands for the shapes of its input and of its weight: an argument, or the shape itself.
_GEOMETRIES = {"conv2d": ("x", "weight"), "conv2d_input": ("shape", "weight"), "conv2d_weight": ("x", "shape")}
_WINDOWS = frozenset(["max_pool2d_with_taps", "max_pool2d_input", "avg_pool2d", "avg_pool2d_input"])
#: Rows are laid out in vectors of numbers that are so far from each other.
_MOST_APART = 2
#: Places in a window are kept as bytes, and each is written out.
_MOST_PLACES = 100
