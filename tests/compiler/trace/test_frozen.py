"""frozen: arrays are read-only while a function is traced, and afterwards as they were before."""

import numpy as np
import pytest

from retrograde.compiler.trace.frozen import Frozen
from retrograde.core import writes


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.fixture
def frozen():
    found = Frozen()
    yield found
    found.release()
    assert not writes.FROZEN


def test_an_array_can_be_written_to_again_and_one_that_was_read_only_stays_so(frozen):
    plain, fixed = np.zeros(3), read_only(np.zeros(3))
    for array in (plain, fixed):
        frozen.add(array)
        assert not array.flags.writeable
    frozen.release()
    assert plain.flags.writeable
    assert not fixed.flags.writeable


def test_an_array_that_is_added_twice_is_held_once(frozen):
    array = np.zeros(3)
    frozen.add(array)
    frozen.add(array)
    frozen.release()
    assert array.flags.writeable


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_array_and_a_view_of_it_are_released_together(frozen, order):
    base = np.zeros(4)
    arrays = base, base[1:]
    for place in order:
        frozen.add(arrays[place])
    assert not any(array.flags.writeable for array in arrays)
    frozen.release()
    assert all(array.flags.writeable for array in arrays)


def test_a_view_whose_array_became_read_only_is_left_alone(frozen):
    base = np.zeros(4)
    view = base[1:]
    base.flags.writeable = False  # NumPy would not let a view be written to again that was not at some time
    frozen.add(view)
    assert not writes.FROZEN
    frozen.release()
    assert view.flags.writeable
    assert not base.flags.writeable


def test_what_is_no_array_is_left_alone(frozen):
    class Other(np.ndarray):
        pass

    other = np.zeros(3).view(Other)
    frozen.add(other)
    frozen.add(1.0)
    assert other.flags.writeable
