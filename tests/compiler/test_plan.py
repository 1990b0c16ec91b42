"""plan: results share one arena as long as they live, and state is updated in its own memory where that is safe."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.compiler.passes.memory import Arena, lifetimes

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def test_what_lives_at_the_same_time_does_not_overlap_and_what_does_not_shares_memory():
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = []
        for name in range(40):
            first = int(rng.integers(0, 30))
            wanted.append((name, int(rng.integers(0, 5000)), first, first + int(rng.integers(0, 8))))
        arena = Arena(wanted)
        for name, size, first, last in wanted:
            assert arena.places[name] % 64 == 0
            assert arena.places[name] + size <= arena.size
            for other, other_size, since, until in wanted[:name]:
                if since <= last and first <= until:
                    a, b = arena.places[name], arena.places[other]
                    assert a + size <= b or b + other_size <= a
        assert arena.size < sum(size for _, size, _, _ in wanted)


def deep(x, w):
    for _ in range(12):
        x = rg.tanh(x @ w)
    return x.sum()


def program_of(function, *args):
    step = rg.jit(function)
    step(*args)
    return step._last_step().program


def test_the_arena_of_a_chain_of_products_holds_two_of_them():
    x, w = np.ones((64, 64)), np.full((64, 64), 0.01)
    program = program_of(deep, x, w)
    sizes = [node.size * node.dtype.itemsize for node in lifetimes(program.schedule, ())]
    assert sum(sizes) > 12 * x.nbytes
    assert program.arena_bytes < 6 * x.nbytes


def check_updates(function, shapes, calls=3):
    """A function that writes to tensors does the same to them compiled."""
    rng = np.random.default_rng(1)
    starts = [rng.standard_normal(shape) for shape in shapes]
    eager, compiled = ([rg.tensor(s) for s in starts] for _ in range(2))
    fast = rg.jit(lambda x: function(x, *compiled))
    for _ in range(calls):
        x = rng.standard_normal(shapes[0])
        wanted, got = function(rg.tensor(x), *eager), fast(x)
        for a, b in zip([*rg.tree.leaves(wanted), *eager], [*rg.tree.leaves(got), *compiled], strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-12, atol=1e-12)
    return fast._last_step().program


def test_an_update_is_computed_in_the_memory_of_its_tensor():
    def step(x, p, m):
        m[...] = m * 0.9 + x
        p -= m * 0.1

    program = check_updates(step, [(40, 50)] * 2)
    assert len(program.aliases) == 2 and not program.late


def copied(x, p, q):
    p[...] = q
    q += x


def exchanged(x, p, q):
    old = p * 1
    p[...] = q
    q[...] = old


def handed_out(x, p):
    old = p * 1
    p += x
    return old, p * 1


def reversed_in_place(x, p):
    p[...] = rg.flip(p, 0) + x


def transposed_in_place(x, p):
    p[...] = rg.permute_dims(p, (1, 0)) * 2 + x


def summed_in_place(x, p):
    p[...] = p - p.sum(axis=0) + x


def shifted_in_place(x, p):
    p[1:] = p[:-1] + x[1:]


def product_in_place(x, p):
    p[...] = rg.tanh(p @ p) + x


def rotated(x, p, q, r):
    p[...], q[...], r[...] = q * 1, r * 1, p * 1


@pytest.mark.parametrize(("function", "count"), [
    (copied, 2), (exchanged, 2), (handed_out, 1), (reversed_in_place, 1), (transposed_in_place, 1), (summed_in_place, 1),
    (shifted_in_place, 1), (product_in_place, 1), (rotated, 3)])
@pytest.mark.parametrize("size", [5, 40])
def test_updates_that_read_what_another_writes_see_what_was_there_before(function, count, size):
    check_updates(function, [(size, size)] * count)


def failing_step(kind):
    """A training step that counts itself, and what it writes."""
    rng = np.random.default_rng(2)
    table = rg.tensor(rng.standard_normal((6, 4)), requires_grad=True)
    w = rg.tensor(rng.standard_normal((4, 3)), requires_grad=True)
    count, mean = rg.zeros(()), rg.zeros(4)
    optimizer = optim.Adam([table, w], lr=0.1)

    def step(positions, classes):
        with rg.no_grad():
            count[...] = count + 1
            table[...] = table * 0.99  # before the rows are chosen
        optimizer.zero_grad()
        rows = {"take": lambda: rg.take(table, positions, axis=0), "getitem": lambda: table[positions],
                "along": lambda: rg.take_along_axis(table, rg.reshape(positions, (-1, 1)), 0)}[kind]()
        with rg.no_grad():
            mean[...] = mean * 0.9 + rows.mean(axis=0)
        loss = nn.functional.cross_entropy(rows @ w if kind != "along" else (rows * table[:1]) @ w, classes)
        loss.backward()
        optimizer.step()
        return loss

    state = lambda: [np.array(t.detach()) for t in (table, w, count, mean, *[
        t for s in optimizer.state.values() for t in s.values() if hasattr(t, "detach")])]
    return rg.jit(step), state


@pytest.mark.parametrize("kind", ["take", "getitem", "along"])
@pytest.mark.parametrize("wrong", ["position", "negative position", "class", "negative class"])
def test_a_position_or_class_out_of_range_raises_and_writes_nothing(kind, wrong):
    step, state = failing_step(kind)
    positions, classes = np.array([0, 5, 2, 2, -1]), np.array([0, 1, 2, 1, 0])
    step(positions, classes)
    before = state()
    bad = [positions.copy(), classes.copy()]
    bad[0 if "position" in wrong else 1][3] = {"position": 6, "negative position": -7, "class": 3, "negative class": -1}[wrong]
    with pytest.raises(rg.errors.OutOfRangeError):
        step(*bad)
    for a, b in zip(before, state(), strict=True):
        np.testing.assert_array_equal(a, b)
    step(positions, classes)  # and goes on as if nothing had been
    other, other_state = failing_step(kind)
    for _ in range(2):
        other(positions, classes)
    for a, b in zip(state(), other_state(), strict=True):
        np.testing.assert_array_equal(a, b)



def test_a_step_that_fails_and_needs_the_updated_value_leaves_state_as_it_was():
    p, w = rg.tensor(np.full((40, 40), 0.5)), rg.tensor(np.full((40, 40), 0.01))

    @rg.jit
    def step(x, i):
        p[...] = rg.tanh(p @ w)
        return rg.take(x, i + rg.astype(p.sum() * 0, "int64"))

    step(np.ones(8), np.array([1]))
    before = p.numpy().copy()
    with pytest.raises(rg.errors.OutOfRangeError):
        step(np.ones(8), np.array([9]))
    np.testing.assert_array_equal(p.numpy(), before)


def test_a_library_call_that_raises_leaves_state_as_it_was():
    p, count = rg.ones(8), rg.zeros(())

    @rg.jit
    def step(x, i):
        count[...] = count + 1
        p[...] = p * 2
        return (rg.cumsum(rg.take(x, i)) * p[0]).sum()

    step(np.ones(8), np.array([1]))
    with pytest.raises(rg.errors.OutOfRangeError):
        step(np.ones(8), np.array([9]))
    assert count.item() == 1 and p[0].item() == 2
    assert step(np.ones(8), np.array([7])).item() == 4


def test_a_reshaped_array_that_a_call_needs_is_read_where_it_lies_and_not_where_it_was():
    # The order is found by a call, which needs the repeated rows in memory; what they were made of is gone by then.
    def ordered(x):
        rows = rg.repeat(x, 2, axis=0)
        return rg.take_along_axis(rows, rg.argsort(rows, axis=1), axis=1)

    x = np.array([[1.4, 2.0, 0.5], [0.3, 0.1, 7.0]])
    np.testing.assert_array_equal(rg.jit(ordered)(x), np.sort(np.repeat(x, 2, 0), 1))
