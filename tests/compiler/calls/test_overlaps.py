"""Overlaps: arrays share memory where they have an element in common, and it counts where one of them is written to."""

import numpy as np
import pytest

from retrograde.compiler.calls.overlaps import Memory, overlap

BLOCK, OTHER = np.zeros(12), np.zeros(12)
FOREIGN = np.frombuffer(bytearray(96), np.float64)
#: Two arrays, and whether they share an element.
PAIRS = {
    "one": (BLOCK, BLOCK, True), "a part": (BLOCK, BLOCK[4:], True), "parts that meet": (BLOCK[:7], BLOCK[6:], True),
    "parts beside each other": (BLOCK[:6], BLOCK[6:], False), "every other": (BLOCK[::2], BLOCK[1::2], False), "backwards": (BLOCK[:5][::-1], BLOCK[4:], True),
    "two blocks": (BLOCK, OTHER, False), "memory of something else": (FOREIGN[:6], FOREIGN[5:], True), "other parts of it": (FOREIGN[:6], FOREIGN[6:], False),
    "of it and of a block": (FOREIGN, BLOCK, False), "views of a view": (BLOCK[2:][2:], BLOCK[:5][1:], True),
}


@pytest.mark.parametrize("name", PAIRS)
def test_memory_is_shared_where_an_element_is(name):
    a, b, is_shared = PAIRS[name]
    for one, other in ((a, b), (b, a)):
        assert Memory([one]).holds_one([other]) is is_shared
        assert Memory([np.zeros(3), one]).holds_one([np.zeros(2), other]) is is_shared
        for written in ((True, False), (False, True), (True, True)):
            assert overlap([one, other], written) is is_shared
            assert overlap([np.zeros(0), one, np.zeros(3), other], (True, written[0], True, written[1])) is is_shared
        assert overlap([one, other], (False, False)) is False


def test_nothing_shares_memory_with_nothing():
    assert Memory([]).holds_one([BLOCK]) is False
    assert Memory([BLOCK]).holds_one([]) is False
    assert overlap([], ()) is False
    assert overlap([BLOCK], (True,)) is False


def test_what_is_written_far_behind_another_is_looked_for_among_all():
    assert overlap([BLOCK, BLOCK[1:3], BLOCK[8:]], (False, False, True)) is True
    assert overlap([BLOCK[:4], BLOCK[1:3], BLOCK[8:], BLOCK[9:10]], (False, False, True, False)) is True
    assert overlap([BLOCK[:4], BLOCK[1:3], BLOCK[8:]], (False, False, True)) is False
