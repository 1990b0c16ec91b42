"""scan: a function applied step after step, which carries something along and gives something for each step."""

from functools import partial
from math import isqrt

import numpy as np

from .. import tree
from ..core.function import Function
from ..core.mode import current, is_tracing
from ..core.value import Value
from ..dtypes import is_float
from ..errors import ArgumentError, ShapeError
from ..ops.manipulation.joins import concatenate, stack
from ..ops.manipulation.movements import reshape
from ..tensor.tensor import Tensor
from .carry_checks import check_carry, checked_pair, is_number
from .checkpoint import checkpoint as checkpointed
from .plain import owned


def scan(f, init, xs=None, length=None, reverse=False, checkpoint=False):
    """`(carry, ys)` after `carry, y = f(carry, x)` for each `x` along the first axis of `xs`, starting with `init`.

    init, xs    trees of arrays or numbers; the carry keeps its structure, shapes and dtypes. Tensors that `f` uses from
                outside are used in each step, and receive their gradients.
    length      the number of steps, where there are no `xs`
    reverse     whether to go from the last `x` to the first; each `y` has the place of its `x`
    checkpoint  True: the backward pass computes steps again, so that for n steps only about 2√n are kept at a time. A number:
                segments of so many steps are computed again.

    Under `jit` the body is traced once and compiled as a loop, forward and backward; eager it is a loop in Python.

    >>> total, sums = rg.scan(lambda carry, x: (carry + x, carry + x), 0.0, rg.tensor([1.0, 2.0, 3.0]))
    >>> sums
    tensor([1., 3., 6.])
    """
    leaves, build = tree.flatten(xs)
    count = _length(leaves, length)
    size = _segment(checkpoint, count)
    if size:
        return _in_segments(f, init, leaves, build, count, reverse, size)
    tracer = tracing()
    run = _stepped if tracer is None else partial(tracer.scan, tracer)
    carry, found = run(f, init, leaves, build, count, reverse)
    return owned(carry), found


def tracing():
    """What records a function that is being compiled; None in eager and lazy code."""
    mode = current()
    tracer = None if mode is None else mode.tracer
    return None if tracer is None or tracer.is_lazy or tracer.scan is None else tracer


def _length(leaves, length):
    """The number of steps; raises where there is none, or more than one."""
    shapes = [np.shape(x.raw if isinstance(x, Value) else x) if not hasattr(x, "shape") else x.shape for x in leaves]
    if any([not shape for shape in shapes]):
        raise ShapeError("scan needs xs with an axis to walk along, got a number; give what is the same in each step to f itself")
    lengths = [shape[0] for shape in shapes] + ([] if length is None else [length])
    if not lengths:
        raise ArgumentError("scan needs xs, or length=, to know how many steps there are")
    if len(set(lengths)) > 1:
        given = "" if length is None else f" and length={length}"
        raise ShapeError(f"scan needs xs of one length along the first axis, got shapes {', '.join(map(str, shapes))}{given}")
    return int(lengths[0])


def _segment(checkpoint, count):
    """The number of steps of a segment; 0 for none."""
    if checkpoint is False or checkpoint is None or count < 2:
        return 0
    size = isqrt(count - 1) + 1 if checkpoint is True else checkpoint
    if not isinstance(size, int) or size < 1:
        raise ArgumentError(f"checkpoint must be a bool or a number of steps, at least 1, got {checkpoint!r}")
    return min(size, count)


def _in_segments(f, init, leaves, build, count, reverse, size):
    """`scan` in segments, of which only what they start with is kept."""
    segments = count // size
    whole = segments * size
    tracer, (head, rest) = tracing(), ([x[:whole] for x in leaves], [x[whole:] for x in leaves])

    def segment(carry, parts):
        return scan(f, carry, build(parts), size, reverse)

    def walk(carry):
        parts = [reshape(x, (segments, size, *x.shape[1:])) for x in head]
        if tracer is None:
            found = _stepped(checkpointed(segment), carry, parts, list, segments, reverse)
        else:
            found = tracer.scan(tracer, segment, carry, parts, list, segments, reverse, is_checkpoint=True)
        return found[0], tree.map(lambda y: reshape(y, (whole, *y.shape[2:])), found[1])

    if whole == count:
        return walk(init)
    finish = lambda carry: scan(f, carry, build(rest), count - whole, reverse)
    first, second = (finish, walk) if reverse else (walk, finish)
    carry, some = first(init)
    carry, others = second(carry)
    before, after = (others, some) if reverse else (some, others)
    return carry, tree.map(lambda a, b: concatenate([a, b]), before, after)


class _Rows(Function):
    """The rows of an array, each by itself; its cotangent is theirs, put together once."""

    @staticmethod
    def forward(ctx, x):
        return tuple([Tensor(row) for row in x.raw])

    @staticmethod
    def backward(ctx, *grad_outputs):
        return stack(list(grad_outputs))


def _rows(x):
    is_recorded = isinstance(x, Value) and x.record is not None and not x.is_traced and not is_tracing() and len(x)
    return _Rows.apply(x) if is_recorded else x if isinstance(x, (Value, np.ndarray)) else np.asarray(x)


def _stepped(f, init, leaves, build, count, reverse):
    """`scan`, one step after the other."""
    carry, found, rows = init, [], [_rows(x) for x in leaves]
    for number, i in enumerate(reversed(range(count)) if reverse else range(count)):
        carry, y = checked_pair(f(carry, build([x[i] for x in rows])))
        if number == 0:
            check_carry(init, carry)
        found.append(y)
    if not found:
        return carry, _empty(f, init, leaves, build)
    found.reverse() if reverse else None
    columns = zip(*map(tree.leaves, found), strict=True)
    _, rebuild = tree.flatten(found[0])
    return carry, rebuild([stack(_of_one_type(column)) for column in columns])


def _of_one_type(column):
    """A column of results, in which Python numbers, such as what a carry starts with, take the type of the others."""
    typed = next((y.dtype for y in column if not is_number(y)), None)
    if typed is None:
        return list(column)
    return [np.asarray(y, typed) if is_number(y) and is_float(typed) and not isinstance(y, complex) else y for y in column]


def _empty(f, init, leaves, build):
    """What no steps give: arrays of length 0, in the shapes of what a step with zeros would give."""
    _, y = checked_pair(f(init, build([np.zeros(x.shape[1:], x.dtype) for x in leaves])))
    return tree.map(lambda part: stack([part])[:0], y)
