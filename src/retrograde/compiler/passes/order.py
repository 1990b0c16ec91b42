"""Order: steps that update state come after those that may fail, as far as these do not need them; what goes on beside others
begins as soon as it can.

Takes  steps in order, with their nests.
Gives  the same steps in another order.
Keeps  each step after those that it reads; the steps of a nest beside each other; effects in the order in which they were called. A
       call that fails in a step which no update is needed for has written nothing.
"""

from itertools import groupby

from ..graph.effects import Effectful
from ..kernels.kernel import source


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
    groups = _groups(schedule)
    makers = {root: group for group in groups for step in group for root in step.roots}
    reads = {group: [makers[n] for step in group for n in schedule.read_by(step) if n in makers] for group in groups}
    failing = [number for number, group in enumerate(groups) if not risky.isdisjoint(group)]
    needed = _needed([groups[number] for number in failing], reads)
    before, rest = groups[: failing[-1] + 1], groups[failing[-1] + 1 :]
    delayed = _delayed([group for group in before if group not in needed], {node for _, node in updates}, reads)
    return [step for group in (*[g for g in before if g not in delayed], *delayed, *rest) for step in group]


def begun_early(schedule):
    """The steps of a schedule with those that begin an effect which goes on beside compiled code right after what they need."""
    groups = _groups(schedule)
    if not any([_begins(group) for group in groups]):
        return schedule.steps
    found = []
    for group in groups:
        at = len(found)
        if _begins(group):
            needed = {node for step in group for node in schedule.read_by(step)}
            while at and needed.isdisjoint([root for step in found[at - 1] for root in step.roots]):
                at -= 1
        found.insert(at, group)
    return [step for group in found for step in group]


def _groups(schedule):
    """The steps of a schedule, those of a nest together: they stand beside each other since `tile`."""
    return [tuple(steps) for _, steps in groupby(schedule.steps, lambda step: step.nest or step)]


def _begins(group):
    """Whether a step, or what it takes a result of, begins an effect."""
    node = source(group[0].roots[0])
    return node.op is not None and node.op.__class__ is Effectful and node.op.begins


def _needed(groups, reads):
    """These groups of steps, and all that they need."""
    needed, stack = set(), [*groups]
    while stack:
        group = stack.pop()
        if group not in needed:
            needed.add(group)
            stack.extend(reads[group])
    return needed


def _delayed(groups, updated, reads):
    """Those of some groups, in order, that update one of the nodes `updated` or need one that does."""
    delayed = {}
    for group in groups:
        is_update = any([root in updated for step in group for root in step.roots])
        # A step that reads what is delayed must be so too; no risky step does, or that would be needed, and not delayed.
        if is_update or any([other in delayed for other in reads[group]]):
            delayed[group] = True
    return delayed
