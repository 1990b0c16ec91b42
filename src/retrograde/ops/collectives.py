r"""Collectives: what the processes of a group compute together. Each is a linear function of the operands of all processes, and its
derivative the transposed one, which is a collective too: so the gradient is that of the sum of what all processes differentiate.

A group is a parameter, which does the work (`_alone.py`); calls are effects, so that all processes make them in the same order.
"""

from collections import deque

import numpy as np

from ..core.mode import is_recording, is_tracing
from ..core.rule import shape_of
from ..errors import DTypeError
from ._alone import ALONE
from ._families import collective, composite
from ._samples import call


@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((2, 3), ALONE), call((), ALONE, order="any")))
def all_sum(x, /, group, order="ranks", name="all_reduce"):
    r"""The sum of `x` over all processes of a group, at each of them.

    $z_i = \sum_j x_j \;\Rightarrow\; \bar x_i = \sum_j \bar z_j$
    """
    return group.sum(np.asarray(x), order, name)


all_sum.defvjp(lambda g, group, order, name: all_sum(g, group, order, f"{name}, on the way back"))


@collective(result_shape=lambda x, group, *_: (group.size, *shape_of(x)), samples=(call((2, 3), ALONE), call((), ALONE)))
def all_stack(x, /, group, order="ranks", name="all_gather"):
    r"""The `x` of all processes of a group along a new first axis, at each of them.

    $z_i[j] = x_j \;\Rightarrow\; \bar x_j = \sum_i \bar z_i[j]$; `order` is that of this sum.
    """
    return group.stack(np.asarray(x), name)


all_stack.defvjp(lambda g, group, order, name: sum_of_parts(g, group, order, f"{name}, on the way back"))


@collective(result_shape=lambda x, *_: shape_of(x)[1:], samples=(call((1, 3), ALONE), call((1,), ALONE)))
def sum_of_parts(x, /, group, order="ranks", name="reduce_scatter"):
    r"""Of the sum of `x` over all processes, whose first axis has one part for each process, the part of this one.

    $z_i = \sum_j x_j[i] \;\Rightarrow\; \bar x_j[i] = \bar z_i$
    """
    return group.sum_of_parts(np.asarray(x), order, name)


sum_of_parts.defvjp(lambda g, group, order, name: all_stack(g, group, order, f"{name}, on the way back"))


@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((1, 3), ALONE), call((1,), ALONE)))
def exchange(x, /, group, name="all_to_all"):
    r"""Part i of process j, along the first axis, as part j of process i.

    $z_i[j] = x_j[i] \;\Rightarrow\; \bar x_j[i] = \bar z_i[j]$
    """
    return group.exchange(np.asarray(x), name)


exchange.defvjp(lambda g, group, name: exchange(g, group, f"{name}, on the way back"))


@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((2, 3), 0, ALONE), call((), 0, ALONE)))
def spread_from(x, /, root, group, order="ranks", name="broadcast"):
    r"""The `x` of process `root`, at all processes.

    $z_i = x_r \;\Rightarrow\; \bar x_r = \sum_i \bar z_i$, and zeros elsewhere; `order` is that of this sum.
    """
    return group.broadcast(np.asarray(x), root, name)


spread_from.defvjp(lambda g, root, group, order, name: sum_at(g, root, group, order, f"{name}, on the way back"))


@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((2, 3), 0, ALONE), call((), 0, ALONE)))
def sum_at(x, /, root, group, order="ranks", name="reduce"):
    r"""The sum of `x` over all processes at process `root`, and zeros elsewhere.

    $z_r = \sum_j x_j \;\Rightarrow\; \bar x_j = \bar z_r$
    """
    return group.sum_at(np.asarray(x), root, order, name)


sum_at.defvjp(lambda g, root, group, order, name: spread_from(g, root, group, order, f"{name}, on the way back"))


@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((2, 3), 0, 0, ALONE), call((), 0, 0, ALONE)))
def passed(x, /, to, source, group, name="send_recv"):
    r"""What process `source` sends to this one, while this one sends `x` to process `to`.

    Where `source` is None nothing is received, and the result is zeros; where `to` is None nothing is sent. The cotangent goes the
    way back: $\bar x$ is what process `to` sends of its $\bar z$.
    """
    return group.passed(np.asarray(x), to, source, name)


passed.defvjp(lambda g, to, source, group, name: passed(g, source, to, group, f"{name}, on the way back"))


# Of values that are alike: all processes of a group compute one loss, and the cotangent of what all hold alike is that of one of
# them, the same at all. So these are other transposes than those above, which differentiate the sum of what all compute.
@collective(result_shape=lambda x, *_: shape_of(x), samples=(call((2, 3), ALONE), call((), ALONE)))
def sum_of_shares(x, /, group, order="ranks", name="the sum of parts"):
    r"""The sum of what the processes of a group have each, as a value that all hold alike.

    $z = \sum_j x_j \;\Rightarrow\; \bar x_i = \bar z$
    """
    return group.sum(np.asarray(x), order, name)


sum_of_shares.defvjp(lambda g, group, order, name: taken_apart(g, group, order, f"{name}, on the way back"))


@composite(is_public=False, samples=(call((2, 3), ALONE), call((), ALONE)))
def taken_apart(x, /, group, order="ranks", name="the gradient of parts"):
    r"""A value that all processes of a group hold alike, of which each computes something else: its own part of a layer.

    $z_i = x \;\Rightarrow\; \bar x = \sum_j \bar z_j$
    """
    return x


taken_apart.defvjp(lambda g, group, order, name: sum_of_shares(g, group, order, name))


@collective(result_shape=lambda x, group, *_: (group.size, *shape_of(x)), samples=(call((2, 3), ALONE), call((), ALONE)))
def stack_of_shares(x, /, group, name="the parts of all"):
    r"""The `x` of all processes of a group along a new first axis, as a value that all hold alike.

    $z[j] = x_j \;\Rightarrow\; \bar x_i = \bar z[i]$
    """
    return group.stack(np.asarray(x), name)


stack_of_shares.defvjp(lambda g, group, name: own_share(g, group, name))


@composite(is_public=False, samples=(call((1, 3), ALONE), call((1,), ALONE)))
def own_share(x, /, group, name="the parts of all"):
    r"""Of a value that all processes of a group hold alike, the part of this one along the first axis.

    $z_i = x[i] \;\Rightarrow\; \bar x[j] = \bar z_j$
    """
    return x[group.rank]


own_share.defvjp(lambda g, group, name: stack_of_shares(g, group, f"{name}, on the way back"))


@collective(is_variadic=True, is_multiple=True, result_shape=lambda xs, *_: [shape_of(x) for x in xs],
            result_dtype=lambda xs, *_: _dtype_of_all(xs), samples=(call([(2, 3), (3,)], ALONE), call([()], ALONE)))
def mean_of_each(xs, /, group, order="ranks", name="all_reduce"):
    r"""The means of several arrays of one dtype over all processes of a group, sent together.

    $z_{ki} = \frac{1}{p} \sum_j x_{kj} \;\Rightarrow\; \bar x_{ki} = \frac{1}{p} \sum_j \bar z_{kj}$
    """
    arrays = [np.asarray(x) for x in xs]
    _dtype_of_all(arrays)
    return tuple(group.means(arrays, order, name))


mean_of_each.defvjp_all(lambda g, needs, group, order, name: means(g, group, None, order, f"{name}, on the way back"))


@collective(is_variadic=True, is_differentiable=False, begins=True, result_shape=lambda *_: (),
            result_dtype=lambda *_: np.dtype(np.int64), samples=(call([(2, 3), (3,)], ALONE), call([()], ALONE)))
def begin_means(xs, /, group, order="ranks", name="all_reduce"):
    """Begin to compute the means of several arrays of one dtype over all processes; a number for `finish_means`."""
    arrays = [np.asarray(x) for x in xs]
    _dtype_of_all(arrays)
    return np.array(group.begin_means(arrays, order, name), np.int64)


def _finish_into(places, xs, group, order="ranks", name="all_reduce"):
    """As `finish_means`, with results in the arrays of `places`, by their numbers, where it has them."""
    number, *arrays = [np.asarray(x) for x in xs]
    _dtype_of_all(arrays)
    results = [places[i] if i in places else np.empty(x.shape, x.dtype) for i, x in enumerate(arrays)]
    return group.finish_means(int(number) if number.dtype.kind == "i" else 0, arrays, order, name, results)


@collective(is_variadic=True, is_multiple=True, is_differentiable=False, into=_finish_into,
            result_shape=lambda xs, *_: [shape_of(x) for x in xs[1:]], result_dtype=lambda xs, *_: _dtype_of_all(xs[1:]),
            samples=(call([(), (2, 3), (3,)], ALONE), call([(), ()], ALONE)))
def finish_means(xs, /, group, order="ranks", name="all_reduce"):
    """The means that were begun: `xs` are the number that `begin_means` gave, and its arrays, which thus are kept until then."""
    return tuple(_finish_into({}, xs, group, order, name))


@collective(is_variadic=True, is_multiple=True, is_differentiable=False, result_shape=lambda xs, *_: [shape_of(x) for x in xs],
            result_dtype=lambda xs, *_: _dtype_of_all(xs), samples=(call([(2, 3), (3,)], (0, 0), ALONE),))
def from_owners(xs, /, owners, group, name="parameters of their owners"):
    """Several arrays of one dtype, each as the process has it that owns it; sent together."""
    arrays = [np.asarray(x) for x in xs]
    _dtype_of_all(arrays)
    return tuple(group.from_owners(arrays, owners, name))


@composite(is_variadic=True, is_multiple=True, is_public=False, samples=(call([(2, 3), (3,)], ALONE), call([()], ALONE)))
def replicated(xs, /, group, bucket=None, order="ranks"):
    r"""Arrays that all processes of a group hold alike, as they are; their gradients are the means of those of all processes.

    $z_{ki} = x_{ki} \;\Rightarrow\; \bar x_{ki} = \frac{1}{p} \sum_j \bar z_{kj}$; sent together up to `bucket` bytes.
    """
    return tuple(xs)


replicated.defvjp_all(lambda g, needs, group, bucket, order: _means_of_gradients(g, group, bucket, order, "the mean of gradients"))


#: So many sums, and so many bytes of them, are begun at once at most: there is room for so many.
_MOST, _MOST_BYTES = 512, 2**30


def _means_of_gradients(arrays, group, bucket, order, name) -> tuple:
    """As `means`. In compiled code each bucket is begun as soon as its gradients are there, and all are finished in the end."""
    if not is_tracing() or is_recording():
        return means(arrays, group, bucket, order, name)
    found, begun, held = list(arrays), deque(), 0

    def finish():
        numbers, label, parts, number = begun.popleft()
        for i, mean in zip(numbers, finish_means([number, *parts], group, order, label), strict=True):
            found[i] = mean
        return sum([part.nbytes for part in parts])

    for numbers, label in _labelled(arrays, bucket, name):
        parts = [arrays[i] for i in numbers]
        held += sum([part.nbytes for part in parts])
        while begun and (len(begun) >= _MOST or held > _MOST_BYTES):
            held -= finish()
        begun.append((numbers, label, parts, begin_means(parts, group, order, label)))
    while begun:
        finish()
    return tuple(found)


def means(arrays, group, bucket, order, name):
    """The means of arrays over all processes, those of one dtype together up to `bucket` bytes, all if it is None. What is None on
    one process has to be None on all, and stays it.
    """
    found = list(arrays)
    for numbers, label in _labelled(arrays, bucket, name):
        for i, mean in zip(numbers, mean_of_each([arrays[i] for i in numbers], group, order, label), strict=True):
            found[i] = mean
    return tuple(found)


def _labelled(arrays, bucket, name):
    """(numbers of arrays that are sent together, what that is called) of all."""
    return [(numbers, f"{name} {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{name} {numbers[0]}")
            for numbers in buckets(arrays, bucket)]


def buckets(arrays, limit):
    """The numbers of arrays that are sent together, from the last to the first as gradients come, without those that are None."""
    found, last = [], {}
    for i in reversed(range(len(arrays))):
        x = arrays[i]
        if x is None:
            continue
        kind, size = np.dtype(x.dtype), int(np.prod(x.shape)) * x.dtype.itemsize
        members, total = last.get(kind, (None, 0))
        if members is None or limit is not None and total + size > limit:
            members, total = [], 0
            found.append(members)
        members.append(i)
        last[kind] = members, total + size
    return found


def _dtype_of_all(arrays):
    found = {np.dtype(x.dtype) for x in arrays}
    if len(found) != 1:
        raise DTypeError(f"arrays that are sent together have one dtype, got {', '.join(sorted(map(str, found)))}")
    return found.pop()
