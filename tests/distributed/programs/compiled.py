"""Compiled steps whose sums go without Python: many at once, and what they do when the other processes do not come, or do something
else: a clear error, and nothing is written.
"""

import sys
import tempfile
import time

import numpy as np

import retrograde as rg
from retrograde import distributed
from retrograde.ops import collectives

RANK, SIZE = distributed.rank(), distributed.size()


def step_of(width, **options):
    """A compiled step of a linear model with so many inputs, and its weight."""
    rg.manual_seed(0)
    model = distributed.DataParallel(rg.nn.Linear(width, 3), **options)
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @rg.jit
    def step(x):
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()

    return lambda: step(rg.ones(2, width)), model.module.weight


def message(function, kind=rg.errors.DistributedError):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError("no error")


def many_buckets():
    """Gradients that are sent one by one are those of a step that is not compiled, and all begin before the first is waited for."""
    def trained(is_compiled):
        rg.manual_seed(0)
        layers = [layer for _ in range(3) for layer in (rg.nn.Linear(24, 24), rg.nn.Tanh())]
        model = distributed.DataParallel(rg.nn.Sequential(*layers), bucket=1)
        optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        run, rng = rg.jit(step) if is_compiled else step, np.random.default_rng(RANK)
        for _ in range(3):
            run(rg.tensor(rng.normal(size=(8, 24)).astype(np.float32)))
        with distributed.link_delay(0.1):
            distributed.barrier()
            start = time.monotonic()
            run(rg.ones(8, 24))
            seconds = time.monotonic() - start
        return [p.detach().numpy() for p in model.parameters()], seconds

    (eager, _), (compiled, seconds) = trained(False), trained(True)
    for one, other in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    assert 0.1 <= seconds < 0.25, seconds


def loops():
    """Sums that are begun and finished in each iteration of a loop; and no file is written of what needs other processes."""
    group = distributed.world()

    def step(c, _):
        number = collectives.begin_means([c, c * 2], group, "ranks", "in a loop")
        one, two = collectives.finish_means([number, c, c * 2], group, "ranks", "in a loop")
        return one + two * 0.5 - c + 1, one.sum()

    run = rg.jit(lambda x: rg.scan(step, x, rg.tensor(np.zeros(5)))[0])
    values = [np.arange(4.0) + 10 * r for r in range(SIZE)]
    with rg.no_grad():
        found = run(rg.tensor(values[RANK])).numpy()
        for _ in range(5):
            mean = sum(values) / SIZE
            values = [2 * mean - value + 1 for value in values]
        np.testing.assert_allclose(found, values[RANK], rtol=1e-12)
        with tempfile.TemporaryDirectory() as folder:
            told = message(lambda: rg.deploy.export(f"{folder}/f.rg", {"f": (run, (rg.tensor(values[0]),))}), rg.errors.ProgramError)
    assert "adds up over processes" in told, told


def nobody_comes():
    """Process 0 makes a step alone: it is told who is late, after waiting once. Process 1 makes it later, and is told that it was given
    up. The weights of both stay what they were.
    """
    step, weight = step_of(4, bucket=1)
    step()
    before = weight.detach().numpy().copy()
    if RANK == 0:
        with distributed.patience(1.5):
            start = time.monotonic()
            told = message(step)
            assert 1.5 <= time.monotonic() - start < 2.9, told
        assert "did not come to the mean of gradients" in told and "process 1" in told and "1.5 s" in told, told
        assert "has given up an earlier call" in message(step)  # which the other one might take for its next
    else:
        time.sleep(3)
        told = message(step)
        assert "the mean of gradients" in told and "given up" in told, told
    np.testing.assert_array_equal(weight.detach().numpy(), before)


def an_index_is_out_of_range():
    """A process that finds one writes nothing, and the others are told, who write nothing either."""
    rg.manual_seed(0)
    model = distributed.DataParallel(rg.nn.Embedding(8, 4))
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1)

    @rg.jit
    def step(index):
        optimizer.zero_grad()
        model(index).mean().backward()
        optimizer.step()

    step(rg.tensor(np.array([1, 2, 3])))
    before = model.module.weight.detach().numpy().copy()
    told = message(lambda: step(rg.tensor(np.array([1, 2, 8 if RANK == 1 else 3]))), (rg.errors.DistributedError, rg.errors.OutOfRangeError))
    assert "an index" in told if RANK == 1 else "process 1" in told and "an error before the mean of gradients" in told, told
    np.testing.assert_array_equal(model.module.weight.detach().numpy(), before)
    step(rg.tensor(np.array([1, 2, 3])))
    assert np.any(model.module.weight.detach().numpy() != before)


def half_precision():
    """A mean of two-byte numbers is right where their sum is out of range."""
    x = rg.tensor(np.full(3, 40_000, np.float16))
    np.testing.assert_array_equal(distributed.all_reduce(x, "mean").numpy(), x.numpy())
    run = rg.jit(lambda x: collectives.means([x], distributed.world(), None, "ranks", "halves")[0])
    np.testing.assert_array_equal(run(x).numpy(), x.numpy())


def others_do_something_else():
    """A step beside another call is told with both sides, and no weight moves."""
    step, weight = step_of(4)
    step()
    other = rg.jit(lambda x: distributed.all_reduce(x, "mean"))
    before = weight.detach().numpy().copy()
    told = message(step if RANK == 0 else lambda: other(rg.ones(3)))
    assert "process 0: call" in told and "the mean of gradients" in told and "all_reduce(mean) of float32[3]" in told, told
    np.testing.assert_array_equal(weight.detach().numpy(), before)


def goes_on():
    """After such an error the group works as before."""
    distributed.barrier()
    x = rg.tensor(np.full(3, RANK + 1.0))
    np.testing.assert_array_equal(distributed.all_reduce(x).numpy(), np.full(3, SIZE * (SIZE + 1) / 2))


def main():
    many_buckets()
    loops()
    half_precision()
    an_index_is_out_of_range()
    others_do_something_else()
    goes_on()
    nobody_comes()
    print(f"process {RANK} of {SIZE} is done", flush=True)
    time.sleep(6)  # whoever ends first ends all, as they are no longer in step


if __name__ == "__main__":
    sys.exit(main())
