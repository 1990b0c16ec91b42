"""Loops and branches: while_loop, fori_loop, cond and switch. Eager they are Python's own; under jit they are compiled."""

from functools import partial
from typing import Any

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError
from .branches import traced_cond
from .carry_checks import check_carry, integer, truth_value
from .counter import counted
from .examples import while_of_examples
from .lanes import known, lanes_loop, lanes_of, selected
from .loop_tracing import traced_while
from .plain import owned
from .scan import scan, tracing


def while_loop(condition, body, init):
    """`carry = body(carry)` as long as `condition(carry)` holds, starting with `init`; returns the last carry.

    The carry, a tree of arrays or numbers, keeps its structure, shapes and dtypes. Under `vmap` it runs as long as one example
    goes on, and those that have ended keep what they have; an iteration in which nothing differs yet between examples is run
    once for all. Under `jit` the body is traced once. There the loop can be differentiated by `jvp` and `jacfwd`, but not by
    `backward` or `grad`, since nobody knows how many steps to keep: use `scan` or `fori_loop` with a number of steps that is
    known.

    >>> rg.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
    192
    """
    tracer = tracing()
    if tracer is not None and tracer.is_batch:
        return owned(while_of_examples(tracer, condition, body, init, while_loop))
    if tracer is not None:
        return traced_while(tracer, condition, body, init)
    goes_on, carry, is_first = condition(init), init, True
    # The body may be what makes the carry, and with it the condition, differ from example to example.
    while (batch := lanes_of(goes_on)) is None and goes_on:
        after = body(carry)
        if is_first:
            check_carry(carry, after)
            is_first = False
        carry = after
        goes_on = condition(carry)
    return owned(carry if batch is None else lanes_loop(batch, goes_on, condition, body, carry))


def fori_loop(lower, upper, body, init):
    """`carry = body(i, carry)` for each integer `i` from `lower` to `upper` - 1, starting with `init`; returns the last carry.

    `i` behaves as Python's integer everywhere: `carry + i * 0.1` has the dtype of the carry. The bounds are integers, or tensors
    and arrays of one integer. It can be differentiated wherever they are numbers; under `jit` they may be values too, and then it
    is as of `while_loop`.

    >>> rg.fori_loop(0, 5, lambda i, total: total + i, 0)
    10
    """
    lower, upper = integer("fori_loop", "lower", lower), integer("fori_loop", "upper", upper)
    tracer = tracing()
    if tracer is None and lanes_of(lower, upper) is None:
        carry = init
        for number, i in enumerate(range(int(lower), int(upper))):
            after = body(i, carry)
            if number == 0:
                check_carry(carry, after)
            carry = after
        return owned(carry)
    if not isinstance(lower, Value) and not isinstance(upper, Value):
        places = np.arange(lower, upper)
        return scan(lambda carry, i: (body(counted(i), carry), None), init, places, len(places))[0]
    start, end = (x.astype("int64") if isinstance(x, Value) else np.array(x) for x in (lower, upper))
    return while_loop(
        lambda state: state[0] < end, lambda state: (state[0] + 1, body(counted(state[0]), state[1])), (start, init))[1]


def cond(predicate, true_function, false_function, *operands):
    """`true_function(*operands)` if `predicate` holds, else `false_function(*operands)`.

    Under `jit` both are traced, must give the same structure, shapes and dtypes, and only the chosen one runs, also in a
    `vmap` where the predicate is the same for all; it can be differentiated any number of times, also in tensors that the
    functions use from outside. Under `vmap` both run where the predicate differs from example to example, and each example
    takes its own, also of derivatives in `operands`; but in what a function uses from outside, a derivative that is infinite or
    NaN where the function is not taken gives NaN, as with `where`: hand it in as an operand. Where both must agree, a Python number
    takes the dtype of what the other gives.

    >>> rg.cond(rg.tensor(2.0) > 1, lambda x: x + 1, lambda x: x - 1, rg.tensor(5.0))
    tensor(6.)
    """
    predicate = truth_value("cond", predicate)
    tracer, batch = tracing(), lanes_of(predicate)
    if not isinstance(predicate, Value) or tracer is None and batch is None:
        return owned(true_function(*operands) if predicate else false_function(*operands))
    if batch is not None and (tracer is None or known(batch, predicate) is not None or batch.held(predicate)[1]):
        return owned(selected(batch, predicate, true_function, false_function, operands))
    return traced_cond(tracer, predicate, partial(true_function, *operands), partial(false_function, *operands))


def switch(index, branches, *operands):
    """`branches[index](*operands)`; an index that is too small or too great takes the first or the last. As `cond` for more.

    >>> rg.switch(1, [lambda x: x, lambda x: x * 10], 7)
    70
    """
    branches = list(branches)
    if not branches:
        raise ArgumentError("switch needs at least one branch, got none")
    index = integer("switch", "index", index)
    if not isinstance(index, Value) or tracing() is None and lanes_of(index) is None:
        return owned(branches[max(0, min(int(index), len(branches) - 1))](*operands))
    if len(branches) == 1:
        return owned(branches[0](*operands))
    place: Any = index
    return cond(place <= 0, branches[0], lambda *args: switch(place - 1, branches[1:], *args), *operands)
