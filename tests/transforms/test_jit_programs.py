"""The programs of a jitted function: how many are kept, and the memory that they share."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim

pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")
ROWS = np.random.default_rng(0).standard_normal((900, 600))


def chain(x):
    """Needs memory of its own for two matrices."""
    return rg.tanh(rg.tanh(x @ x.T) @ x).sum()


def wanted(x):
    return np.tanh(np.tanh(x @ x.T) @ x).sum()


def test_programs_of_many_shapes_share_one_block_of_memory():
    f = rg.jit(chain)
    f(ROWS)
    largest = f.explain().arena_bytes
    assert largest > 3_000_000
    gc.collect()
    tracemalloc.start()
    for count in range(800, 816):
        np.testing.assert_allclose(f(ROWS[:count]), wanted(ROWS[:count]))
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert f.traces == 17
    assert kept < 3 * largest  # sixteen blocks would be sixteen times as much
    for count in (900, 805, 815, 805, 900):
        np.testing.assert_allclose(f(ROWS[:count]), wanted(ROWS[:count]))
    assert f.traces == 17


def test_the_program_that_was_not_used_for_longest_is_let_go():
    f = rg.jit(lambda x: (x * 2).sum(), max_programs=3)
    xs = {n: np.arange(float(n)) for n in range(1, 6)}
    for n in (1, 2, 3):
        f(xs[n])
    f(xs[1])
    f(xs[4])  # 2 goes
    assert f.traces == 4
    for n in (1, 3, 4):
        assert f(xs[n]) == 2 * xs[n].sum()
    assert f.traces == 4
    assert f(xs[2]) == 2.0
    assert f.traces == 5
    assert sum(map(len, f._memory.programs.values())) == 3
    for n in range(1, 6):
        for _ in range(2):
            assert f(xs[n]) == 2 * xs[n].sum()
    assert len(f._memory.programs) == len(f._memory.used) == 3


def test_memory_is_flat_over_more_shapes_than_are_kept():
    f = rg.jit(lambda x: rg.sin(x).sum(), max_programs=4)

    def used(start):
        for n in range(start, start + 30):
            f(np.ones(n))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    f(np.ones(1))
    tracemalloc.start()
    first = used(10)
    second = used(50)
    tracemalloc.stop()
    assert second < 1.2 * first + 100_000


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "all"])
def test_a_bound_that_cannot_be_is_refused(value):
    with pytest.raises(rg.errors.ArgumentError, match="max_programs must be None or an integer of at least 1"):
        rg.jit(chain, max_programs=value)


def test_without_a_bound_all_are_kept():
    f = rg.jit(lambda x: x.sum(), max_programs=None)
    for n in range(1, 300):
        f(np.ones(n))
    f(np.ones(1))
    assert f.traces == 299


def test_gradients_that_were_promised_are_right_after_another_program_took_the_memory():
    rg.manual_seed(0)
    models = [nn.Sequential(nn.Linear(600, 700), nn.Tanh(), nn.Linear(700, 600)) for _ in range(2)]

    def loss_of(x, which):
        models[which].zero_grad()
        loss = (models[which](x) ** 2).mean()
        loss.backward()
        return loss

    gradients, x = rg.jit(loss_of, static_argnames="which"), rg.tensor(ROWS.astype(np.float32))
    for which in (0, 1, 0, 1):
        gradients(x, which)  # those of the one wait, as nobody has read them, while those of the other are computed
    assert gradients.explain().arena_bytes > 1 << 20
    found = [[p.grad.numpy() for p in model.parameters()] for model in models]
    for which, own in enumerate(found):
        loss_of(x, which)
        for gradient, p in zip(own, models[which].parameters(), strict=True):
            np.testing.assert_allclose(gradient, p.grad.numpy(), rtol=1e-3, atol=1e-7)


def test_training_with_batches_of_two_sizes_has_the_bits_of_training_without_shared_memory(monkeypatch):
    def trained():
        rg.manual_seed(0)
        model = nn.Sequential(nn.Linear(600, 512), nn.ReLU(), nn.Linear(512, 8))
        optimizer = optim.Adam(model.parameters())

        @rg.jit
        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        x = rg.tensor(ROWS.astype(np.float32))
        for n in (900, 880, 900, 880, 870):
            step(x[:n])
        return [p.detach().numpy().tobytes() for p in model.parameters()]

    shared = trained()
    monkeypatch.setattr("retrograde.compiler.calls.step.LEAST", 1 << 60)
    assert trained() == shared


def test_a_program_that_is_called_within_another_of_its_function_has_memory_of_its_own():
    inner = []

    @rg.ops.elementwise(has_effect=True)
    def calls_itself(x, /):
        """`x`, during which the function is called for fewer rows."""
        if len(x) == 900:
            inner.append(float(f(ROWS[:700])))
        return x.copy()

    calls_itself.defvjp(lambda g: g)
    try:
        f = rg.jit(lambda x: rg.tanh(calls_itself(rg.tanh(x @ x.T)) @ x).sum())
        f(ROWS[:700])
        for _ in range(2):
            np.testing.assert_allclose(f(ROWS), wanted(ROWS))
        np.testing.assert_allclose(inner, [wanted(ROWS[:700])] * len(inner))
        assert inner
    finally:
        rg.ops.unregister("calls_itself")


def calls_in(function):
    """How many functions of Python are called."""
    count = 0

    def note(_frame, event, _arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("ask", [lambda f, x: f.explain(), lambda f, x: f.profile(x, repeats=1)], ids=["explain", "profile"])
def test_what_a_report_takes_grows_with_the_program_and_no_faster(ask):
    def taken(length):
        def unrolled(x):
            for _ in range(length):
                x = rg.cumsum(rg.sin(x) @ x * 0.01, axis=0)
            return x.sum()

        f, x = rg.jit(unrolled), np.ones((5, 5))
        f(x)
        ask(f, x)  # what is planned for the first report is there for the next
        return calls_in(lambda: ask(f, x))

    assert taken(60) < 2.2 * taken(30)
