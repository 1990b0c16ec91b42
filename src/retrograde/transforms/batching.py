"""Batching: how an op works on many examples at once, by its family or by its name.

A rule is handed the op, its arguments, of which some are `Batched`, and the shape of the result for one example. It returns the
results with the axis of examples in front, or None where it knows no way; then the op's parts are batched, or it is called in
a loop.
"""

from math import prod
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from ..compiler.graph.infer import stand_in
from ..core.dispatch import plain
from ..dtypes import without_promotion
from ..ops.linalg.contractions import contract, matmul
from ..ops.manipulation.joins import stack
from ..ops.manipulation.movements import broadcast_to, expand_dims, matrix_transpose, moveaxis, reshape, squeeze
from ..ops.manipulation.selections import fitting


class Batched(NamedTuple):
    """An argument with a leading axis of examples."""

    value: Any

    @property
    def ndim(self):
        """The number of axes of one example."""
        return self.value.ndim - 1


def batched(op, args, shape):
    """The results of `op` for all examples, or None where no rule applies."""
    rule = _BY_NAME.get(op.name) or (_elementwise if op.broadcasts else _BY_FAMILY.get(op.family))
    if rule is None or op.name in _WITHOUT:
        return None
    has_own_parameters = any([_is_batched(a) for i, a in enumerate(args) if i not in op.operands])
    return None if has_own_parameters and rule not in _OF_POSITIONS else rule(op, args, shape)


def looped(op, args, count):
    """The results of `op`, called for one example after the other."""
    found = [op.call(*[example(a, i) for a in args]) for i in range(count)]
    return tuple([stack(list(column)) for column in zip(*found, strict=True)]) if op.is_multiple else stack(found)


def example(argument, i):
    """Argument `argument` of example `i`."""
    if isinstance(argument, Batched):
        return argument.value[i]
    return argument.__class__([example(a, i) for a in argument]) if argument.__class__ in (list, tuple) else argument


def _is_batched(argument):
    return isinstance(argument, Batched) or argument.__class__ in (list, tuple) and any([_is_batched(a) for a in argument])


def _count(args):
    return next(a.value.shape[0] for a in args if isinstance(a, Batched))


def _whole(argument):
    return argument.value if isinstance(argument, Batched) else argument


def _shaped(x, count, shape):
    return x if x.shape == (count, *shape) else reshape(x, (count, *shape))


def _elementwise(op, args, shape):
    """Examples with fewer axes than others get axes of length 1 behind the first."""
    return op.call(*[_aligned(a.value, len(shape)) if isinstance(a, Batched) else a for a in args])


def _aligned(x, ndim):
    return x if x.ndim > ndim else reshape(x, (x.shape[0], *(1,) * (ndim + 1 - x.ndim), *x.shape[1:]))


def _spread(argument, count):
    """An operand for all examples, the same for each if it is not batched."""
    return argument.value if isinstance(argument, Batched) else broadcast_to(argument, (count, *np.shape(argument)))


def _in_front(op, args, _):
    """Ops of one operand that take any number of axes in front."""
    return op.call(args[0].value, *args[1:])


def _along(op, args, shape):
    """Ops along an axis, or over all, which are one after they are made flat."""
    operands = [args[i] for i in op.operands]
    if not all([isinstance(a, Batched) and a.ndim == operands[0].ndim for a in operands]) or op.is_multiple:
        return None
    place, ndim = op.arguments.index("axis"), operands[0].ndim
    axis, args = args[place], [_whole(a) for a in args]
    if axis is not None:
        args[place] = _moved(axis, ndim) if ndim else None
    elif len(operands) == 1 and not any([a is not None for n, a in zip(op.arguments, args, strict=True) if n in ("ord", "where")]):
        args[0], args[place] = reshape(args[0], (args[0].shape[0], prod(args[0].shape[1:]))), 1
    return None if args[place] is None else _shaped(op.call(*args), args[0].shape[0], shape)


def _moved(axis, ndim):
    """Axes of one example, as axes of all."""
    return tuple([a % ndim + 1 for a in axis]) if isinstance(axis, (tuple, list)) else axis % ndim + 1


def _axes(op, args, _):
    """Ops whose parameters that are called axes must be moved."""
    names, ndim = op.arguments[1:], args[0].ndim
    if ndim == 0:
        return None
    moved = [a if name not in _AXES else _moved(tuple(range(ndim)) if a is None else a, ndim)
             for name, a in zip(names, args[1:], strict=True)]
    return op.call(args[0].value, *moved)


_AXES = ("axis", "axes", "axis1", "axis2", "source", "destination")


def _reshaped(_, args, shape):
    return _shaped(args[0].value, args[0].value.shape[0], shape)


def _permuted(op, args, _):
    return op.call(args[0].value, (0, *[a % args[0].ndim + 1 for a in args[1]]))


def _broadcast(_, args, shape):
    return broadcast_to(_aligned(args[0].value, len(shape)), (args[0].value.shape[0], *shape))


def _padded(op, args, _):
    widths = args[1]
    if isinstance(widths, int) or len(widths) != args[0].ndim or (widths and isinstance(widths[0], int)):
        return None
    if any(map(np.ndim, args[2:])):  # a value for each side
        return None
    return op.call(args[0].value, ((0, 0), *widths), *args[2:])


def _product(_, args, shape):
    """A matrix product: vectors are matrices with one row or one column. With a matrix that is the same for all, the rows of all
    examples are those of one matrix.
    """
    x, y = args
    count, ndims = _count(args), (len(_shape_of(x)), len(_shape_of(y)))
    if ndims[1] == 2 and not isinstance(y, Batched):
        return _shaped(matmul(reshape(x.value, (prod(x.value.shape[:-1]), x.value.shape[-1])), y), count, shape)
    if ndims[0] == 2 and not isinstance(x, Batched) and y.value.shape[2:] in ((), (1,)):
        return _shaped(matmul(reshape(y.value, y.value.shape[:2]), matrix_transpose(x)), count, shape)
    left = _matrix(x, ndims[0], -2)
    right = _matrix(y, ndims[1], -1)
    ndim = max(ndims[0], ndims[1], 2)
    left, right = (_aligned(v, ndim) if isinstance(a, Batched) else v for v, a in ((left, x), (right, y)))
    return _shaped(matmul(left, right), count, shape)


def _shape_of(argument):
    return argument.value.shape[1:] if isinstance(argument, Batched) else np.shape(argument)


def _matrix(argument, ndim, axis):
    return expand_dims(_whole(argument), axis) if ndim == 1 else _whole(argument)


def _linear(op, args, _):
    x, *rest = args
    return None if any([isinstance(a, Batched) for a in rest]) else op.call(x.value, *rest)


def _contracted(_op, args, _shape):
    operands, subscripts = args
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    unused = [c for c in ascii_letters if c not in subscripts]
    if not arrow or "..." in subscripts or not unused:
        return None
    inputs = [unused[0] + s if isinstance(x, Batched) else s for s, x in zip(left.split(","), operands, strict=True)]
    return contract([_whole(x) for x in operands], f"{','.join(inputs)}->{unused[0]}{output}")


def _joined(op, args, _):
    arrays, axis = args
    count, ndim = _count(arrays), len(_shape_of(arrays[0])) + (op.name == "stack")
    settled = without_promotion([_whole(a) for a in arrays])
    arrays = [a if isinstance(a, Batched) else b for a, b in zip(arrays, settled, strict=True)]
    return None if axis is None else op.call([_spread(a, count) for a in arrays], axis % ndim + 1)


def _chosen(op, args, _):
    """What is chosen by basic indices, and by arrays that stand side by side: others would change the order of the axes."""
    x, index = args
    index = _behind(index)
    return None if index is None or not isinstance(x, Batched) else op.call(x.value, index)


def _behind(index):
    """`index` behind the axis of examples; None if it cannot be put there."""
    if _is_batched(index):
        return None
    index = index if isinstance(index, tuple) else (index,)
    chosen = [i for i, part in enumerate(index) if not (isinstance(part, slice) or part is None or part is Ellipsis)]
    is_basic = all([isinstance(index[i], int) for i in chosen])
    return (slice(None), *index) if is_basic or chosen == list(range(chosen[0], chosen[-1] + 1)) else None


def _scattered(op, args, shape):
    x, _, index = args
    index = _behind(index)
    return None if index is None else op.call(x.value, (x.value.shape[0], *shape), index)


def _written(op, args, shape):
    x, y, index = args
    behind = _behind(index)
    if behind is None:
        return None
    standing: Any = stand_in(plain(index))
    ndim = np.broadcast_to(np.zeros(()), shape)[standing].ndim
    count = _count(args)
    if isinstance(y, Batched):
        y = reshape(y.value, (count, *y.value.shape[1 + y.ndim - ndim :])) if y.ndim > ndim else _aligned(y.value, ndim)
    else:
        y = fitting(y, ndim)
    return op.call(_spread(x, count), y, behind)


def _taken(op, args, _):
    """`take`: of the examples, or with the examples' own positions from what is the same for all."""
    x, indices, axis = args
    if axis is None or isinstance(x, Batched) and isinstance(indices, Batched):
        return None
    if isinstance(x, Batched):
        return op.call(x.value, indices, axis % x.ndim + 1)
    axis %= x.ndim
    return moveaxis(op.call(x, indices.value, axis), axis, 0)


def _taken_along(op, args, _):
    x, indices, axis = args
    count, ndim = _count(args), len(_shape_of(x))
    if axis is None or ndim != len(_shape_of(indices)):
        return None
    return op.call(_spread(x, count), _spread(indices, count), axis % ndim + 1)


def _ranked(op, args, _):
    """Ranks, the same for all rows or given for each, of the numbers of each row."""
    x, ranks = args
    ndim = len(_shape_of(x))
    return op.call(_spread(x, _count(args)), _aligned(ranks.value, ndim) if isinstance(ranks, Batched) else ranks)


def _side_by_side(op, args, _):
    """Ops of operands that have the same shape, and any number of axes in front."""
    return op.call(*[_spread(a, _count(args)) for a in args])


def _embedded(op, args, _):
    indices, weight, *rest = args
    return None if isinstance(weight, Batched) else op.call(indices.value, weight, *rest)


def _solved(op, args, _):
    x, y = args
    count, is_vector = _count(args), len(_shape_of(y)) == 1
    y = expand_dims(_spread(y, count), -1) if is_vector else _spread(y, count)
    if not is_vector and len(_shape_of(x)) != y.ndim - 1:
        return None
    found = op.call(_spread(x, count), y)
    return squeeze(found, -1) if is_vector else found


def _attended(op, args, shape):
    """Attention, whose operands may have any axes in front."""
    ndim = len(shape)
    operands = [_aligned(a.value, ndim) if isinstance(a, Batched) else a for a in args[:4]]
    return op.call(*operands, *args[4:])


def _attended_back(op, args, _):
    """The gradients of attention, for each example also in what is the same for all."""
    count, ndim = _count(args), max([len(_shape_of(a)) for a in args[:6] if a is not None])
    operands = [a if a is None else _aligned(_spread(a, count), ndim) for a in args[:6]]
    found = op.call(*operands, *args[6:])
    return tuple([_shaped(x, count, _shape_of(a)) for x, a in zip(found, args[1:4], strict=True)])


def _folded(op, args, shape):
    """Ops on batches of images: all examples are one batch."""
    x, *rest = args
    if not isinstance(x, Batched) or any(map(_is_batched, rest)):
        return None
    if x.ndim != int(next(c for c in op.name if c.isdigit())) + 2:
        return None
    return reshape(op.call(reshape(x.value, (-1, *x.value.shape[2:])), *rest), (x.value.shape[0], *shape))


def _of_processes(op, args, _):
    """Collectives, whose operand or result may have a first axis of processes, which stays in front of the examples."""
    x = args[0].value
    found = op.call(moveaxis(x, 1, 0) if op.name in _FROM_PARTS else x, *args[1:])
    return moveaxis(found, 1, 0) if op.name in _TO_PARTS else found


def _several_of_processes(op, args, _):
    count = _count(args[0])
    return op.call([_spread(x, count) for x in args[0]], *args[1:])


def _begun(op, args, _):
    count = _count(args[0])
    number = op.call([_spread(x, count) for x in args[0]], *args[1:])
    return broadcast_to(reshape(number, (1,)), (count,))


def _finished(op, args, _):
    count = _count(args[0])
    number, *arrays = [_spread(x, count) for x in args[0]]
    return op.call([number[0], *arrays], *args[1:])


_FROM_PARTS, _TO_PARTS = ("sum_of_parts", "exchange"), ("all_stack", "exchange", "stack_of_shares")
_OF_POSITIONS = (_taken, _taken_along, _ranked, _embedded)
#: Ops of these families that are unlike the others.
_WITHOUT = frozenset(["isin", "searchsorted", "first_places", "next_places", "matrix_rank", "segment_max", "segment_min",
                      "segment_prod", "sum_along_places", "avg_pool2d_input", "max_pool2d_input", "max_pool2d_output",
                      "max_pool2d_with_taps"])
_BY_FAMILY = {"collective": _of_processes, "conversion": _in_front, "search": _along, "reduction": _along, "transform": _axes}
_BY_NAME = {
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp", "flip", "sort"), _along),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshaped),
    **dict.fromkeys(("transpose", "moveaxis"), _axes),
    **dict.fromkeys(("adjugate", "cholesky", "det", "inv", "matrix_exp", "qr_pair", "slogdet_pair", "eigh_pair", "eigvalsh",
                     "svd_triple", "svdvals", "eig_pair", "eigvals"), _in_front),
    **dict.fromkeys(("conv2d", "avg_pool2d", "max_pool2d_again", "conv3d", "conv_transpose2d"), _folded),
    "permute_dims": _permuted, "broadcast_to": _broadcast, "pad": _padded, "matmul": _product, "linear": _linear,
    "contract": _contracted, "concatenate": _joined, "stack": _joined, "getitem": _chosen, "take": _taken,
    "attention": _attended, "attention_gradients": _attended_back, "take_along_axis": _taken_along,
    "rank_indices": _ranked, "adjugate_gradient": _side_by_side, "cholesky_gradient": _side_by_side,
    "matrix_exp_slope": _side_by_side,
    **dict.fromkeys(("mean_of_each", "from_owners"), _several_of_processes),
    "begin_means": _begun, "finish_means": _finished, "embedding": _embedded, "embedding_by_rows": _embedded, "solve": _solved,
    "scatter_add": _scattered, "set_at": _written,
}


