"""Loops and branches: while_loop, fori_loop, cond and switch. Eager they are Python's own; under jit they are compiled."""

from typing import Any

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError
from ..tensor.creation import asarray
from .branches import traced_cond
from .carried import check_carry
from .scan import scan, tracing
from .traced import traced_while


def while_loop(condition, body, init):
    """`carry = body(carry)` as long as `condition(carry)` holds, starting with `init`; returns the last carry.

    The carry, a tree of arrays or numbers, keeps its structure, shapes and dtypes. Under `jit` the body is traced once. There
    the loop cannot be differentiated by `backward` or `grad`, since nobody knows how many steps to keep: use `scan` or
    `fori_loop` with a number of steps that is known.

    >>> rg.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
    192
    """
    tracer = tracing()
    if tracer is not None:
        return traced_while(tracer, condition, body, init)
    carry, is_first = init, True
    while condition(carry):
        after = body(carry)
        if is_first:
            check_carry(carry, after)
            is_first = False
        carry = after
    return carry


def fori_loop(lower, upper, body, init):
    """`carry = body(i, carry)` for each integer `i` from `lower` to `upper` - 1, starting with `init`; returns the last carry.

    Can be differentiated wherever the bounds are numbers; under `jit` they may be values too, and then it cannot.

    >>> rg.fori_loop(0, 5, lambda i, total: total + i, 0)
    10
    """
    tracer = tracing()
    if tracer is None:
        carry = init
        for number, i in enumerate(range(int(lower), int(upper))):
            after = body(i, carry)
            if number == 0:
                check_carry(carry, after)
            carry = after
        return carry
    if not isinstance(lower, Value) and not isinstance(upper, Value):
        places = np.arange(int(lower), int(upper))
        return scan(lambda carry, i: (body(i, carry), None), init, places, len(places))[0]
    start, end = asarray(lower).astype("int64"), asarray(upper).astype("int64")
    return while_loop(lambda state: state[0] < end, lambda state: (state[0] + 1, body(state[0], state[1])), (start, init))[1]


def cond(predicate, true_function, false_function, *operands):
    """`true_function(*operands)` if `predicate` holds, else `false_function(*operands)`.

    Under `jit` both are traced, must give the same structure, shapes and dtypes, and only the chosen one runs; it can be
    differentiated any number of times, also in tensors that the functions use from outside.

    >>> rg.cond(rg.tensor(2.0) > 1, lambda x: x + 1, lambda x: x - 1, rg.tensor(5.0))
    tensor(6.)
    """
    tracer = tracing()
    if tracer is None or not isinstance(predicate, Value):
        return true_function(*operands) if predicate else false_function(*operands)
    if predicate.size != 1:
        raise ArgumentError(f"cond needs one truth value, got shape {predicate.shape}; use rg.where to choose by element")
    return traced_cond(tracer, predicate, lambda: true_function(*operands), lambda: false_function(*operands))


def switch(index, branches, *operands):
    """`branches[index](*operands)`; an index that is too small or too great takes the first or the last.

    >>> rg.switch(1, [lambda x: x, lambda x: x * 10], 7)
    70
    """
    branches = list(branches)
    if not branches:
        raise ArgumentError("switch needs at least one branch, got none")
    if tracing() is None or not isinstance(index, Value):
        return branches[max(0, min(int(index), len(branches) - 1))](*operands)
    if len(branches) == 1:
        return branches[0](*operands)
    place: Any = index
    return cond(place <= 0, branches[0], lambda *args: switch(place - 1, branches[1:], *args), *operands)
