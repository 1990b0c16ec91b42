"""memory: lifetimes of stored nodes, and where those that live at one step lie."""

import numpy as np
import pytest

from graphs import called, draft_of, leaf, schedule_of
from retrograde.compiler.kernels.kernel import Scratch
from retrograde.compiler.passes.memory import Arena, lifetimes, placed


def chain(count):
    x = leaf(64, 64)
    node, nodes = x, []
    for _ in range(count):
        node = called("matmul", node, x)
        nodes.append(node)
    return nodes


def test_a_node_lives_from_the_step_that_makes_it_to_the_last_one_that_reads_it():
    nodes = chain(4)
    late = called("matmul", nodes[-1], nodes[0])
    schedule = schedule_of(late)
    found = lifetimes(schedule, [late])
    assert [found[node] for node in nodes] == [[0, 4], [1, 2], [2, 3], [3, 4]]
    assert found[late] == [4, 5]


def test_the_steps_of_a_nest_are_one_step_for_what_it_shares():
    draft = draft_of([called("subtract", called("exp", leaf(512, 256)), 1.0)])
    schedule = draft.schedule
    nest = object()
    for step in schedule.steps:
        step.nest = nest
    assert set(map(tuple, lifetimes(schedule, ()).values())) == {(0, 0)}


def test_a_chain_takes_the_room_of_two_of_its_nodes():
    nodes = chain(6)
    arena = placed(schedule_of(nodes[-1]), [], set())
    assert arena.size == 2 * nodes[0].nbytes


def test_what_is_kept_is_not_overwritten_and_what_is_elsewhere_takes_no_room():
    nodes = chain(6)
    schedule = schedule_of(nodes[-1])
    assert placed(schedule, nodes, set()).size == 6 * nodes[0].nbytes
    assert placed(schedule, [], set(nodes[1:])).places == {nodes[0]: 0}


def test_scratch_lies_beside_what_lives_at_its_step():
    nodes, scratch = chain(3), Scratch(1000)
    arena = placed(schedule_of(nodes[-1]), [], set(), [(scratch, 1)])
    start = arena.places[scratch]
    for node in nodes[:2]:  # one is read at that step, the other one is made
        at = arena.places[node]
        assert at + node.nbytes <= start or start + 1000 <= at


@pytest.mark.parametrize("seed", range(30))
def test_each_buffer_lies_as_low_as_those_that_live_beside_it_let_it(seed):
    generator = np.random.default_rng(seed)
    firsts = np.sort(generator.integers(0, 12, 20)).tolist()
    requests = [(number, int(generator.integers(0, 300)), first, first + int(generator.integers(0, 5))) for number, first in enumerate(firsts)]
    wanted, size = {}, 0
    for number, nbytes, first, _ in requests:
        taken = max(-(-nbytes // 64), 1) * 64
        live = [(wanted[n], wanted[n] + max(-(-b // 64), 1) * 64) for n, b, _, last in requests[:number] if last >= first]
        wanted[number] = next(at for at in range(0, 10 ** 5, 64) if all(end <= at or at + taken <= start for start, end in live))
        size = max(size, wanted[number] + taken)
    arena = Arena(requests)
    assert arena.places == wanted
    assert arena.size == size


def test_what_is_kept_and_stored_by_no_step_has_no_lifetime():
    x = leaf(64, 64)
    node = called("matmul", x, x)
    assert lifetimes(schedule_of(node), [x, node]) == {node: [0, 1]}
