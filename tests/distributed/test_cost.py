"""The model of cost: against a simulation by events that is written here, and in the limits where the answer is known. A link is
measured between several processes by programs/collectives.py.
"""

import itertools
import subprocess
import sys
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from benchmarks import distributed_typical
from launching import needs_mpi
from retrograde.distributed import DataParallel, Link, Rehearsal, TensorGroup, TrainingStep, measure_link, most_processes, predict
from retrograde.distributed.measuring import fitted
from retrograde.distributed.sharing import Sharing, dealt
from retrograde.errors import ArgumentError, DistributedError
from retrograde.ops._alone import Alone

ROOT, MIB = Path(__file__).parents[2], 2**20
FAST = Link(0.0, inf)


def simulated(step, link, count, spare):
    """When the passes are over and all means are there: goes from one event to the next, of which there are two kinds. The passes
    come to a moment at which a bucket is ready, or to their end; and a collective has waited long enough, or is over.
    """
    if link.is_shared:
        return simulated_in_shared_memory(step, link, count)
    now, worked, moments = 0.0, 0.0, [*[at for at, _ in step.buckets], step.passes]
    ready, phases = [], []  # bytes of buckets; (how long, whether it works) of the collective that goes on, and since when
    started, reached = 0.0, 0
    while reached < len(moments) or phases:
        is_held = bool(phases) and phases[0][1] and not spare
        events = [(started + phases[0][0], "phase")] if phases else []
        if reached < len(moments) and not is_held:
            events.append((now + moments[reached] - worked, "moment"))
        when, event = min(events)
        worked += 0 if is_held else when - now
        now = when
        if event == "phase":
            phases.pop(0)
            started = now
        else:
            worked = moments[reached]
            if reached < len(step.buckets):
                ready.append(step.buckets[reached].nbytes)
            reached += 1
        if ready and not phases:
            waiting, work = by_hand(link, ready.pop(0), count)
            phases, started = [(waiting, False), (work, True)], now
    return now


def simulated_in_shared_memory(step, link, count):
    """As `simulated`, where operands are written when a bucket is ready, and all is added up in the end."""
    written = [nbytes / link.copying + link.call for _, nbytes in step.buckets]
    there = [at + sum(written[: i + 1]) + by_hand(link, nbytes, count)[0] for i, (at, nbytes) in enumerate(step.buckets)]
    added = sum([by_hand(link, nbytes, count)[1] for _, nbytes in step.buckets]) - sum(written)
    return max([step.passes + sum(written), *there]) + added


def by_hand(link, nbytes, count):
    """(waiting, work) of the mean of a bucket, by the messages of each exchange."""
    def exchange(sizes):
        return link.latency + sum(link.overhead for _ in sizes[1:]) + sum(n / link.bandwidth for n in sizes)

    others = count - 1
    waiting = link.delay + exchange([320] * others)
    if link.is_shared:
        read = others * nbytes if count <= 3 else others * nbytes / count + nbytes
        return waiting, link.call + (nbytes + read) / link.copying
    if nbytes <= 16384:
        return waiting + exchange([nbytes] * others), link.call + (2 + others) * nbytes / link.copying
    share = nbytes / count
    return waiting + 2 * exchange([share] * others), link.call + (2 * nbytes + others * share) / link.copying


def drawn(seed):
    """A step, a link, how many processes, and whether there is a spare core."""
    rng = np.random.default_rng(seed)
    passes = rng.uniform(0.001, 0.1)
    ready = np.sort(rng.uniform(0, passes, rng.integers(1, 9)))
    if rng.random() < 0.5:
        ready[-1] = passes
    buckets = [(at, int(nbytes)) for at, nbytes in zip(ready.tolist(), 2 ** rng.uniform(10, 23, ready.size), strict=True)]
    facts = (10 ** rng.uniform([-6, 8, -7, -5, 9], [-3, 10, -4, -3, 10.5])).tolist()
    link = Link(*facts, delay=float(rng.choice([0.0, 0.005])), is_shared=bool(rng.random() < 0.5))
    return TrainingStep(passes, rng.uniform(0, 0.01), buckets), link, int(rng.integers(2, 40)), bool(rng.random() < 0.5)


@pytest.mark.parametrize("seed", range(60))
def test_a_step_takes_what_a_simulation_by_events_takes(seed):
    step, link, count, spare = drawn(seed)
    found = predict(step, link, count, has_spare_core=spare)
    np.testing.assert_allclose(found.seconds, simulated(step, link, count, spare) + step.update, rtol=1e-9)
    assert found.communication == pytest.approx(sum(sum(by_hand(link, n, count)) for _, n in step.buckets))
    assert 0 <= found.hidden <= found.communication


@pytest.mark.parametrize("seed", range(20))
def test_in_the_limits_a_step_is_computing_alone_or_the_sum_of_all(seed):
    step, link, count, spare = drawn(seed)
    own = step.passes + step.update
    assert predict(step, FAST, count).seconds == pytest.approx(own, rel=1e-12)
    one = predict(step, link, 1)
    assert (one.seconds, one.communication, one.hidden, one.efficiency) == (pytest.approx(own, rel=1e-12), 0, 0, pytest.approx(1))
    apart = predict(step, link, count, overlap=False, has_spare_core=spare)
    assert apart.seconds == pytest.approx(own + apart.communication, rel=1e-12)
    assert apart.hidden == pytest.approx(0, abs=1e-12)
    beside = predict(step, link, count, has_spare_core=True)
    assert own - 1e-12 <= beside.seconds <= predict(step, link, count).seconds + 1e-12 <= apart.seconds + 2e-12
    assert beside.seconds + beside.hidden == pytest.approx(own + beside.communication, rel=1e-12)


@pytest.mark.parametrize("shard", ["none", "optimizer"])
@pytest.mark.parametrize("seed", range(20))
def test_a_better_link_never_makes_a_step_longer(seed, shard):
    step, link, count, _ = drawn(seed)
    step = replace(step, parameters=[n for _, n in step.buckets], waits=[(step.passes / 2, 4096), (step.passes + step.update / 2, 8)])
    last = predict(step, link, count, shard=shard).seconds
    for name in ("latency", "overhead", "call", "delay"):
        link = replace(link, **{name: getattr(link, name) / 3})
        now = predict(step, link, count, shard=shard).seconds
        assert now <= last + 1e-12, name
        last = now
    for name in ("bandwidth", "copying"):
        link = replace(link, **{name: getattr(link, name) * 3})
        now = predict(step, link, count, shard=shard).seconds
        assert now <= last + 1e-12, name
        last = now


def test_what_the_step_waits_for_comes_after_the_buckets_that_are_begun_and_before_the_rest():
    link = Link(0.01, inf, 0.0)  # an exchange takes 10 ms, a small mean two of them
    step = TrainingStep(0.1, 0.02, buckets=[(0.05, 8), (0.1, 8)], waits=[(0.06, 8), (0.11, 8)])
    # The first bucket is over at 70 ms, the sum at 90, 40 ms more of the passes at 130, the second bucket at 150, half of the update
    # at 160, the last sum at 180, the rest of the update at 190.
    found = predict(step, link, 2)
    assert found.seconds == pytest.approx(0.19)
    assert found.hidden == pytest.approx(0.01)


def test_a_shared_update_takes_the_part_of_the_process_that_has_most_and_parameters_are_fetched():
    parameters = [4 * MIB, 2 * MIB, MIB, MIB, MIB]  # 4 at one of two processes, 5 at the other
    step = TrainingStep(0.1, 0.09, [(0.1, 9 * MIB)], parameters)
    link = Link(1e-4, 1e9, 1e-5)
    found = predict(step, link, 2, shard="optimizer")
    assert found.update == pytest.approx(0.05)
    fetched = found.communication - predict(step, link, 2).communication
    assert fetched == pytest.approx(2 * link.latency + (5 * MIB + 320) / link.bandwidth)
    many = predict(step, link, 16, shard="optimizer")
    # Five have something, which they send to all 15 others; who has most sends most.
    assert many.update == pytest.approx(0.04)
    assert many.communication - predict(step, link, 16).communication == pytest.approx(
        2 * (link.latency + 14 * link.overhead) + (15 * 4 * MIB + 15 * 320) / link.bandwidth)


def test_parameters_are_dealt_as_a_model_deals_them():
    rng = np.random.default_rng(0)
    net = rg.nn.Sequential(*[rg.nn.Linear(int(a), int(b)) for a, b in rng.integers(1, 40, (9, 2))])
    for count in (2, 3, 5):
        group = type("Group", (Alone,), {"size": count, "ranks": tuple(range(count))})()
        sharing = Sharing(parameters := list(net.parameters()), group)
        owners, held = dealt([4 * p.size for p in parameters], count)
        assert owners == [sharing.owner[id(p)] for p in parameters]
        # The largest first, each to who has least, by hand.
        wanted = [0] * count
        for p in sorted(parameters, key=lambda p: -p.size):
            wanted[wanted.index(min(wanted))] += 4 * p.size
        assert held == wanted


def test_processes_that_hold_one_model_together_compute_a_part_and_wait_for_sums():
    inner, link = Link(0.0, 1e9), Link(1e-3, 1e8)
    step = TrainingStep(0.1, 0.02, [(0.1, 8 * MIB)], [8 * MIB])
    group = TensorGroup(4, inner, [MIB] * 8, share=0.8)
    found = predict(step, link, 8, tensor=group)
    assert found.data == 2
    assert (found.passes, found.update) == (pytest.approx(0.04), pytest.approx(0.008))
    sums = 8 * (2 * 3 / 4 * MIB + 3 * 320) / 1e9
    means = 3 * link.latency + (0.4 * 8 * MIB + 320) / link.bandwidth
    assert found.communication == pytest.approx(sums + means)
    assert found.seconds == pytest.approx(0.048 + sums + means)
    assert found.speedup == pytest.approx(2 * 0.12 / found.seconds)
    # A bucket that is begun goes on while the step waits for a sum of its tensor group.
    early = predict(replace(step, buckets=[(0.0, 8 * MIB)]), link, 8, tensor=group)
    assert early.seconds == pytest.approx(0.008 + max(0.04 + sums, means))


@pytest.mark.parametrize("seed", range(20))
def test_tensor_groups_and_their_buckets_share_a_core_and_lose_no_work(seed):
    step, link, _, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    group = TensorGroup(2, Link(1e-5, 1e9, copying=2e9), rng.integers(1, MIB, 6).tolist(), 0.9)
    found, spare = (predict(step, link, 4, tensor=group, has_spare_core=is_spare) for is_spare in (False, True))
    own = found.passes + found.update
    inner = [group.link.sum(n, 2) for n in group.activations]
    outer = [link.mean(n * group.rest, 2) for _, n in step.buckets]
    least = own + sum(t.seconds for t in inner)
    assert least - 1e-12 <= spare.seconds <= found.seconds + 1e-12
    assert found.seconds <= least + sum(t.seconds for t in outer) + 1e-12
    # All work of a core, one after the other, fits into the time of the step.
    assert own + sum(t.work for t in (*inner, *outer)) <= found.seconds + 1e-12


def test_the_most_processes_that_pay_are_the_last_that_reach_what_is_asked():
    step = TrainingStep(0.030, 0.002, [(0.015, MIB), (0.030, MIB)], [MIB, MIB])
    link = Link(20e-6, 1.25e9)
    for shard in ("none", "optimizer"):
        most = most_processes(step, link, 0.8, limit=200, shard=shard)
        right = [p for p in range(1, 201) if predict(step, link, p, shard=shard).efficiency >= 0.8]
        assert most == max(right)
    assert 1 < most_processes(step, link, 0.8) < most_processes(step, link, 0.5)
    assert most_processes(step, Link(1.0, 1e3)) == 1
    assert most_processes(step, FAST, limit=77) == 77
    assert most_processes(step, FAST, limit=77, tensor=TensorGroup(4, FAST)) == 76


def test_layers_have_their_gradients_when_the_backward_pass_has_gone_through_them():
    step = TrainingStep.of_layers([(1.0, 2.0, [100]), (0.5, 1.0, []), (2.0, 4.0, [60, 30])], 0.5, bucket=100)
    assert step.passes == 10.5
    assert step.parameters == (100, 60, 30)
    assert [tuple(call) for call in step.buckets] == [(7.5, 90), (10.5, 100)]
    assert [call.at for call in TrainingStep.of_layers([(1.0, 2.0, [8]), (1.0, 2.0, [8])]).buckets] == [6.0]


def compiled(group, bucket, compile_it):
    rg.manual_seed(0)
    net = rg.nn.Sequential(*[layer for _ in range(4) for layer in (rg.nn.Linear(64, 64), rg.nn.LayerNorm(64))])
    model = DataParallel(net, group=group, bucket=bucket)
    optimizer, x = rg.optim.SGD(model.parameters(), lr=0.01), rg.randn(512, 64)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = rg.jit(step) if compile_it else step
    return lambda: float(run(x))


def test_a_rehearsal_notes_the_buckets_of_a_compiled_step_while_gradients_are_made():
    step = (rehearsal := Rehearsal()).measured(run := compiled(rehearsal, 17000, True), seconds=0)
    assert len(step.buckets) >= 4 and not step.waits
    assert sum(call.nbytes for call in step.buckets) == sum(step.parameters) == 4 * 4 * (64 * 64 + 3 * 64)
    assert 0 < step.buckets[0].at < step.buckets[-1].at <= step.passes
    assert step.update > 0
    # It trains as one process does.
    alone = compiled(None, 17000, True)
    for _ in range(9):
        loss = alone()
    np.testing.assert_allclose(run(), loss, rtol=1e-3)


def test_buckets_of_an_eager_step_are_sent_after_its_backward_pass():
    step = (rehearsal := Rehearsal(4)).measured(compiled(rehearsal, 17000, False), seconds=0)
    assert len(step.buckets) >= 4 and not step.waits
    assert sum(call.nbytes for call in step.buckets) == sum(step.parameters) == 4 * 4 * (64 * 64 + 3 * 64)
    assert step.buckets[-1].at == step.passes
    eager = predict(step, Link(1.0, 1e9), 4)
    assert eager.hidden < 0.01 * eager.communication


def test_a_rehearsal_notes_the_statistics_of_batch_norms_which_are_those_of_one_process():
    rg.manual_seed(0)
    rehearsal, x = Rehearsal(3), rg.randn(20, 4)
    nets = [rg.nn.Sequential(rg.nn.Linear(4, 6), rg.nn.BatchNorm1d(6)) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    model = DataParallel(nets[0], group=rehearsal)

    def run():
        model.zero_grad()
        (model(x) ** 3).mean().backward()

    step = rehearsal.measured(run, seconds=0)
    small = [call.nbytes for call in step.waits if call.nbytes < 100]
    assert small == [28, 24, 24, 28]
    nets[0].train()
    (nets[1](x) ** 3).mean().backward()
    for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_collectives_of_a_rehearsal_are_those_of_processes_that_have_the_same():
    group, x = Rehearsal(3), rg.tensor(np.arange(6.0).reshape(3, 2))
    d = rg.distributed
    np.testing.assert_array_equal(d.all_reduce(x, group=group).numpy(), 3 * x.numpy())
    np.testing.assert_array_equal(d.all_reduce(x, "mean", group=group).numpy(), x.numpy())
    np.testing.assert_array_equal(d.all_reduce(x, "max", group=group).numpy(), x.numpy())
    np.testing.assert_array_equal(d.all_gather(x, group=group).numpy(), np.concatenate([x.numpy()] * 3))
    np.testing.assert_array_equal(d.reduce_scatter(x, group=group).numpy(), 3 * x.numpy()[:1])
    np.testing.assert_array_equal(d.all_to_all(x, group=group).numpy(), np.concatenate([x.numpy()[:1]] * 3))
    np.testing.assert_array_equal(d.broadcast(x, 2, group=group).numpy(), x.numpy())


def test_a_fit_finds_the_line_that_times_lie_on_even_if_some_were_held_up():
    sizes = [1, 64, 512, 4096, 2**16, 2**19, 2**21, 2**22]
    times = [3e-5 + n / 2.5e9 for n in sizes]
    np.testing.assert_allclose(fitted(sizes, times), (3e-5, 2.5e9), rtol=1e-6)
    rng = np.random.default_rng(1)
    noisy = [t * rng.uniform(0.97, 1.03) for t in times]
    noisy[1] *= 30
    noisy[5] *= 4
    np.testing.assert_allclose(fitted(sizes, noisy), (3e-5, 2.5e9), rtol=0.1)
    latency, bandwidth = fitted(sizes, [1e-6] * 8)
    assert latency == pytest.approx(1e-6)
    assert bandwidth > 1e14


def test_a_prediction_is_a_table():
    step = TrainingStep(0.030, 0.002, [(0.015, MIB), (0.030, MIB)])
    lines = str(predict(step, Link(50e-6, 125e6), 4)).splitlines()
    assert lines[0].split() == ["4", "processes", "ms"]
    assert [line.split()[-1] for line in lines[1:3]] == ["30.000", "2.000"]
    assert len({len(line) for line in lines}) == 1
    assert str(predict(step, FAST, 1)).startswith("1 process ")


def test_the_table_of_the_page_is_what_the_model_says():
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    assert distributed_typical.table() in page, "it is out of date; run `python -m benchmarks.distributed_cost --table`"


def test_models_of_the_table_have_as_many_parameters_and_multiplications_as_they_are_known_for():
    facts = {name: (sum(count for count, _ in layers), sum(sum(each) for _, each in layers))
             for name, layers in distributed_typical.MODELS.items()}
    work, parameters = facts["ResNet-50, 64 images"]
    assert parameters == 25_557_032  # as torchvision's
    assert work / 64 == pytest.approx(4.09e9, rel=0.01)
    assert facts["GPT-2 small, 8 texts of 1024"][1] == 124_439_808


@needs_mpi
@pytest.mark.long
def test_the_benchmark_compares_what_is_predicted_with_what_runs():
    words = [sys.executable, "-m", "benchmarks.distributed_cost", "--kinds", "mlp", "--seconds", "0.1"]
    rows = [line for line in subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
            if line.startswith("mlp")]
    assert len(rows) == 1 + 2 * 2 * 3
    for row in rows:
        assert all(float(word) > 0 for word in row.split()[-5:]), row


STEP, LINK = TrainingStep(0.1, 0.01, [(0.1, MIB)]), Link(1e-5, 1e9)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: Link(-1, 1e9), "latency of a link must be a number of seconds of at least 0, got -1"),
    (lambda: Link(float("nan"), 1e9), "latency .* got nan"),
    (lambda: Link(1e-5, 0), "bandwidth of a link must be a number of bytes per second above 0, got 0"),
    (lambda: Link(1e-5, "10 GbE"), "bandwidth .* got '10 GbE'"),
    (lambda: Link(1e-5, 1e9, copying=-1.0), "copying of a link"),
    (lambda: Link(1e-5, 1e9, delay=inf), "delay of a link .* got inf"),
    (lambda: TrainingStep(0), "passes of a step must be a number of seconds above 0, got 0"),
    (lambda: TrainingStep(1.0, -1), "update of a step"),
    (lambda: TrainingStep(1.0, 0.5, [(1.2, 8)]), "buckets of a step are at 0 to 1 s .* got 8 bytes at 1.2 s"),
    (lambda: TrainingStep(1.0, 0.5, [(0.2, -8)]), "at least 0 bytes"),
    (lambda: TrainingStep(1.0, 0.5, [(0.5, 8), (0.4, 8)]), "one after the other, got them at 0.5, 0.4 s"),
    (lambda: TrainingStep(1.0, 0.5, [8]), r"pairs \(seconds, bytes\), got 8"),
    (lambda: TrainingStep(1.0, waits=[(1.2, 8)]), "waits of a step"),
    (lambda: TrainingStep(1.0, parameters=[0]), "each of the parameters of a step"),
    (lambda: TrainingStep.of_layers([]), "at least one layer"),
    (lambda: predict(STEP, LINK, 0), "processes must be a number of at least 1, got 0"),
    (lambda: predict(STEP, LINK, 2.0), "got 2.0"),
    (lambda: predict(LINK, STEP, 2), "step must be a TrainingStep, got Link"),
    (lambda: predict(STEP, 1e9, 2), "link must be a Link, got float"),
    (lambda: predict(STEP, LINK, 2, shard="all"), "shard must be one of none, optimizer, got 'all'"),
    (lambda: predict(STEP, LINK, 2, shard="optimizer"), "this one says none"),
    (lambda: predict(STEP, LINK, 6, tensor=TensorGroup(4, LINK)), "multiple of those of a tensor group, got 6 and 4"),
    (lambda: predict(STEP, LINK, 4, tensor=4), "tensor must be a TensorGroup, got int"),
    (lambda: TensorGroup(0, LINK), "processes of a tensor group"),
    (lambda: TensorGroup(2, LINK, [-1]), "activations of a tensor group"),
    (lambda: TensorGroup(2, LINK, share=1.5), "share of a tensor group"),
    (lambda: most_processes(STEP, LINK, 1.5), "least efficiency must be a number of above 0 and at most 1"),
    (lambda: most_processes(STEP, LINK, limit=0), "limit of processes"),
    (lambda: Rehearsal(1), "at least 2 processes, got 1"),
    (lambda: Rehearsal().measured(lambda: None, seconds=0), "sent no gradients"),
])
def test_what_is_wrong_is_said(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


def test_a_step_that_makes_other_calls_each_time_is_not_measured():
    rehearsal, count = Rehearsal(), itertools.count()
    with pytest.raises(ArgumentError, match="the same calls each time"):
        rehearsal.measured(lambda: rehearsal.sum(np.ones(next(count)), "ranks", "x"), seconds=0)


def test_one_process_has_no_link():
    with pytest.raises(DistributedError, match="start more, as with: retrograde run -n 2"):
        measure_link()
