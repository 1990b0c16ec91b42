"""Functions of shape in PyTorch's spelling: what tiles, splits, joins, views and moves axes."""

from math import prod

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.manipulation import joins, movements, patches, repetition, selections
from ..shapes import one_axis, unpacked
from . import kinds
from .kinds import operand


class Size(tuple):
    """The shape of a tensor.

    >>> import retrograde.torch as torch
    >>> torch.zeros(2, 3).shape, torch.zeros(2, 3).shape.numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self):
        """The number of elements."""
        return prod(self)

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return Size(found) if index.__class__ is slice else found

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __mul__(self, count):
        return Size(tuple.__mul__(self, count))


def repeat(input, *repeats):
    """The tensor laid side by side, `repeats` times along each axis, new ones in front."""
    repeats = unpacked(repeats)
    if len(repeats) < input.ndim:
        raise ShapeError(f"repeat needs a number for each of {input.ndim} axes, got {repeats}")
    return repetition.tile(operand(input), tuple(map(int, repeats)))


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each element, or each slice along `dim`, repeated."""
    if isinstance(repeats, Value):
        repeats = int(repeats) if repeats.ndim == 0 else repeats.tolist()
    return repetition.repeat(operand(input), repeats, dim)


def split(tensor, split_size_or_sections, dim=0):
    """Pieces of one length, the last of which may be shorter, or of the lengths that are given."""
    tensor, sizes = operand(tensor, "tensor"), split_size_or_sections
    length = tensor.shape[one_axis(dim, tensor.ndim)]
    if isinstance(sizes, (list, tuple)):
        if sum(sizes) != length:
            raise ShapeError(f"split needs lengths that sum to {length}, the length of axis {dim}, got {list(sizes)}")
        places = [sum(sizes[:i]) for i in range(1, len(sizes))]
        return repetition.split(tensor, places, dim)
    if sizes < 1:
        raise ArgumentError(f"split needs a length of at least 1, got {sizes}")
    return repetition.split(tensor, list(range(sizes, length, sizes)), dim)


def chunk(input, chunks, dim=0):
    """At most `chunks` pieces of one length, the last of which may be shorter."""
    if chunks < 1:
        raise ArgumentError(f"chunk needs at least 1 piece, got {chunks}")
    length = operand(input).shape[one_axis(dim, input.ndim)]
    return split(input, max(-(-length // chunks), 1), dim)


def tensor_split(input, indices_or_sections, dim=0):
    """So many pieces, of nearly equal lengths, or pieces that end at the positions that are given."""
    input, parts = operand(input), indices_or_sections
    parts = parts.tolist() if isinstance(parts, Value) else parts
    if isinstance(parts, int):
        length = input.shape[one_axis(dim, input.ndim)]
        few, more = divmod(length, parts)
        parts = [i * few + min(i, more) for i in range(1, parts)]
    return repetition.split(input, list(parts), dim)


def unbind(input, dim=0):
    """The slices along `dim`."""
    input = operand(input)
    whole = (slice(None),) * one_axis(dim, input.ndim)
    return tuple([selections.getitem(input, (*whole, i)) for i in range(input.shape[len(whole)])])


def _all_alike(tensors):
    tensors = [operand(t, "each of the tensors") for t in tensors]
    if not tensors:
        raise ArgumentError("at least one tensor is needed, got an empty list")
    dtype = kinds.result_type(*tensors)
    return [t if t.dtype == dtype else t.astype(dtype) for t in tensors]


def cat(tensors, dim=0, *, axis=None):
    """The tensors one after the other along `dim`; those of shape (0,) count for nothing."""
    tensors = _all_alike(tensors)
    kept = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return joins.concatenate(kept, dim if axis is None else axis)


def stack(tensors, dim=0, *, axis=None):
    """The tensors side by side along a new axis."""
    return joins.stack(_all_alike(tensors), dim if axis is None else axis)


def at_least(input, ndim):
    """`input` with axes of length 1 in front, until there are `ndim`."""
    return input if input.ndim >= ndim else movements.reshape(input, (1,) * (ndim - input.ndim) + tuple(input.shape))


def atleast_1d(*tensors):
    """Each tensor with one axis at least."""
    return _each(tensors, lambda t: at_least(t, 1))


def atleast_2d(*tensors):
    """Each tensor with two axes at least."""
    return _each(tensors, lambda t: at_least(t, 2))


def atleast_3d(*tensors):
    """Each tensor with three axes at least; a matrix becomes rows of columns of one."""
    return _each(tensors, lambda t: t if t.ndim > 2 else at_least(movements.expand_dims(at_least(t, 2), 2), 3) if t.ndim == 2
                 else movements.reshape(t, (1, -1, 1)))


def _each(tensors, function):
    found = tuple([function(operand(t)) for t in unpacked(tensors)])
    return found[0] if len(tensors) == 1 and isinstance(tensors[0], Value) else found


def hstack(tensors):
    """The tensors one after the other along the second axis, vectors along their only one."""
    tensors = atleast_1d(*tensors) if len(tensors) > 1 else (at_least(tensors[0], 1),)
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors):
    """The tensors one below the other."""
    return cat([at_least(operand(t), 2) for t in tensors], 0)


def column_stack(tensors):
    """Vectors as the columns of a matrix, beside the columns of matrices."""
    return cat([movements.reshape(t, (-1, 1)) if operand(t).ndim < 2 else t for t in tensors], 1)


def view(input, *shape):
    """The tensor in another shape, or its bits as another type."""
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list)):
        return operand(input).bitcast(shape[0])
    return movements.reshape(input, unpacked(shape))


def reshape(input, *sizes, shape=None):
    """The tensor in another shape."""
    return movements.reshape(operand(input), unpacked(sizes) if shape is None else tuple(shape))


def expand(input, *sizes, size=None, implicit=False):
    """The tensor repeated, without a copy, to fill a shape; -1 keeps the length of an axis."""
    sizes = unpacked(sizes) if size is None else tuple(size)
    lead = len(sizes) - input.ndim
    return movements.broadcast_to(operand(input), tuple([
        input.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(sizes)]))


def permute(input, *axes, dims=None):
    """The axes in another order."""
    return movements.permute_dims(operand(input), unpacked(axes) if dims is None else tuple(dims))


def squeeze(input, dim=None):
    """The tensor without its axes of length 1, or without those of `dim` that are."""
    input = operand(input)
    if dim is None:
        return movements.squeeze(input)
    dims = [one_axis(d, max(input.ndim, 1)) for d in (dim if isinstance(dim, (list, tuple)) else (dim,))]
    return movements.reshape(input, tuple([n for i, n in enumerate(input.shape) if n != 1 or i not in dims]))


def flatten(input, start_dim=0, end_dim=-1):
    """The axes from `start_dim` to `end_dim` as one."""
    input = operand(input)
    if not input.ndim:
        return movements.reshape(input, (1,))
    first, last = one_axis(start_dim, input.ndim), one_axis(end_dim, input.ndim)
    if first > last:
        raise ArgumentError(f"start_dim must not come after end_dim, got {start_dim} and {end_dim}")
    shape = tuple(input.shape)
    return movements.reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(input, dim, sizes):
    """The axis `dim` as several, of `sizes`, of which one may be -1."""
    input = operand(input)
    axis, shape = one_axis(dim, input.ndim), tuple(input.shape)
    known = prod([n for n in sizes if n != -1])
    sizes = [shape[axis] // known if n == -1 and known else n for n in sizes]
    if prod(sizes) != shape[axis]:
        raise ShapeError(f"an axis of {shape[axis]} elements cannot be unflattened to {tuple(sizes)}")
    return movements.reshape(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def t(input):
    """A matrix transposed; a vector as it is."""
    input = operand(input)
    if input.ndim > 2:
        raise ShapeError(f"t() takes at most two axes, got shape {tuple(input.shape)}; use transpose(dim0, dim1)")
    return input if input.ndim < 2 else movements.transpose(input, 0, 1)


def transpose(input, dim0, dim1):
    """Two axes exchanged."""
    return movements.transpose(operand(input), dim0, dim1) if input.ndim else operand(input)


def select(input, dim, index):
    """The slice at `index` along `dim`, without that axis."""
    input = operand(input)
    return selections.getitem(input, (*(slice(None),) * one_axis(dim, input.ndim), index))


def narrow(input, dim, start, length):
    """`length` slices along `dim`, from `start` on."""
    input = operand(input)
    axis = one_axis(dim, input.ndim)
    start = int(start) + (input.shape[axis] if int(start) < 0 else 0)
    if not 0 <= start <= start + length <= input.shape[axis]:
        raise ShapeError(f"narrow needs start and length within {input.shape[axis]}, got {start} and {length}")
    return selections.getitem(input, (*(slice(None),) * axis, slice(start, start + length)))


def roll(input, shifts, dims=None):
    """The elements moved on by `shifts` along `dims`, those at the end to the beginning."""
    return repetition.roll(operand(input), shifts if isinstance(shifts, int) else tuple(shifts), dims if dims is None or isinstance(
        dims, int) else tuple(dims))


def flip(input, *axes, dims=None):
    """The elements along `dims` in the opposite order."""
    dims = unpacked(axes) if dims is None else dims
    return movements.flip(operand(input), tuple(dims)) if input.ndim else input


def movedim(input, source, destination):
    """Axes moved to other places."""
    return movements.moveaxis(operand(input), source, destination)


def unfold(input, dimension, size, step):
    """Windows of `size` elements along an axis, `step` apart, as a last axis; a single number is one window."""
    input = operand(input)
    return patches.unfold(input, dimension, size, step) if input.ndim else unfold(input.reshape(1), dimension, size, step)[0]


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices in the axes `dim1` and `dim2` whose diagonals are the last axis of `input`."""
    input = operand(input)
    count = input.shape[-1] + abs(offset)
    places = np.arange(input.shape[-1])
    blank = np.zeros((*input.shape[:-1], count, count), input.dtype)
    made = selections.set_at(blank, input, (..., places + max(-offset, 0), places + max(offset, 0)))
    return movements.moveaxis(made, (-2, -1), (dim1, dim2))


def tile(input, *sizes, dims=None):
    """The tensor laid side by side, by numbers for its last axes, and for new ones in front."""
    dims = unpacked(sizes) if dims is None else dims
    return repetition.tile(operand(input), (1,) * (input.ndim - len(dims)) + tuple(dims))


def broadcast_tensors(*tensors):
    """The tensors, repeated without a copy to one shape."""
    return tuple([movements.broadcast_to(operand(t), broadcast_shapes(*[t.shape for t in tensors])) for t in tensors])


def broadcast_shapes(*shapes):
    """The shape to which these are broadcast."""
    found: list[int] = []
    for shape in [(s,) if isinstance(s, int) else tuple(s) for s in shapes]:
        wide, found = max(len(shape), len(found)), [1] * (len(shape) - len(found)) + found
        for i, n in enumerate((1,) * (wide - len(shape)) + shape):
            if n != found[i] and 1 not in (n, found[i]):
                raise ShapeError(f"shapes must be equal, or 1, axis by axis from the last, got {list(shapes)}")
            found[i] = n if found[i] == 1 else found[i]
    return Size(found)


def checked_index(index):
    """An index tensor as ops take it; raises for one that is none."""
    if isinstance(index, Value) and index.dtype.kind not in "iu":
        raise DTypeError(f"index must be a tensor of integers, got {index.dtype}")
    return index
