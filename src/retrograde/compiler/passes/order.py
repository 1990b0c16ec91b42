"""Order: steps that update state come after those that may fail, as far as these do not need them.

Takes  steps in order, with their nests.
Gives  the same steps in another order.
Keeps  each step after those that it reads; the steps of a nest beside each other; effects in the order in which they were called. A
       call that fails in a step which no update is needed for has written nothing.
"""

from itertools import groupby


def risky_steps(schedule):
    """The steps of a schedule that may find a position out of range or a matrix without an answer, or call what may raise."""
    kind = schedule.facts.kind
    fragile = {node for node in schedule.nodes if kind(node).may_fail(node)}
    return {step for step in schedule.steps if step.kernel.may_fail_in(step, schedule, fragile)}


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
