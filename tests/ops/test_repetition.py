"""Repetition: what tile and repeat give has memory of its own."""

import numpy as np
import pytest

import retrograde as rg

COPIES = {
    "tile once": lambda x: rg.tile(x, (1,)), "tile once, by a number": lambda x: rg.tile(x, 1), "repeat once": lambda x: rg.repeat(x, 1),
    "tile one element": lambda x: rg.tile(x[:1], 3), "repeat one element": lambda x: rg.repeat(x[:1], 3, axis=0),
    "tile": lambda x: rg.tile(x, (2, 2)), "repeat": lambda x: rg.repeat(x, 2),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("compiled", [False, True])
def test_writing_to_the_source_leaves_copies_as_they_are(name, compiled):
    x = rg.tensor([1.0, 2.0, 3.0])

    def written():
        with rg.no_grad():
            copy = COPIES[name](x)
            x[...] = x * 10
            return copy * 1

    before = np.asarray(COPIES[name](rg.tensor([1.0, 2.0, 3.0])))
    np.testing.assert_array_equal(np.asarray((rg.jit(written) if compiled else written)()), before)


def test_copies_can_be_written_to():
    copy = rg.tile(rg.tensor([2.0]), 3)
    copy[1] = 5.0
    np.testing.assert_array_equal(np.asarray(copy), [2, 5, 2])
