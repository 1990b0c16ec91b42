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
