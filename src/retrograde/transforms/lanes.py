"""Lanes: branches and loops under vmap, where each example may take another way.

Both branches run, and each example takes the result of its own. A loop runs as long as one example goes on; those that have
ended keep what they have.
"""


from .. import tree
from ..core.mode import changed, current
from ..core.value import Value
from ..errors import GraphError
from ..ops.comparisons import logical_and, where
from ..ops.movements import reshape
from ..tensor.creation import asarray
from .carried import agreeing, check_carry, is_number, settled, truth


def lanes_of(*values):
    """The batch of the vmap that one of `values` stands in; None where there is none."""
    mode = current()
    tracer = None if mode is None else mode.tracer
    return tracer if tracer is not None and any([isinstance(v, Value) and tracer.held(v) is not None for v in values]) else None


def known(batch, value):
    """The data of a value that is the same for all examples and is known; None for others."""
    held, differs = batch.held(asarray(value))
    return None if differs or held.is_traced else held.data


def selected(batch, predicate, true_function, false_function):
    """What the functions give, for each example that of the one which its `predicate` chooses."""
    chosen = known(batch, predicate)
    if chosen is not None:
        return true_function() if chosen else false_function()
    with batch.without_writes():
        true, false = true_function(), false_function()
    true, false = agreeing(true, false)
    predicate = reshape(predicate, ()).astype(bool)
    return tree.map(lambda x, y: where(predicate, x, y), true, false)


def lanes_loop(batch, goes_on, condition, body, init, while_loop):
    """`while_loop` for all examples of a batch, which begins with whether each of them `goes_on`; where these are traced, by a
    `while_loop` outside of the vmap.
    """
    goes_on, carry, is_first = truth(goes_on), init, True
    if batch.held(goes_on)[0].is_traced:
        return _outside(batch, condition, body, init, while_loop)
    while bool(batch.held(goes_on)[0].data.any()):
        after = body(carry)
        if is_first:
            check_carry(carry, after)
            carry, is_first = tree.map(settled, carry, after), False
        carry = tree.map(lambda a, c, goes_on=goes_on: where(goes_on, a, c), after, carry)
        goes_on = logical_and(goes_on, truth(condition(carry)))
    return carry


def _outside(batch, condition, body, init, while_loop):
    """One loop outside of the vmap, which carries all for each example: what is the same for all now may differ after a turn."""
    leaves, build = tree.flatten(init)
    starts: list = [asarray(x) for x in leaves]
    if any(map(is_number, leaves)):
        after = tree.leaves(body(build(starts)))
        starts = [asarray(settled(x, a)) for x, a in zip(leaves, after, strict=True)]
    check_carry(build(starts), body(build(starts)))
    _check_unlinked(starts)

    def run(function, carried):
        with changed(tracer=batch):
            found = tree.leaves(function(build([batch.leaf(c.detach()) for c in carried])))
            _check_unlinked(found)
        return [batch.results(x) for x in found]

    def goes_on(carried):
        return run(lambda carry: truth(condition(carry)), carried)[0]

    def turn(state):
        carried, lanes = state
        new = [where(reshape(lanes, (-1, *(1,) * (c.ndim - 1))), a, c) for a, c in zip(run(body, carried), carried, strict=True)]
        return new, logical_and(lanes, goes_on(new))

    with batch.around():
        carried = [batch.results(s).detach() for s in starts]
        found, _ = while_loop(lambda state: state[1].any(), turn, (carried, goes_on(carried)))
    return build([batch.leaf(x) for x in found])


def _check_unlinked(values):
    if any([isinstance(v, Value) and v.record is not None for v in values]):
        raise GraphError("a while_loop cannot be differentiated under jit, since nobody knows how many steps to keep; use rg.scan, "
                         "or rg.fori_loop with bounds that are numbers")
