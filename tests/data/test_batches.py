import numpy as np
import pytest

import retrograde as rg
from retrograde import data


def test_batches_come_in_order_and_together():
    found = [(x.tolist(), y.tolist()) for x, y in data.batches(np.arange(5), rg.arange(5) * 2, batch_size=2)]
    assert found == [([0, 1], [0, 2]), ([2, 3], [4, 6]), ([4], [8])]


def test_a_last_batch_that_is_not_full_can_be_left_out():
    minibatches = data.batches(np.arange(5), batch_size=2, drop_last=True)
    assert len(minibatches) == len(list(minibatches)) == 2


def test_shuffling_takes_each_once_in_a_new_order_every_epoch():
    minibatches = data.batches(np.arange(50), batch_size=8, shuffle=True, seed=0)
    first, second = (np.concatenate([x.numpy() for (x,) in minibatches]) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(50))
    assert list(first) != list(second)


def test_the_seed_decides_the_order():
    orders = [[x.tolist() for (x,) in data.batches(np.arange(9), batch_size=4, shuffle=True, seed=s)] for s in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_a_batch_is_a_copy():
    x = np.zeros(4)
    for (batch,) in data.batches(x, batch_size=2):
        batch[...] = 1.0
    assert not x.any()


@pytest.mark.parametrize(("arrays", "options"), [
    ((), {}), ((np.ones(2), np.ones(3)), {}), ((np.ones(2),), {"batch_size": 0}),
    ((np.ones(2),), {"seed": 1, "generator": rg.Generator(0)}),
])
def test_mistakes_are_told(arrays, options):
    with pytest.raises(ValueError, match=r"batches|arrays|batch_size"):
        data.batches(*arrays, **options)


def test_digits_are_split_in_the_same_way_each_time():
    pytest.importorskip("sklearn", reason="scikit-learn comes with the extra `demo`")
    one, two = data.digits(), data.digits()
    assert one.images.shape == (1437, 1, 8, 8)
    assert one.held_out_images.shape == (360, 1, 8, 8)
    assert one.images.dtype == np.float32
    assert one.images.max() == 1
    assert set(one.held_out_labels) == set(range(10))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
