"""Parted: loops of many results, taken apart where these have nothing in common.

An optimizer counts the steps of each parameter: a loop over no axes, with as many results as there are parameters. LLVM takes
time that grows with the square of a function's length, so that 96 layers take 64 times as long as 12, where 24 loops of equal form
are one function. Nor does a processor gain by a loop that reads and writes hundreds of arrays side by side.
"""

from .. import cost


def parted(steps, is_loaded):
    """`steps` with those of more than `cost.MOST_RESULTS` results cut in several; `is_loaded(node, stage)` as of a schedule."""
    found = []
    for step in steps:
        if step.kernel.fuses and len(step.roots) > cost.MOST_RESULTS:
            found += [type(step)(step.kernel, step.stage, roots, step.domain, step.reduced) for roots in _parts(step, is_loaded)]
        else:
            found.append(step)
    return found


def _parts(step, is_loaded):
    """The results of a step in several lists, those that share values in one."""
    found = [[]]
    for together in _connected(step, is_loaded):
        if found[-1] and len(found[-1]) + len(together) > cost.MOST_RESULTS:
            found.append([])
        found[-1] += together
    return found


def _connected(step, is_loaded):
    """The results of a step as lists of those that are computed from common values, in the order of their first ones."""
    number_of, leaders = {}, list(range(len(step.roots)))
    for number, root in enumerate(step.roots):
        stack = [root]
        while stack:
            node = stack.pop()
            # What another result has met is not followed again: whatever is below it is that one's.
            other = number_of.setdefault(node, number)
            if other != number:
                _join(leaders, number, other)
            elif node is root or not is_loaded(node, step.stage):
                stack += [a for a in node.inputs if _is_common(a, step, is_loaded)]
    groups = {}
    for number, root in enumerate(step.roots):
        groups.setdefault(_leader(leaders, number), []).append(root)
    return groups.values()


def _is_common(node, step, is_loaded):
    """Whether those who need a node had better stand in one loop: they compute it, or one of them may be computed in its memory, as
    an update of state, which only the last loop that reads it may be.
    """
    return not is_loaded(node, step.stage) or (node.op is None and node.shape == step.domain)


def _join(leaders, one, other):
    first, second = sorted([_leader(leaders, one), _leader(leaders, other)])
    leaders[second] = first


def _leader(leaders, number):
    """The first of the results that one is connected to, by way of those that were joined."""
    while leaders[number] != number:
        number = leaders[number] = leaders[leaders[number]]
    return number
