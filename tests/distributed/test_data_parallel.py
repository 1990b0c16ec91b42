"""DataParallel: on one process here, on several by programs/training.py, which compares it with one process on whole batches."""

import copy
import threading
from concurrent.futures import Future
from contextlib import contextmanager

import numpy as np
import pytest

import retrograde as rg
from launching import needs_mpi, passed
from retrograde import distributed, nn
from retrograde.distributed import DataParallel
from retrograde.distributed.background import Background
from retrograde.distributed.links import delayed
from retrograde.distributed.sharing import Sharing
from retrograde.errors import ArgumentError, DistributedError
from retrograde.ops._alone import Alone


@needs_mpi
def test_two_processes_train_as_one_does_in_each_sharding_eager_and_compiled():
    assert passed(2, "training.py", "mlp").count("is done") == 2


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_so_do_others_with_all_models(count):
    assert passed(count, "training.py", seconds=550).count("is done") == count


@needs_mpi
def test_a_run_whose_optimizer_is_shared_is_saved_whole_and_goes_on(tmp_path):
    assert sorted(passed(2, "saving.py", tmp_path / "run").splitlines()) == [f"the same, 1 kept at process {r}" for r in range(2)]


@needs_mpi
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_process_keeps_the_moments_of_its_share_of_the_parameters(count):
    assert passed(count, "memory.py").count("is done") == count


def model():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def test_it_is_its_model_to_all_who_ask():
    rg.manual_seed(1)
    inner = model()
    names, parameters = list(inner.state_dict()), list(inner.parameters())
    parallel = DataParallel(inner)
    assert list(parallel.state_dict()) == names
    assert [name for name, _ in parallel.named_parameters()] == [name for name, _ in inner.named_parameters()]
    assert [id(p) for p in parallel.parameters()] == [id(p) for p in parameters]
    assert [name for name, _ in parallel.named_buffers()] == [name for name, _ in inner.named_buffers()]
    parallel.eval()
    assert not any(m.training for m in inner.modules()) and not parallel.training
    parallel.train()
    assert all(m.training for m in inner.modules())
    parallel.load_state_dict({name: value * 0 for name, value in inner.state_dict().items()})
    assert all(not np.any(p.detach().numpy()) for p in inner.parameters())
    copied = copy.deepcopy(parallel)
    assert list(copied.state_dict()) == names
    assert copied.module is not inner and copied.group is parallel.group


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shard", ["none", "optimizer"])
def test_one_process_trains_as_without_it(compiled, shard):
    x, y = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32), np.arange(8) % 2
    found = []
    for parallel in (False, True):
        rg.manual_seed(2)
        net = DataParallel(model(), shard=shard) if parallel else model()
        optimizer = rg.optim.AdamW(net.parameters(), lr=0.1)

        def step(x, y, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = rg.jit(step) if compiled else step
        losses = [float(run(rg.tensor(x), rg.tensor(y))) for _ in range(3)]
        found.append((losses, [p.detach().numpy().copy() for p in net.parameters()], optimizer.state_dict()["state"]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for a, b in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert found[0][2].keys() == found[1][2].keys()


class Two(Alone):
    """Process 0 of a group of two, of which the other one has what this one has."""

    size, ranks = 2, (0, 1)

    def sum(self, x, order, name):
        return x + x

    def contents(self, content, name):
        return [content, content]

    def from_owners(self, arrays, owners, name):
        self.owners = owners
        return [np.array(x) for x in arrays]


def test_a_process_keeps_the_state_of_what_it_owns_alone():
    net = nn.Sequential(nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 3))
    sharing = Sharing(list(net.parameters()), group := Two())
    optimizer = rg.optim.Adam(net.parameters())
    sizes = [sum(p.size for p in net.parameters() if sharing.owner[id(p)] == r) for r in range(2)]
    assert abs(sizes[0] - sizes[1]) <= 20
    net(rg.ones(2, 10)).sum().backward()
    gradients = [p.grad for p in net.parameters()]
    optimizer.step()
    assert [p.grad for p in net.parameters()] == gradients  # shown again
    assert {sharing.owner[id(p)] for p in optimizer.state} == {0}
    assert sum(s["exp_avg"].size for s in optimizer.state.values()) == sizes[0]
    assert group.owners == tuple(sharing.owner[id(p)] for p in net.parameters())
    whole = rg.optim.Adam(net.parameters())
    assert whole.register_step_pre_hook  # joined as well
    with pytest.raises(ArgumentError, match="closure"):
        optimizer.step(lambda: net(rg.ones(2, 10)).sum())


def test_gradients_of_one_dtype_go_together_up_to_a_bucket_and_what_is_missing_stays_missing():
    from retrograde.ops.collectives import buckets, means
    arrays = [np.ones(4), None, np.ones(4, np.float32), np.ones((2, 2)), np.ones(3)]
    assert buckets(arrays, None) == [[4, 3, 0], [2]]
    assert buckets(arrays, 40) == [[4], [3], [2], [0]]
    found = means([rg.tensor(a) if a is not None else None for a in arrays], Two(), 64, "ranks", "x")
    assert found[1] is None and [f.shape for f in found if f is not None] == [(4,), (4,), (2, 2), (3,)]


def test_gradients_are_means_in_buckets_and_accumulated_ones_are_sent_once():
    calls = []

    class Counted(Two):
        def sum(self, x, order, name):
            calls.append((name, x.size))
            return x * 3.0  # so that the mean is 1.5 times

    net = nn.Linear(3, 2)
    net(rg.ones(4, 3)).sum().backward()
    alone = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    parallel = DataParallel(net, group=Counted(), bucket=1000)
    parallel(rg.ones(4, 3)).sum().backward()
    assert calls == [("the mean of gradients 1 to 0", 8)]
    for p, one in zip(net.parameters(), alone, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), 1.5 * one)
    net.zero_grad()
    calls.clear()
    with parallel.accumulate():
        for _ in range(2):
            parallel(rg.ones(4, 3)).sum().backward()
        assert not calls
        with pytest.raises(ArgumentError, match="within another one"), parallel.accumulate():
            pass
    assert len(calls) == 1
    for p, one in zip(net.parameters(), alone, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), 3 * one)


def test_a_compiled_step_knows_whether_gradients_are_accumulated():
    class Threefold(Two):
        def sum(self, x, order, name):
            return x * 3.0

    parallel = DataParallel(nn.Linear(2, 1), group=Threefold())

    @rg.jit
    def gradients(x):
        parallel.zero_grad()
        parallel(x).sum().backward()
        return parallel.module.bias.grad

    x = rg.ones(4, 2)
    assert gradients(x).item() == 6.0
    with parallel.accumulate():
        assert gradients(x).item() == 4.0
    assert gradients(x).item() == 6.0


def test_a_compiled_step_begins_to_send_gradients_while_others_are_still_to_be_computed():
    rg.manual_seed(0)
    net = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.LayerNorm(64))])
    alone = copy.deepcopy(net)
    parallel = DataParallel(net, group=Two(), bucket=17000)

    @rg.jit
    def gradients(x):
        parallel.zero_grad()
        parallel(x).square().mean().backward()
        return [p.grad for p in parallel.parameters()]

    x = rg.randn(512, 64)
    found = gradients(x)
    ops = [kernel.ops for kernel in gradients.explain().kernels]
    begun, finished = ops.index(("begin_means",)), ops.index(("finish_means",))
    between = [names for names in ops[begun:finished] if "matmul" in names]
    assert ops.count(("begin_means",)) == ops.count(("finish_means",)) >= 4
    assert between
    # All that is finished is begun before.
    assert "begin_means" not in [name for names in ops[finished:] for name in names]
    alone(x).square().mean().backward()
    for g, p in zip(found, alone.parameters(), strict=True):
        np.testing.assert_allclose(g.numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_what_is_begun_is_done_in_order_and_each_result_is_asked_for_by_its_number():
    done, background, gate = [], Background(), threading.Event()

    def job(number, error=None):
        def run():
            gate.wait(10)
            done.append(number)
            if error is not None:
                raise error
            return 10 * number
        return run

    numbers = [background.begin(job(n, ValueError("the second") if n == 2 else None)) for n in (1, 2, 3, 4)]
    gate.set()
    assert background.finished(numbers[0]) == 10
    with pytest.raises(ValueError, match="the second"):
        background.finished(numbers[1])
    # The third is of a step that was broken off: nobody asks for it.
    assert background.finished(numbers[3]) == 40
    assert done == [1, 2, 3, 4]
    with pytest.raises(KeyError):
        background.finished(numbers[2])
    with background_delay() as slept:
        background.finished(background.begin(delayed))
    assert slept == [0.25]


class Unhurried:
    """A pool of one thread, which goes on only while somebody waits for it, or when what comes before is called off."""

    def __init__(self):
        self.waiting = []

    def submit(self, run, *args):
        future = Future()
        future.cancel = lambda: self.called_off(future)
        wait, future.result = future.result, lambda: self.until(future) or wait()
        self.waiting.append((future, lambda: future.set_result(run(*args))))
        return future

    def called_off(self, future):
        self.waiting = [pair for pair in self.waiting if pair[0] is not future]
        self.until(None)
        return True

    def until(self, future):
        while self.waiting and (future is None or not future.done()):
            thread = threading.Thread(target=self.waiting.pop(0)[1])
            thread.start()
            thread.join()


def test_what_waits_for_all_before_it_is_done_in_order_by_whatever_thread():
    done, background = [], Background()
    background._pool = Unhurried()

    def job(number):
        def run():
            background.settle()  # as `means` does
            done.append(number)
            return number
        return run

    numbers = [background.begin(job(n)) for n in range(5)]
    assert [background.finished(number) for number in numbers[:2]] == [0, 1]
    background.settle()
    assert [background.finished(number) for number in numbers[2:]] == [2, 3, 4]
    assert done == [0, 1, 2, 3, 4]


@contextmanager
def background_delay():
    """A link delay, and how long was slept for it."""
    slept = []
    with pytest.MonkeyPatch.context() as patch, distributed.link_delay(0.25):
        patch.setattr("retrograde.distributed.links.time.sleep", slept.append)
        yield slept


def test_models_that_differ_are_told_with_both_sides():
    class Other(Two):
        def contents(self, content, name):
            return [content, content.replace(b"[4, 3]", b"[5, 3]")]

    with pytest.raises(DistributedError, match=r"at process 0: 0.weight float32\[4, 3\].*at process 1: 0.weight float32\[5, 3\].*seed"):
        DataParallel(model(), group=Other())


@pytest.mark.parametrize(("make", "text"), [
    (lambda: DataParallel(model(), shard="all"), "shard must be one of none, optimizer"),
    (lambda: DataParallel(model(), batch_norm="mine"), "batch_norm must be one of"),
    (lambda: DataParallel(DataParallel(model())), "not parallel yet"),
    (lambda: DataParallel(lambda x: x), "takes a model that is a Module"),
    (lambda: DataParallel(model(), bucket=0), "bucket must be"),
    (lambda: rg.optim.LBFGS(DataParallel(model(), shard="optimizer").parameters()), "LBFGS updates all parameters together"),
])
def test_what_is_wrong_is_said(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_average_of_one_process_changes_nothing():
    net = model()
    before = [p.detach().numpy().copy() for p in net.parameters()]
    distributed.average(net)
    for a, b in zip(before, net.parameters(), strict=True):
        np.testing.assert_array_equal(a, b.detach().numpy())
