"""Reading and writing at positions in PyTorch's spelling: gather, scatter, index_add and their like."""

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError
from ..ops.axes import finding
from ..ops.elementary.comparisons import where as choose
from ..ops.manipulation import gathering, grids, movements, scattering, selections
from ..shapes import one_axis
from . import kinds
from .differing import scalars
from .kinds import operand
from .shapes import checked_index


def gather(input, dim, index, *, sparse_grad=False):
    """The elements at the positions `index` along `dim`."""
    if not index.numel():
        return movements.reshape(movements.reshape(operand(input), -1)[:0], tuple(index.shape))
    if not input.ndim or not index.ndim:
        found = gather(movements.reshape(input, (-1,)), dim, movements.reshape(index, (-1,)))
        return movements.reshape(found, tuple(index.shape))
    return scattering.gather(operand(input), checked_index(index), dim)


def take_along_dim(input, indices, dim=None):
    """The elements at `indices` along `dim`, which is broadcast to the other axes."""
    return gathering.take_along_axis(operand(input), indices, dim) if dim is not None else take(
        input, movements.reshape(indices, -1))


def take(input, index):
    """The elements at positions of the flattened tensor, in the shape of `index`."""
    return gathering.take(movements.reshape(operand(input), -1), checked_index(index), 0)


@scalars
def index_select(input, dim, index):
    """The slices at the positions `index` along `dim`."""
    return gathering.take(operand(input), checked_index(index), dim if input.ndim else None)


def masked_select(input, mask):
    """The elements where `mask` is true, one after the other."""
    input, mask = grids.broadcast_arrays(operand(input), mask)
    return selections.getitem(input, mask)


def masked_fill(input, mask, value):
    """`value` where `mask` is true."""
    return grids.masked_fill(operand(input), mask, _like(value, input))


def masked_scatter(input, mask, source):
    """The elements of `source`, in turn, where `mask` is true."""
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    mask = movements.broadcast_to(mask, shape)
    count = int(mask.sum())
    return selections.set_at(movements.broadcast_to(operand(input), shape), movements.reshape(source, -1)[:count], mask)


@scalars
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """The elements of `src`, or one value, written to the positions `index` along `dim`."""
    src = value if src is None else src
    if reduce is not None:
        reduce = {"add": "sum", "multiply": "prod"}.get(reduce)
        if reduce is None:
            raise ArgumentError('reduce must be "add" or "multiply"; for others use scatter_reduce')
        src = src if isinstance(src, Value) else np.full(index.shape, src, input.dtype)
        return scattering.scatter_reduce(operand(input), src, checked_index(index), dim, reduce)
    return scattering.scatter(operand(input), _like(src, input), checked_index(index), dim)


@scalars
def scatter_add(input, dim, index, src):
    """The elements of `src` added at the positions `index` along `dim`."""
    return scattering.scatter_reduce(operand(input), src, checked_index(index), dim, "sum")


@scalars
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """The elements of `src` joined to those at the positions `index`, by "sum", "prod", "mean", "amax" or "amin"."""
    reduce, index = {"amax": "max", "amin": "min"}.get(reduce, reduce), checked_index(index)
    if reduce == "mean" and input.dtype.kind in "iu":
        # Means of integers are rounded down, and have all digits of theirs.
        total = scattering.scatter_reduce(operand(input), src, index, dim, "sum", include_self)
        count = scattering.scatter_reduce(np.full(input.shape, int(include_self)), np.ones(src.shape, int), index, dim, "sum")
        return (total // count.clip(1)).astype(input.dtype)
    found = scattering.scatter_reduce(operand(input), src, index, dim, reduce, include_self)
    return found if found.dtype == input.dtype else found.astype(input.dtype)


@scalars
def index_add(input, dim, index, source, *, alpha=1):
    """The slices of `source` added to those at the positions `index` along `dim`."""
    index = checked_index(index)
    shape = [1] * input.ndim
    shape[one_axis(dim, input.ndim)] = -1
    places = movements.broadcast_to(movements.reshape(index, tuple(shape)), tuple(source.shape))
    return scatter_add(input, dim, places, source if alpha == 1 else source * alpha)


@scalars
def index_copy(input, dim, index, source):
    """The slices of `source` in place of those at the positions `index` along `dim`."""
    return selections.set_at(operand(input), source, (*(slice(None),) * one_axis(dim, input.ndim), checked_index(index)))


@scalars
def index_fill(input, dim, index, value):
    """One value in the slices at the positions `index` along `dim`."""
    return selections.set_at(operand(input), _like(value, input), (*(slice(None),) * one_axis(dim, input.ndim),
                                                                   checked_index(index)))


def index_put(input, indices, values, accumulate=False):
    """`values` at the positions that the `indices`, one tensor for each axis, pair; added to what is there, if asked for."""
    input, index = operand(input), tuple(indices)
    if not accumulate:
        return selections.set_at(input, _like(values, input), index)
    # A mask stands for the positions where it holds, one array for each of its axes.
    index = tuple([part for i in index for part in (i.nonzero(as_tuple=True) if i.dtype == np.bool_ else (i,))])
    values = movements.broadcast_to(_like(values, input),
                                    np.broadcast_shapes(*[i.shape for i in index]) + tuple(input.shape[len(index):]))
    return input + selections.scatter_add(values, tuple(input.shape), index)


def _like(x, input):
    """A number or a tensor, in the dtype of `input`."""
    if isinstance(x, Value):
        return x if x.dtype == input.dtype else x.astype(input.dtype)
    return np.asarray(x, input.dtype)


def where(condition, input=None, other=None):
    """`input` where the condition holds and `other` where it does not; of the condition alone, the positions where it holds."""
    if input is None and other is None:
        return tuple([kinds.tensor_of(x) for x in operand(condition).nonzero(as_tuple=True)])
    x, y = kinds.promoted(input, other)
    if not isinstance(x, Value) and not isinstance(y, Value):
        dtype = kinds.result_type(x, y)
        x = kinds.arrays.made(np.asarray(x, dtype), None, kinds.TorchTensor.kind)
    return choose(operand(condition, "condition"), x, y)


def isin(elements, test_elements, *, invert=False):
    """Which of the elements are among others."""
    other = test_elements.numpy() if isinstance(test_elements, Value) else np.asarray(test_elements)
    return kinds.arrays.made(np.isin(operand(elements).numpy(), other, invert=invert), None, kinds.TorchTensor.kind)


def argwhere(input):
    """The positions of the elements that are not 0, a row for each."""
    return operand(input).nonzero()


def count_nonzero(input, dim=None):
    """How many elements are not 0."""
    return finding.count_nonzero(operand(input), dim)


def select_scatter(input, src, dim, index):
    """`src` in place of the slice at `index` along `dim`."""
    return selections.set_at(operand(input), src, (*(slice(None),) * one_axis(dim, input.ndim), index))
