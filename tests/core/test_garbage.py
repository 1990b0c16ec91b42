"""A rest for Python's garbage collector, which ends as it began."""

import gc

import pytest

import retrograde as rg
from retrograde.core.garbage import uncollected


@pytest.fixture(params=[True, False], ids=["on", "off"])
def was_on(request):
    (gc.enable if request.param else gc.disable)()
    yield request.param
    gc.enable()


def test_the_collector_rests_and_is_afterwards_as_it_was(was_on):
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is was_on


def test_an_error_ends_the_rest_too(was_on):
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled() is was_on


def test_it_rests_while_a_function_is_traced_and_no_longer():
    seen = []

    @rg.jit
    def step(x):
        seen.append(gc.isenabled())
        return x + 1

    step(rg.ones(2))
    assert seen == [False] and gc.isenabled()


@pytest.mark.skipif(gc.get_freeze_count() > 0, reason="this Python has kept objects frozen since its start")
def test_what_is_left_of_a_rest_is_not_looked_through_at_once():
    found, kept = [], []
    gc.collect()
    gc.callbacks.append(lambda phase, info: found.append(len(kept)))
    try:
        with uncollected():
            kept += [[number] for number in range(10_000)]
        assert not any(found) and gc.get_count()[0] < 1_000
    finally:
        gc.callbacks.pop()


def test_what_a_program_froze_stays_frozen():
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with uncollected():
            kept = [[]]
        assert gc.get_freeze_count() == before and kept
    finally:
        gc.unfreeze()


def test_cycles_of_a_rest_are_collected_later():
    class Node:
        alive = 0

        def __init__(self):
            Node.alive, self.itself = Node.alive + 1, self

        def __del__(self):
            Node.alive -= 1

    with uncollected():
        for _ in range(10):
            Node()
    assert Node.alive == 10
    gc.collect()
    assert Node.alive == 0
