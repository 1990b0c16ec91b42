"""Parted: loops of many results, taken apart where these have nothing in common.

An optimizer counts the steps of each parameter: a loop over no axes, with as many results as there are parameters. LLVM takes
time that grows with the square of a function's length, so that 96 layers take 64 times as long as 12, where 24 loops of equal form
are one function. Nor does a processor gain by a loop that reads and writes hundreds of arrays side by side.
"""

from math import inf

from .. import cost


def parted(steps, is_loaded, is_short=False):
    """`steps` with those of more than `cost.MOST_RESULTS` results cut in several; `is_loaded(node, stage)` as of a schedule. Of a
    graph that `is_short`, all whose results have nothing in common are cut: which layers are left out of it must not be seen.
    """
    found = []
    for step in steps:
        if step.kernel.fuses and len(step.roots) > (1 if is_short else cost.MOST_RESULTS):
            parts = _connected(step, is_loaded, 2) if is_short else _parts(step, is_loaded)
            found += [type(step)(step.kernel, step.stage, roots, step.domain, step.reduced) for roots in parts]
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


def _connected(step, is_loaded, least=inf):
    """The results of a step as lists of those that are computed from common values, in the order of their first ones, or that read
    a common array of at least so many elements.
    """
    number_of, leaders = {}, list(range(len(step.roots)))
    for number, root in enumerate(step.roots):
        stack = [root]
        while stack:
            node = stack.pop()
            # What has been met is not followed again: whatever is below it belongs to whoever met it first.
            if node in number_of:
                _join(leaders, number, number_of[node])
                continue
            number_of[node] = number
            if node is root or not is_loaded(node, step.stage):
                stack += [a for a in node.inputs if _is_common(a, step, is_loaded) or a.size >= least]
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
