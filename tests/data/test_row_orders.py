import numpy as np
import pytest

from retrograde.data import ByLength, Loader
from retrograde.data.orders import Batched, key_of, shuffled
from retrograde.errors import ArgumentError, ShapeError


def test_shuffling_takes_each_row_once_in_an_order_of_seed_and_epoch():
    orders = [shuffled(1000, key_of(seed, epoch)) for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert all(sorted(order.tolist()) == list(range(1000)) for order in orders)
    assert (orders[0] == orders[1]).all()
    assert not any((orders[0] == other).all() for other in orders[2:])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_rows_are_shuffled_too(count):
    assert sorted(shuffled(count, 7).tolist()) == list(range(count))


def test_each_order_of_four_rows_is_about_as_frequent():
    counts = {}
    for epoch in range(6000):
        order = tuple(shuffled(4, key_of(3, epoch)).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    expected = 6000 / 24
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 60  # chi-squared with 23 degrees of freedom: 1 in 40,000


def test_an_order_is_the_same_in_every_release():
    # The first number of SplitMix64 from state 0, as its authors give it.
    assert key_of(0, -0xE220A8397B1DCDAF) == 0xE220A8397B1DCDAF
    words = np.random.Philox(key=np.array([key_of(0, 0), 2**64 - 1], np.uint64)).random_raw(8)
    assert shuffled(8, key_of(0, 0)).tolist() == np.argsort(words).tolist() == [0, 5, 4, 2, 7, 3, 6, 1]


@pytest.mark.parametrize(("count", "size", "drops", "wanted"), [
    (7, 3, False, [[0, 1, 2], [3, 4, 5], [6]]), (7, 3, True, [[0, 1, 2], [3, 4, 5]]), (0, 3, False, []), (2, 3, True, []),
])
def test_rows_in_their_order_are_cut_into_batches(count, size, drops, wanted):
    order = Batched(count, size, False, drops)
    assert [list(batch) for batch in order.batches(0, 0)] == wanted and len(order) == len(wanted)
    assert [list(batch) for batch in order.batches(0, 1)] == wanted[1:]


def test_batches_by_length_waste_little_and_take_each_row_once():
    lengths = np.random.default_rng(0).integers(1, 100, 1000)
    order = ByLength(lengths, 16, pool=20)
    found = list(order.batches(5, 0))
    assert sorted(np.concatenate(found).tolist()) == list(range(1000)) and len(found) == len(order)
    padded = sum(len(batch) * lengths[batch].max() for batch in found)
    plain = sum(len(batch) * lengths[batch].max() for batch in np.array_split(shuffled(1000, 5), 63))
    assert padded < 1.1 * lengths.sum() < 1.7 * lengths.sum() < plain
    assert [batch.tolist() for batch in order.batches(5, 10)] == [batch.tolist() for batch in found[10:]]
    assert [len(batch) for batch in ByLength(lengths, 16, drop_last=True).batches(5, 0)] == [16] * 62


def test_batches_by_length_are_not_in_the_order_of_their_lengths():
    lengths = np.arange(512)
    first = [lengths[batch].max() for batch in ByLength(lengths, 8).batches(1, 0)]
    assert first != sorted(first)


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: Loader([1, 2], 0), ArgumentError, "batch_size must be an integer of at least 1, got 0"),
    (lambda: Loader([1, 2], True), ArgumentError, "got True"),
    (lambda: Loader([1, 2], order=ByLength([1, 1], 1), shuffle=True), ArgumentError, "order decides"),
    (lambda: Loader([1, 2], workers=-1), ArgumentError, "workers must be"),
    (lambda: Loader([1, 2], workers=1, method="fork"), ArgumentError, "give processes=True"),
    (lambda: Loader([1, 2], prefetch=0), ArgumentError, "prefetch must be"),
    (lambda: ByLength([[1]], 1), ShapeError, "one length for each row"),
])
def test_mistakes_are_told(make, error, words):
    with pytest.raises(error, match=words):
        make()
