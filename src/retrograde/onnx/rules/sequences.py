"""Sequences and optional values: lists, and a value that is not there."""

import numpy as np

from ...errors import OnnxError
from ...ops.manipulation.joins import concatenate, stack
from ...ops.manipulation.movements import squeeze
from ..library import element_types
from ..rule import rule
from ..running import MISSING
from ..values import integer, integers, is_computed
from .shapes import pieces


@rule("SequenceConstruct", since=11)
def _construct(*inputs):
    return (list(inputs),)


@rule("SequenceEmpty", since=11)
def _empty(*, dtype=1):
    if dtype not in element_types():
        raise OnnxError(f"there is no element type {dtype}")
    return ([],)


def _place(sequence, position, most):
    position = integer(position)
    if not -len(sequence) <= position < most:
        raise OnnxError(f"position {position} lies outside of a sequence of {len(sequence)}")
    return position


@rule("SequenceAt", since=11, numbers=(1,))
def _at(sequence, position, /):
    return sequence[_place(sequence, position, len(sequence))]


@rule("SequenceInsert", since=11, numbers=(2,))
def _insert(sequence, x, position=None, /):
    found = list(sequence)
    found.insert(len(found) if position is None else _place(sequence, position, len(sequence) + 1), x)
    return (found,)


@rule("SequenceErase", since=11, numbers=(1,))
def _erase(sequence, position=None, /):
    found = list(sequence)
    del found[-1 if position is None else _place(sequence, position, len(sequence))]
    return (found,)


@rule("SequenceLength", since=11)
def _length(sequence, /):
    return np.array(len(sequence), np.int64)


@rule("SplitToSequence", since=11, numbers=(1,))
def _split(x, sizes=None, /, *, axis=0, keepdims=1):
    length = x.shape[axis]
    if sizes is None:
        found = pieces(x, [1] * length, axis)
        return (found if keepdims else [squeeze(part, axis) for part in found],)
    if np.ndim(sizes) == 0:
        size = integer(sizes)
        if size < 1:
            raise OnnxError(f"pieces must have at least one element, got {size}")
        return (pieces(x, [min(size, length - start) for start in range(0, length, size)], axis),)
    return (pieces(x, integers(sizes), axis),)


@rule("ConcatFromSequence", since=11)
def _joined(sequence, /, *, axis, new_axis=0):
    if not sequence:
        raise OnnxError("an empty sequence cannot be joined")
    if not is_computed(sequence[0].dtype):
        return (np.stack if new_axis else np.concatenate)(sequence, axis)
    return (stack if new_axis else concatenate)(sequence, axis)


@rule("SequenceMap", since=17)
def _map(first, *others, body, context):
    rows = [context.run(body, [first[i], *[o[i] if isinstance(o, list) else o for o in others]]) for i in range(len(first))]
    return tuple([list(column) for column in zip(*rows, strict=True)]) if rows else tuple([[] for _ in body.outputs])


@rule("Optional", since=15)
def _optional(x=None, /, *, type=None):
    return (MISSING if x is None else x,)


@rule("OptionalHasElement", since=15)
def _has_element(x=None, /):
    return np.array(x is not None and x is not MISSING)


@rule("OptionalGetElement", since=15)
def _element(x, /):
    if x is None or x is MISSING:
        raise OnnxError("an optional value is asked for, and it is not there")
    return (x,)
