"""Order: steps that update state come after those that may fail, as far as these do not need them.

Takes  steps in order, with their nests.
Gives  the same steps in another order.
Keeps  each step after those that it reads; the steps of a nest beside each other; effects in the order in which they were called. A
       call that fails in a step which no update is needed for has written nothing.
"""

from itertools import groupby

from ..kinds import are_within, is_checked, scattered
from ..solvers import may_fail


def risky_steps(schedule):
    """The steps of a schedule that may find a position out of range or a matrix without an answer, or call what may raise."""
    kind = schedule.facts.kind
    fragile = {n for n in schedule.nodes if is_checked(n) or (kind(n) == "gather" and not _holds(*n.args[:3]))}
    return {step for step in schedule.steps if _may_fail(schedule, step, fragile)}


def _holds(source, positions, axis):
    """Whether positions along an axis are known to be in range, or else a step before has failed."""
    return is_checked(positions) or are_within(positions, source.shape[axis])


def _may_fail(schedule, step, fragile):
    if step.kind == "scatter":
        return not is_checked(scattered(step.roots[0])[1])
    if step.kind == "solver":
        return may_fail(step.roots[0])
    if step.kind != "loop":
        return step.kind == "call"
    return not fragile.isdisjoint(schedule.computed_by(step))


def updates_last(schedule, updates, risky):
    """The steps of a schedule with those that update state after all `risky` ones, as far as these do not need them: a call that
    fails then has written nothing. Nests stay whole.
    """
    if not risky:
        return schedule.steps
    turns = [tuple(steps) for _, steps in groupby(schedule.steps, lambda step: step.nest or step)]
    makers = {root: turn for turn in turns for step in turn for root in step.roots}
    reads = {turn: [makers[n] for step in turn for n in schedule.read_by(step) if n in makers] for turn in turns}
    failing = [number for number, turn in enumerate(turns) if not risky.isdisjoint(turn)]
    needed, stack = set(), [turns[number] for number in failing]
    while stack:
        turn = stack.pop()
        if turn not in needed:
            needed.add(turn)
            stack.extend(reads[turn])
    updated, delayed = {node for _, node in updates}, {}
    before, rest = turns[: failing[-1] + 1], turns[failing[-1] + 1 :]
    for turn in before:
        is_update = turn not in needed and any([root in updated for step in turn for root in step.roots])
        if is_update or any([other in delayed for other in reads[turn] if other is not turn]):
            delayed[turn] = True
    return [step for turn in (*[t for t in before if t not in delayed], *delayed, *rest) for step in turn]
