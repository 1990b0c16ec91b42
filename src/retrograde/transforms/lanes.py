"""Lanes: branches and loops under vmap, where each example may take another way.

Both branches run, and each example takes the result of its own. A loop runs as long as one example goes on; those that have
ended keep what they have.
"""

from .. import tree
from ..core.mode import current
from ..core.value import Value
from ..dtypes import is_float
from ..ops.elementary.comparisons import logical_and, logical_not, where
from ..ops.manipulation.movements import reshape
from ..tensor.creation import asarray
from .carry_checks import agreeing, check_carry, settled, truth


def lanes_of(*values):
    """The batch of the vmap that one of `values` stands in; None where there is none."""
    mode = current()
    tracer = None if mode is None else mode.tracer
    return tracer if tracer is not None and any([isinstance(v, Value) and tracer.held(v) is not None for v in values]) else None


def known(batch, value):
    """The data of a value that is the same for all examples and is known; None for others."""
    held, differs = batch.held(asarray(value))
    return None if differs or held.is_traced else held.raw


def selected(batch, predicate, true_function, false_function, operands):
    """What the functions give of `operands`, for each example that of the one which its `predicate` chooses."""
    chosen = known(batch, predicate)
    if chosen is not None:
        return true_function(*operands) if chosen else false_function(*operands)
    predicate = reshape(predicate, ()).astype(bool)
    with batch.without_writes():
        true = true_function(*_taken(batch, predicate, operands))
        false = false_function(*_taken(batch, logical_not(predicate), operands))
    true, false = agreeing(true, false)
    return tree.map(lambda x, y: where(predicate, x, y), true, false)


def _taken(batch, predicate, values):
    """`values` with derivatives only where `predicate` holds: those of the others may be NaN, and would be even times zero."""
    return tree.map(lambda x: where(predicate, x, batch.stopped(x)) if isinstance(x, Value) and is_float(x.dtype) else x, values)


def lanes_loop(batch, goes_on, condition, body, init):
    """`while_loop` for all examples of a batch, which begins with whether each of them `goes_on`."""
    goes_on, carry, is_first = truth(goes_on), init, True
    while _is_any(batch, goes_on):
        after = body(_taken(batch, goes_on, carry))
        if is_first:
            check_carry(carry, after)
            carry, is_first = tree.map(settled, carry, after), False
        carry = tree.map(lambda a, c, goes_on=goes_on: where(goes_on, a, c), after, carry)
        goes_on = logical_and(goes_on, truth(condition(carry)))
    return carry


def _is_any(batch, goes_on):
    """Whether one of the examples goes on; of all vmaps, if several surround the loop."""
    found = batch.held(goes_on)[0]
    while batch.outer is not None and batch.outer.is_batch:
        batch = batch.outer
        found = batch.held(found)[0]
    with batch.around():
        return bool(found.any())
