"""Forward loops: forward derivatives of loops whose iterations nobody counts. Nobody can walk back through one of these, but `jvp`
asks only for the derivative of such a walk in its cotangents. That is a loop which goes the same way and carries tangents along.
"""

import numpy as np

from ..core.gradient import gradient
from ..core.mode import current, is_recording, recording, rewound, walkable
from ..core.symbol import Symbol
from ..core.value import Projection, Record, Value
from ..dtypes import is_float
from ..ops._arrays import arrays
from ..ops.elementary.arithmetic import positive
from ..ops.manipulation.movements import broadcast_to
from ..ops.random.draws import unnoted
from ..tensor.tensor import Tensor
from .batched_loop import check_steps, has_record, walked_back
from .carry_checks import dtype_of, shape_of


class _Unknown:
    """The op of a cotangent that only a walk back through a loop without a known number of iterations would give."""

    name, family, broadcasts, algebra = "scan", "loop", False, arrays

    @staticmethod
    def expansion():
        """Raises, since somebody asks for its numbers."""
        check_steps(None)


_UNKNOWN = _Unknown()


class ForwardLoop:
    """The op of a walk back through a loop, whose parents are the cotangents that the walk starts with.

    body      how its body is called, as a `Body`
    flowing   which of the things carried have a derivative; `origins` are those of their starts, and `outside` the records, that it
              flows to
    again     runs a loop with as many iterations: (call, starts) to what is carried in the end
    past      what tensors from outside held when the loop began
    numbers   which of the things carried have a cotangent, by parent
    """

    rules, name, algebra = None, "scan", arrays
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def __init__(self, body, flowing, origins, outside, again, past):
        self._call, self._starts, self._flowing = body.call, body.starts, flowing
        self._origins, self._outside, self._again, self._past = origins, outside, again, past
        self._numbers: list = []

    def walk(self, g, likes, parents):
        """What the walk gives for each of the `likes`, given the cotangents `g` of what is carried: values without numbers, whose
        derivatives in the cotangents are known, and those in the `parents` of the loop are not.
        """
        self._numbers = [i for i, c in enumerate(g) if has_record(c)]
        record = Record().filled(self, (*[g[i].record for i in self._numbers], *parents), ())
        nodes = [None if x is None else Symbol(_UNKNOWN, (), x.shape, x.dtype) for x in likes]
        return [None if n is None else arrays.made(n, Projection(record, i, len(nodes))) for i, n in enumerate(nodes)]

    def revived(self, record):
        """Nothing, since nothing is saved."""
        return ()

    def function(self, g, needs, *saved):
        """The tangents of what is carried in the end, from those of what the loop depends on."""
        if any(needs[len(self._numbers) :]):
            check_steps(None)
        given = dict(zip([*self._origins, *self._outside], g, strict=True))
        like = [self._starts[i] for i in self._flowing]
        tangents = [_zeros(x) if given.get(i) is None else given[i] for i, x in zip(self._flowing, like, strict=True)]
        of_outside = [given[r] for r in self._outside]
        count = len(self._starts)

        def iteration(carried, _):
            return self._iterated(carried[:count], carried[count:], of_outside)

        # The loop runs once more, so it must find what tensors held when it began, and must not draw, or count its draws, again.
        with rewound(self._past), unnoted():
            ends = self._again(iteration, [*self._starts, *tangents])[count:]
        found = dict(zip(self._flowing, ends, strict=True))
        of_cotangents = [found.get(i) if needed else None for i, needed in zip(self._numbers, needs, strict=False)]
        return (*of_cotangents, *[None] * (len(needs) - len(of_cotangents)))

    def _iterated(self, carried, tangents, of_outside):
        """What is carried after an iteration, with its tangents, and whether there is another iteration."""
        with walkable():
            before = [_fresh(x) for x in carried]
            after, made = self._call(before, [])
        ends = [after[i] for i in self._flowing]
        targets = [*[before[i] for i in self._flowing], *[r.algebra.made(None, r) for r in self._outside]]
        moves = [*tangents, *of_outside]
        return [*map(_carried_on, after), *_pushed(ends, targets, moves)], made


def _pushed(ends, targets, moves):
    """How `ends` change as `targets` move by `moves`, None for those that stay; zeros where nothing changes."""
    live = [x for x in ends if has_record(x)]
    seeds = [_nothing(x).requires_grad_() for x in live]
    with walkable():
        walked = walked_back(live, targets, seeds, True) if live else []
    # The derivative of a walk back in its cotangents, times moves: two reverse passes make a forward one.
    pairs = [(w, v) for w, v in zip(walked, moves, strict=False) if has_record(w) and v is not None]
    found = [None] * len(live)
    if pairs:
        found = gradient([w for w, _ in pairs], seeds, [v for _, v in pairs], create_graph=is_recording(), stops_at_targets=True)
    changes = iter(found)
    changes = [next(changes) if has_record(x) else None for x in ends]
    return [_zeros(x) if c is None else c for x, c in zip(ends, changes, strict=True)]


def _nothing(like):
    """Zeros as a node: how a walk changes does not depend on the cotangents it starts with, but a loop in it may carry them."""
    node = current().tracer.node(broadcast_to.op, (np.zeros((), like.dtype), like.shape), like.shape, like.dtype)
    return Tensor(node)


def _fresh(x):
    """`x`, which is carried, as a target of the walk; linked to itself if that is differentiated again."""
    if not isinstance(x, Value) or not is_float(x.dtype):
        return x
    return recording(positive, x) if is_recording() and x.record is not None else x.unlinked().requires_grad_()


def _carried_on(x):
    """`x` with a history only where one is kept: the tangents of an iteration need that of the iteration itself."""
    return x if not isinstance(x, Value) or is_recording() else x.unlinked()


def _zeros(like):
    return np.broadcast_to(np.zeros((), dtype_of(like)), shape_of(like))
