"""outcome_of: what a function of values gives on symbols, and that nothing from outside stays as it is held while it is traced."""

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf
from retrograde.compiler.trace.outcome import outcome_of
from retrograde.core import writes


def _raise(_):
    raise RuntimeError


@pytest.mark.parametrize("and_then", [lambda x: x, _raise], ids=["a result", "an error"])
def test_numpy_may_write_to_a_tensor_from_outside_when_its_function_has_been_traced(and_then):
    factor, held = rg.tensor(np.ones(3)), []

    def function(x):
        product = x * factor
        held.append(factor.data.flags.writeable)
        return and_then(product)

    try:
        assert outcome_of(function, [leaf(3)]).op.name == "multiply"
    except RuntimeError:
        assert and_then is _raise
    assert held == [False]
    assert factor.data.flags.writeable
    assert not writes.FROZEN
