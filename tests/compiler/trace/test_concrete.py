"""concrete: numbers that a function reads while it is traced are computed again at each call, where that is little, and compared."""

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf
from retrograde.compiler.trace import concrete

X = leaf(3, dtype=np.float64)


def chain(count):
    node = X
    for _ in range(count):
        node = called("add", node, 1.0)
    return node


def test_a_number_is_computed_anew_from_what_is_known_of_outside():
    value = rg.tensor([1.0, 2.0, 3.0], dtype="float64")
    read = concrete.rereader(called("sum", chain(4)), {X: value})
    assert read() == 18.0
    value += 1.0
    assert read() == 21.0


@pytest.mark.parametrize(("node", "is_known"), [
    (chain(1), True), (chain(concrete._MOST_OPS), True), (chain(concrete._MOST_OPS + 1), False),
    (called("add", X, leaf(3, dtype=np.float64)), False),  # it depends on an argument as well
    (called("add", X, leaf(3, dtype=np.float64)).args[0], True),
    (called("sum", called("broadcast_to", X, (concrete._MOST_ELEMENTS // 4, 3))), True),
    (called("sum", called("broadcast_to", X, (concrete._MOST_ELEMENTS, 3))), False),
])
def test_little_that_depends_on_known_tensors_alone_is_computed_at_each_call(node, is_known):
    assert (concrete.rereader(node, {X: rg.zeros(3)}) is not None) is is_known


def test_as_many_elements_as_are_computed_at_each_call():
    most = leaf(concrete._MOST_ELEMENTS)
    more = leaf(concrete._MOST_ELEMENTS + 1)
    assert concrete.rereader(called("exp", most), {most: rg.zeros(1)}) is not None
    assert concrete.rereader(called("exp", more), {more: rg.zeros(1)}) is None


@pytest.mark.parametrize("size", [concrete._COMPARED, concrete._COMPARED + 1])
def test_contents_are_the_same_until_an_element_changes(size):
    array = np.zeros(size)
    seen = concrete.contents(lambda: array)
    start = seen()
    assert seen() == start
    array[-1] = 1e-300
    assert seen() != start
    array[-1] = 0.0
    assert seen() == start


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x.astype(np.float32), lambda x: x.reshape(1, -1)])
def test_large_contents_of_another_shape_or_dtype_are_others(change):
    arrays = [np.zeros(concrete._COMPARED + 1)]
    seen = concrete.contents(lambda: arrays[-1])
    assert seen() is True
    arrays.append(change(arrays[0]))
    assert seen() is False
