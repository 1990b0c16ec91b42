"""groups: steps are made one nest just where the steps and nests that there are keep an order."""

from graphlib import CycleError, TopologicalSorter

import numpy as np
import pytest

from retrograde.compiler.passes.groups import Groups


class Step:
    def __init__(self, number, needs):
        self.roots, self.needs = [number], needs


class Schedule:
    def __init__(self, needs):
        self.steps = [Step(number, needed) for number, needed in enumerate(needs)]

    def read_by(self, step):
        return step.needs


class Rows:
    """Rows that never keep two steps apart."""

    def counts(self, step):
        return [8]

    def are_apart(self, steps, count):
        return True

    def leave_cache(self, parts, count):
        return False


def has_order(needs, nest_of):
    graph = {nest: set() for nest in nest_of}
    for number, needed in enumerate(needs):
        graph[nest_of[number]] |= {nest_of[n] for n in needed} - {nest_of[number]}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_two_nests_become_one_just_where_all_still_has_an_order(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(5, 25))
    needs = [sorted({int(n) for n in rng.integers(max(0, i - 9), i, min(i, 3))}) for i in range(count)]
    groups, nest_of = Groups(Schedule(needs), Rows()), list(range(count))
    for number in range(count):
        groups.open(number)
    refused = 0
    for one, other in rng.integers(0, count, (2 * count, 2)).tolist():
        if nest_of[one] == nest_of[other]:
            continue
        wanted = [nest_of[one] if nest == nest_of[other] else nest for nest in nest_of]
        is_allowed = has_order(needs, wanted)
        nest_of, refused = wanted if is_allowed else nest_of, refused + (not is_allowed)
        groups.unite(one, other)
        found = {step.roots[0]: number for number, (steps, _) in enumerate(groups.found()) for step in steps}
        assert all([(nest_of[n] == nest_of[m]) == (n == m or (n in found and found[n] == found.get(m)))
                    for n in (one, other) for m in range(count)])
    assert refused
