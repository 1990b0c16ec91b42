"""plan: results share one arena as long as they live, and state is updated in its own memory where that is safe."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.plan import Arena, lifetimes

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def test_what_lives_at_the_same_time_does_not_overlap_and_what_does_not_shares_memory():
    rng = np.random.default_rng(0)
    for _ in range(50):
        arena, wanted = Arena(), []
        for name in range(40):
            first = int(rng.integers(0, 30))
            wanted.append((name, int(rng.integers(0, 5000)), first, first + int(rng.integers(0, 8))))
            arena.place(*wanted[-1])
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
    return step._last.program


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
    return fast._last.program


def test_an_update_is_computed_in_the_memory_of_its_tensor():
    def step(x, p, m):
        m[...] = m * 0.9 + x
        p -= m * 0.1

    program = check_updates(step, [(40, 50)] * 2)
    assert len(program.homes) == 2 and not program.late


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
