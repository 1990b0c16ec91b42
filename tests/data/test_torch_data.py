"""`torch.utils.data`: what PyTorch's users take for granted. With PyTorch installed, each case is compared with it."""

import json
from collections import namedtuple

import numpy as np
import pytest

from data_sets import refuse
from retrograde import torch as ours
from retrograde.errors import ArgumentError, DataError, DTypeError, ShapeError

try:
    import torch as theirs
    import torch.utils.data  # noqa: F401 - PyTorch loads it when it is asked to
except ImportError:
    theirs = None

DOORS = [pytest.param(ours, id="retrograde"), pytest.param(theirs, id="torch", marks=pytest.mark.skipif(
    theirs is None, reason="PyTorch comes with the extra `oracle`"))]
each = pytest.mark.parametrize("torch", DOORS)
Pair = namedtuple("Pair", ["x", "y"])


def listed(value):
    """Tensors as lists, containers as they are."""
    if hasattr(value, "tolist"):
        return str(value.dtype).removeprefix("torch."), value.tolist()
    if isinstance(value, dict):
        return {key: listed(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [listed(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def rows_of(torch, count=7):
    data = torch.utils.data
    return data.TensorDataset(torch.arange(count), torch.arange(count) * 0.5)


@each
def test_a_loader_in_order(torch):
    loader = torch.utils.data.DataLoader(rows_of(torch), batch_size=3)
    assert listed(list(loader)) == [[("int64", [0, 1, 2]), ("float32", [0.0, 0.5, 1.0])], [("int64", [3, 4, 5]), ("float32", [1.5, 2.0, 2.5])],
                                    [("int64", [6]), ("float32", [3.0])]]
    assert len(loader) == 3 and isinstance(loader.sampler, torch.utils.data.SequentialSampler)
    assert isinstance(loader.batch_sampler, torch.utils.data.BatchSampler) and loader.batch_size == 3


@each
@pytest.mark.parametrize(("options", "lengths"), [
    ({}, [1] * 7), ({"batch_size": 3}, [3, 3, 1]), ({"batch_size": 3, "drop_last": True}, [3, 3]), ({"batch_size": 9}, [7]),
    ({"batch_size": 9, "drop_last": True}, []), ({"batch_size": 3, "shuffle": True}, [3, 3, 1]), ({"batch_size": 4, "pin_memory": False}, [4, 3]),
])
def test_lengths_of_batches(torch, options, lengths):
    loader = torch.utils.data.DataLoader(rows_of(torch), **options)
    assert [len(x) for x, _ in loader] == lengths and len(loader) == len(lengths)


@each
def test_without_batches_rows_are_converted(torch):
    data = torch.utils.data
    assert listed(list(data.DataLoader([1.5, np.float32(2), np.ones(2), "a", (1, np.zeros(1)), {"a": np.ones(1)}], batch_size=None))) == [
        1.5, ("float32", 2.0), ("float64", [1.0, 1.0]), "a", [1, ("float64", [0.0])], {"a": ("float64", [1.0])}]
    assert listed(list(data.DataLoader([4, 5, 6], batch_size=None, sampler=[2, 0]))) == [6, 4]


@each
@pytest.mark.parametrize(("rows", "wanted"), [
    ([1, 2], ("int64", [1, 2])), ([1.5, 2.5], ("float64", [1.5, 2.5])), ([True, False], ("bool", [True, False])), (["a", "b"], ["a", "b"]),
    ([b"a"], [b"a"]), ([np.float32(1), np.float32(2)], ("float32", [1.0, 2.0])), ([np.ones(2), np.zeros(2)], ("float64", [[1.0, 1.0], [0.0, 0.0]])),
    ([(1, "a"), (2, "b")], [("int64", [1, 2]), ("a", "b")]), ([[1, 2], [3, 4]], [("int64", [1, 3]), ("int64", [2, 4])]),
    ([{"a": 1}, {"a": 2}], {"a": ("int64", [1, 2])}), ([Pair(1, 2.0), Pair(3, 4.0)], Pair(("int64", [1, 3]), ("float64", [2.0, 4.0]))),
    ([((1, 2), [3])], [[("int64", [1]), ("int64", [2])], [("int64", [3])]]),
], ids=str)
def test_collating(torch, rows, wanted):
    assert listed(torch.utils.data.default_collate(rows)) == wanted


@each
def test_tensors_are_collated_with_their_gradients(torch):
    x = torch.ones(3, requires_grad=True)
    torch.utils.data.default_collate([x, 2 * x]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


@each
@pytest.mark.parametrize("rows", [[np.ones(2), np.ones(3)], [object()], [(1, 2), (1,)], [np.array("a")]], ids=["shapes", "object", "lengths", "text"])
def test_what_cannot_be_collated_is_an_error(torch, rows):
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        torch.utils.data.default_collate(rows)


@each
@pytest.mark.parametrize("options", [
    {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2}, {"batch_sampler": [[1]], "shuffle": True},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0}, {"num_workers": -1}, {"timeout": -1},
    {"prefetch_factor": 2}, {"persistent_workers": True}, {"batch_size": -1}, {"drop_last": 3, "batch_size": 2},
], ids=str)
def test_options_that_exclude_each_other(torch, options):
    with pytest.raises(ValueError):  # noqa: PT011 - the words are each library's own
        torch.utils.data.DataLoader([1, 2, 3], **options)


@each
def test_what_cannot_be_changed_later(torch):
    loader = torch.utils.data.DataLoader([1, 2, 3])
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, 1)
    loader.collate_fn = len
    assert list(loader) == [1, 1, 1]


@each
def test_samplers_and_batch_samplers_of_a_user(torch):
    data = torch.utils.data
    assert listed(list(data.DataLoader([10, 20, 30], sampler=[2, 2, 0], batch_size=2))) == [("int64", [30, 30]), ("int64", [10])]
    assert listed(list(data.DataLoader({"a": 1, "b": 2}, sampler=["b", "a"], batch_size=2))) == [("int64", [2, 1])]
    loader = data.DataLoader([10, 20, 30], batch_sampler=[[0, 1], [2]])
    assert listed(list(loader)) == [("int64", [10, 20]), ("int64", [30])] and len(loader) == 2
    assert list(data.BatchSampler(data.SequentialSampler(range(5)), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3 and len(data.BatchSampler(range(5), 2, True)) == 2


@each
def test_random_samplers_take_what_they_say(torch):
    data = torch.utils.data
    torch.manual_seed(0)
    assert sorted(data.RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    assert len(list(data.RandomSampler(range(5), num_samples=12))) == 12 == len(data.RandomSampler(range(5), num_samples=12))
    counts = np.bincount(list(data.RandomSampler(range(5), num_samples=12)), minlength=5)
    assert set(counts) <= {2, 3}  # each order is taken as a whole
    drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=2000))
    assert np.bincount(drawn).min() > 300
    assert sorted(data.SubsetRandomSampler([4, 8, 6])) == [4, 6, 8] and len(data.SubsetRandomSampler([4, 8])) == 2
    heavy = np.bincount(list(data.WeightedRandomSampler([1, 0, 3], 4000)), minlength=3)
    assert heavy[1] == 0 and 0.7 < heavy[2] / 4000 < 0.8
    assert sorted(data.WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
    first = [next(iter(data.WeightedRandomSampler([1, 3], 1, replacement=False))) for _ in range(800)]
    assert 0.69 < np.mean(first) < 0.81
    with pytest.raises((ValueError, RuntimeError)):
        list(data.WeightedRandomSampler([1, 2], 3, replacement=False))
    with pytest.raises((ValueError, ZeroDivisionError)):
        list(data.RandomSampler([], num_samples=3))
    with pytest.raises(ValueError, match="num_samples"):
        data.WeightedRandomSampler([1, 2], -3)


@each
def test_a_generator_decides_the_order_and_others_do_not(torch):
    def order(seed, other):
        torch.manual_seed(other)
        return [x.item() for x in torch.utils.data.DataLoader(range(20), shuffle=True, generator=torch.Generator().manual_seed(seed))]

    assert order(1, 0) == order(1, 5) != order(2, 0)
    torch.manual_seed(3)
    loader = torch.utils.data.DataLoader(range(20), shuffle=True)
    first, second = ([x.item() for x in loader] for _ in range(2))
    torch.manual_seed(3)
    assert [x.item() for x in loader] == first != second


@each
@pytest.mark.parametrize(("count", "replicas", "drop"), [(10, 3, False), (10, 3, True), (2, 4, False), (9, 3, False), (1, 3, True)])
def test_distributed_samplers_share_the_rows(torch, count, replicas, drop):
    parts = [torch.utils.data.distributed.DistributedSampler(range(count), replicas, rank, shuffle=False, drop_last=drop) for rank in range(replicas)]
    rows = list(range(count))
    size = count // replicas if drop else -(-count // replicas)
    padded = (rows * (size * replicas // count + 1))[: size * replicas]
    assert [list(part) for part in parts] == [padded[rank::replicas][:size] for rank in range(replicas)]
    assert {len(part) for part in parts} == {size}


@each
def test_distributed_samplers_draw_one_order_an_epoch(torch):
    parts = [torch.utils.data.DistributedSampler(range(8), 2, rank, seed=4) for rank in range(2)] if hasattr(
        torch.utils.data, "DistributedSampler") else []
    first = [list(part) for part in parts]
    assert sorted(first[0] + first[1]) == list(range(8)) and [list(part) for part in parts] == first
    for part in parts:
        part.set_epoch(1)
    second = [list(part) for part in parts]
    assert sorted(second[0] + second[1]) == list(range(8)) and second != first
    with pytest.raises((ValueError, RuntimeError)):
        torch.utils.data.DistributedSampler(range(8), 2, 2)


@each
def test_data_sets_of_data_sets(torch):
    data = torch.utils.data
    both = data.ConcatDataset([[1, 2, 3], [4, 5]])
    assert [both[i] for i in range(5)] == [1, 2, 3, 4, 5] and both[-1] == 5 and both.cumulative_sizes == [3, 5]
    with pytest.raises((ValueError, IndexError)):
        both[-6]
    assert len(rows_of(torch, 3) + rows_of(torch, 2)) == 5
    beside = data.StackDataset(a=[1, 2], b=[3, 4])
    assert beside[1] == {"a": 2, "b": 4} and len(beside) == 2 and data.StackDataset([1, 2], [3, 4])[0] == (1, 3)
    some = data.Subset([10, 20, 30], [2, 0])
    assert (some[0], some[1], len(some)) == (30, 10, 2)
    assert listed(list(data.DataLoader(data.Subset(rows_of(torch), [5, 1, 3]), 2))) == [
        [("int64", [5, 1]), ("float32", [2.5, 0.5])], [("int64", [3]), ("float32", [1.5])]]
    for make in (lambda: data.ConcatDataset([]), lambda: data.StackDataset(), lambda: data.StackDataset([1], b=[2]), lambda: data.StackDataset([1], [1, 2]),
                 lambda: data.TensorDataset(torch.ones(2), torch.ones(3))):
        with pytest.raises((ValueError, AssertionError)):
            make()
    with pytest.raises(NotImplementedError):
        data.Dataset()[0]


@each
@pytest.mark.parametrize(("count", "lengths", "wanted"), [
    (10, [3, 7], [3, 7]), (10, [0.3, 0.7], [3, 7]), (10, [0.35, 0.35, 0.3], [4, 3, 3]), (10, [1 / 3] * 3, [4, 3, 3]), (7, [1.0], [7]),
    (3, [0.1, 0.9], [1, 2]), (100, [0.71, 0.29], [72, 28]), (5, [5, 0], [5, 0]),
], ids=str)
def test_random_splits(torch, count, lengths, wanted):
    parts = torch.utils.data.random_split(range(count), lengths, generator=torch.Generator().manual_seed(1))
    assert [len(part) for part in parts] == wanted
    assert sorted(row for part in parts for row in part) == list(range(count))


@each
@pytest.mark.parametrize("lengths", [[3, 3], [0.5, 0.6], [-0.5, 1.5], [20]], ids=str)
def test_splits_that_do_not_add_up(torch, lengths):
    with pytest.raises(ValueError):  # noqa: PT011 - the words are each library's own
        torch.utils.data.random_split(range(10), lengths)


def streams(torch, count=11):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            yield from range(*((0, count, 1) if info is None else (info.id, count, info.num_workers)))

        def __len__(self):
            return count

    return Stream()


@each
@pytest.mark.parametrize(("options", "wanted"), [
    ({"batch_size": 4}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]), ({"batch_size": 4, "drop_last": True}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ({"batch_size": None}, list(range(11))),
    ({"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork"}, [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]),
    ({"batch_size": 2, "num_workers": 3, "multiprocessing_context": "fork"}, [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8]]),
    ({"batch_size": 4, "num_workers": 3, "drop_last": True, "multiprocessing_context": "fork"}, [[0, 3, 6, 9], [1, 4, 7, 10]]),
], ids=str)
@pytest.mark.filterwarnings("ignore:.*fork", "ignore:.*worker processes in total:UserWarning")
def test_streams(torch, options, wanted):
    loader = torch.utils.data.DataLoader(streams(torch), **options)
    assert [batch if isinstance(batch, int) else batch.tolist() for batch in loader] == wanted
    assert len(loader) == (11 if options["batch_size"] is None else 11 // options["batch_size"] + (not options.get("drop_last", False)))


@each
def test_streams_after_one_another(torch):
    data = torch.utils.data
    chained = data.ChainDataset([streams(torch, 2), streams(torch, 3)])
    assert list(chained) == [0, 1, 0, 1, 2] and len(chained) == 5 and list(streams(torch, 1) + streams(torch, 1)) == [0, 0]
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are each library's own
            data.DataLoader(chained, **options)


@each
@pytest.mark.filterwarnings("ignore:.*fork")
def test_workers_know_who_they_are(torch):
    data = torch.utils.data

    class Who(data.Dataset):
        def __getitem__(self, i):
            info = data.get_worker_info()
            return info.id, info.num_workers, info.dataset.mark, info.seed - info.id, torch.initial_seed() - info.seed, i

        def __len__(self):
            return 8

    def mark(number):
        data.get_worker_info().dataset.mark = 100 + number

    assert data.get_worker_info() is None
    batches = list(data.DataLoader(Who(), 2, num_workers=2, worker_init_fn=mark, multiprocessing_context="fork"))
    ids, counts, marks, seeds, differences, rows = (np.concatenate(part) for part in zip(*[[p.numpy() for p in b] for b in batches], strict=True))
    assert rows.tolist() == list(range(8)) and set(ids) <= {0, 1} and set(counts) == {2}
    assert (marks == 100 + ids).all() and len(set(seeds)) == 1 and set(differences) == {0}


@each
@pytest.mark.filterwarnings("ignore:.*fork")
def test_an_error_of_a_worker_keeps_its_type(torch):
    def fail(rows):
        raise LookupError("no such row")

    with pytest.raises(LookupError, match="no such row"):
        list(torch.utils.data.DataLoader(range(4), 2, num_workers=1, collate_fn=fail, multiprocessing_context="fork"))
    with pytest.raises(RuntimeError, match="worker 0 will not"):
        list(torch.utils.data.DataLoader(range(4), 2, num_workers=1, worker_init_fn=refuse, multiprocessing_context="fork"))


@each
def test_many_rows_at_once(torch):
    class Many(torch.utils.data.Dataset):
        def __getitem__(self, i):
            raise AssertionError

        def __getitems__(self, indices):
            return [i * 10 for i in indices]

        def __len__(self):
            return 4

    assert listed(list(torch.utils.data.DataLoader(Many(), 2))) == [("int64", [0, 10]), ("int64", [20, 30])]
    assert listed(list(torch.utils.data.DataLoader(torch.utils.data.Subset(Many(), [3, 1]), 2))) == [("int64", [30, 10])]


@each
def test_a_subclass_that_changes_rows_is_asked_for_them(torch):
    class Doubled(torch.utils.data.TensorDataset):
        def __getitem__(self, i):
            return 2 * super().__getitem__(i)[0]

    rows = Doubled(torch.arange(4))
    assert listed(list(torch.utils.data.DataLoader(rows, 4))) == [("int64", [0, 2, 4, 6])]
    assert listed(list(torch.utils.data.DataLoader(torch.utils.data.Subset(rows, [3, 0]), 4))) == [("int64", [6, 0])]


@pytest.mark.parametrize("options", [
    {}, {"num_workers": 2, "multiprocessing_context": "threads"}, {"num_workers": 2, "multiprocessing_context": "fork"},
    {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
], ids=str)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("has_generator", [False, True])
def test_a_loader_goes_on_from_where_it_was(options, has_generator):
    def made():
        return ours.utils.data.DataLoader(range(10), 3, shuffle=True, generator=ours.Generator().manual_seed(3) if has_generator else None, **options)

    ours.manual_seed(1)
    loader, whole, noise = made(), [], []
    for _ in range(3):
        for batch in loader:
            whole.append(batch.tolist())
            noise.append(ours.rand(1).item())
    for stop in (1, 3, 4, 6):
        ours.manual_seed(1)
        first, found, drawn = made(), [], []
        while len(found) < stop:
            for batch in first:
                found.append(batch.tolist())
                drawn.append(ours.rand(1).item())
                if len(found) == stop:
                    break
        state, random = json.loads(json.dumps(first.state_dict())), ours.get_rng_state()
        ours.manual_seed(99)
        second = made()
        second.load_state_dict(state)
        ours.set_rng_state(random)
        while len(found) < 12:
            for batch in second:
                found.append(batch.tolist())
                drawn.append(ours.rand(1).item())
        assert (found, drawn) == (whole, noise)


def test_a_stream_goes_on_from_where_it_was():
    options = {"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork"}
    whole = [batch.tolist() for batch in ours.utils.data.DataLoader(streams(ours), **options)]
    loader = ours.utils.data.DataLoader(streams(ours), **options)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    again = ours.utils.data.DataLoader(streams(ours), **options)
    again.load_state_dict(loader.state_dict())
    assert [batch.tolist() for batch in again] == whole[3:]
    with pytest.raises(DataError, match="position and generator"):
        again.load_state_dict({"epoch": 1})


def test_names_that_are_missing_and_errors_of_our_own():
    data = ours.utils.data
    with pytest.raises(AttributeError, match=r"torch.utils.data.DataLoaderr is not .* did you mean torch.utils.data.DataLoader"):
        _ = data.DataLoaderr
    with pytest.raises(ArgumentError, match="no process group"):
        data.DistributedSampler(range(3))
    with pytest.raises(DTypeError, match="ConcatDataset needs rows by number"):
        data.ConcatDataset([streams(ours)])
    with pytest.raises(ShapeError, match=r"\(2,\), \(3,\); pad them in collate_fn"):
        data.default_collate([np.ones(2), np.ones(3)])
    assert data.DataLoader[int] is not None and data.Dataset[int] is not None
