import gc
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import retrograde as rg
from data_sets import Faulty, Numbered, double, missing, noisy, stopped
from retrograde.data import ByLength, Loader, Pad, sample_generator, source
from retrograde.errors import DataError

WAYS = [{}, {"workers": 1}, {"workers": 3}, {"workers": 2, "processes": True, "method": "fork"}]
FORKS = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


def taken(loader, epochs=1):
    """All numbers of some epochs."""
    return [[part.numpy().copy() for part in batch] for _ in range(epochs) for batch in loader]


def assert_equal(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype


@FORKS
@pytest.mark.parametrize("way", WAYS[1:], ids=str)
def test_batches_do_not_depend_on_the_workers(way):
    plain = taken(Loader(Numbered(20), 3, shuffle=True, seed=4), epochs=2)
    assert_equal(taken(Loader(Numbered(20), 3, shuffle=True, seed=4, **way), epochs=2), plain)
    assert len(plain) == 14
    assert len({float(n) for _, numbers in plain for n in numbers}) == 40  # another random number for each row and epoch


@FORKS
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_loader_goes_on_from_where_it_was(way):
    whole = taken(Loader(Numbered(10), 3, shuffle=True, seed=1), epochs=3)
    for stop in (0, 1, 3, 4, 6):
        first, found = Loader(Numbered(10), 3, shuffle=True, seed=1, **way), []
        while len(found) < stop:
            for batch in first:
                found.append([part.numpy().copy() for part in batch])
                if len(found) == stop:
                    state = json.loads(json.dumps(first.state_dict()))
                    break
        state = first.state_dict() if stop == 0 else state
        second = Loader(Numbered(10), 3, shuffle=True, seed=9, **way)
        second.load_state_dict(state)
        while second.epoch < 3:
            found += taken(second)
        assert_equal(found, whole)


def test_each_iteration_is_an_epoch_also_one_that_is_not_finished():
    loader = Loader(np.arange(8), 8, shuffle=True)
    whole = [batch.tolist() for _ in range(3) for batch in loader]
    again = Loader(np.arange(8), 8, shuffle=True)
    assert next(iter(again)).tolist() == whole[0]
    assert again.state_dict() == {"epoch": 0, "position": 1, "seed": 0, "rows": 8, "batches": 1, "batch_size": 8, "shuffle": True}
    assert [batch.tolist() for batch in again] == whole[1:2]
    assert (again.epoch, again.position) == (2, 0)


def test_an_iterator_of_before_does_not_move_the_place():
    loader = Loader(np.arange(9), 3)
    old = iter(loader)
    next(old)
    new = iter(loader)
    next(new)
    list(old)
    assert (loader.epoch, loader.position) == (1, 1)


@pytest.mark.parametrize("changed", [{"rows": 9}, {"batch_size": 2}, {"shuffle": False}, {"batches": 1}])
def test_a_state_of_other_data_is_refused_before_anything_changes(changed):
    loader = Loader(np.arange(10), 3, shuffle=True)
    before = loader.state_dict()
    with pytest.raises(DataError, match=f"{next(iter(changed))}="):
        loader.load_state_dict({**before, "epoch": 5, **changed})
    with pytest.raises(DataError, match="epoch, position"):
        loader.load_state_dict({"seed": 1})
    assert loader.state_dict() == before


@pytest.mark.parametrize("rows", [
    np.arange(40.0).reshape(10, 2, 2), (np.arange(10), np.ones((10, 3))), {"a": np.arange(10), "s": np.array(list("abcdefghij"))},
    rg.arange(10), source(np.arange(20)).select(np.arange(0, 20, 2)),
], ids=["array", "tuple", "dictionary", "tensor", "selection"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_many_rows_at_once_are_what_they_are_one_by_one(rows, shuffle):
    gathered = list(Loader(rows, 4, shuffle=shuffle))
    one_by_one = list(Loader(rows, 4, shuffle=shuffle, collate=lambda rows: rg.data.collate(rows)))
    for a, b in zip(gathered, one_by_one, strict=True):
        assert rg.tree.structure(a) == rg.tree.structure(b)
        for x, y in zip(rg.tree.flatten(a)[0], rg.tree.flatten(b)[0], strict=True):
            assert getattr(x, "dtype", None) == getattr(y, "dtype", None)
            np.testing.assert_array_equal(x, y)


def test_a_batch_is_a_copy():
    x = np.zeros(4, np.float32)
    for shuffle in (False, True):
        for batch in Loader(x, 2, shuffle=shuffle):
            batch[...] = 1.0
    assert not x.any()


def test_rows_that_come_many_at_once_are_asked_for_so():
    asked = []

    class Many:
        def __len__(self):
            return 5

        def __getitem__(self, i):
            raise AssertionError

        def __getitems__(self, indices):
            asked.append(indices)
            return [i * 10 for i in indices]

    assert [batch.tolist() for batch in Loader(Many(), 2)] == [[0, 10], [20, 30], [40]]
    assert asked == [[0, 1], [2, 3], [4]]


def test_augmentation_depends_on_seed_epoch_and_row_alone():
    rows = source(np.zeros(6)).augment(noisy)
    loader = Loader(rows, 6, seed=5)
    first, second = next(iter(loader)).numpy(), next(iter(loader)).numpy()
    assert len(set(first)) == len(set(second)) == 6 and not set(first) & set(second)
    np.testing.assert_array_equal(next(iter(Loader(rows, 2, seed=5))), first[:2])
    shuffled = Loader({"x": np.arange(6)}, 6, shuffle=True, seed=5, collate=lambda rows: np.array([row["x"] for row in rows]))
    order = next(iter(shuffled)).numpy()
    np.testing.assert_array_equal(next(iter(Loader(rows, 6, shuffle=True, seed=5))), first[order])
    assert rows[2] == rows[2]  # without a loader as well


def test_a_chain_of_augmentations_draws_on_from_one_stream():
    rows = source(np.zeros(3)).augment(noisy).augment(lambda x, generator: (x, x + generator.normal()))
    one, two = next(iter(Loader(rows, 3)))
    assert not np.isclose(two.numpy(), 2 * one.numpy()).any()


def test_a_sample_generator_is_known_in_samples_alone():
    with pytest.raises(DataError, match="only while a loader makes a sample"):
        sample_generator()
    list(Loader(Numbered(2), 1))
    with pytest.raises(DataError, match="only while"):
        sample_generator()


def test_rows_by_length_are_padded():
    rows = [np.arange(n) for n in (3, 1, 2, 5, 4, 6)]
    loader = Loader(rows, order=ByLength([len(row) for row in rows], 2), collate=Pad(value=-1))
    shapes = sorted(batch.shape for batch in loader)
    assert shapes == [(2, 2), (2, 4), (2, 6)] and len(loader) == 3


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_an_error_of_a_row_says_which_and_the_next_batch_comes(way):
    batches = iter(Loader(Faulty(missing), 2, **way))
    assert [len(next(batches)[0]) for _ in range(2)] == [2, 2]
    with pytest.raises(KeyError, match="no such label") as caught:
        next(batches)
    assert "while row 5, shelf 5, was made" in caught.value.__notes__
    assert next(batches)[0].numpy()[:, 0, 0].tolist() == [6, 7]


def test_an_error_of_collating_names_the_rows():
    with pytest.raises(rg.errors.ShapeError) as caught:
        list(Loader([np.ones(2), np.ones(3)], 2, shuffle=True))
    assert caught.value.__notes__[0].startswith("while a batch was made of rows [")


@pytest.mark.parametrize("way", [*WAYS[:2], pytest.param(WAYS[3], marks=FORKS)], ids=str)
def test_a_row_that_raises_stop_iteration_does_not_end_the_epoch(way):
    rows = Faulty(stopped)
    with pytest.raises(DataError, match="raised StopIteration"):
        list(Loader(rows, 2, **way))


def test_an_error_of_an_order_comes_after_the_batches_before_it():
    class Broken:
        def __len__(self):
            return 3

        def batches(self, key, start):
            yield [0]
            yield [1]
            raise LookupError("no more")

    batches = iter(Loader(np.arange(3), order=Broken(), workers=2))
    assert [next(batches).tolist() for _ in range(2)] == [[0], [1]]
    with pytest.raises(LookupError, match="no more"):
        next(batches)
    assert list(batches) == []


def test_threads_end_with_the_loader():
    before = set(threading.enumerate())
    loader = Loader(source(np.arange(100)).map(double), 2, workers=3)
    next(iter(loader))
    mine = set(threading.enumerate()) - before
    assert len(mine) == 3
    del loader
    gc.collect()
    for thread in mine:
        thread.join(10)
        assert not thread.is_alive()


def test_nothing_of_data_is_loaded_with_retrograde():
    code = "import sys, retrograde; print([n for n in sys.modules if n.startswith('retrograde.data') or n == 'multiprocessing'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"




@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("order", [None, "length"])
def test_parts_of_batches_are_together_the_batches(workers, order):
    x = np.arange(24)
    make = lambda shard: rg.data.Loader(
        x, 8, shard=shard, workers=workers,
        **({"shuffle": True, "seed": 3} if order is None else {"order": rg.data.ByLength(x % 5 + 1, 8)}))
    whole = [batch.tolist() for batch in make(None)]
    parts = [[batch.tolist() for batch in make((i, 4))] for i in range(4)]
    assert whole == [[row for part in batch for row in part] for batch in zip(*parts, strict=True)]
    assert make((0, 4)).state_dict() == make((1, 2)).state_dict() == make(None).state_dict()


@pytest.mark.parametrize(("count", "size", "shard", "drop", "text"), [
    (24, 9, (0, 2), False, "multiple of 2, got 9"), (21, 8, (0, 2), False, "the last of 3 batches has 5 rows.*drop_last=True"),
    (8, 8, (2, 2), False, r"shard must be \(i, n\)"), (8, 8, 2, False, r"shard must be"), (8, 8, (0, True), False, "shard must be")])
def test_batches_that_cannot_be_shared_evenly_are_refused(count, size, shard, drop, text):
    with pytest.raises(rg.errors.ArgumentError, match=text):
        list(rg.data.Loader(np.arange(count), size, shard=shard, drop_last=drop))
    assert len(list(rg.data.Loader(np.arange(21), 8, shard=(0, 2), drop_last=True))) == 2
