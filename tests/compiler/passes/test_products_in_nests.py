"""nests with matrix products: rows are multiplied block by block, with what comes before and after, by a matrix packed once."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

F = nn.functional


def nests_of(step):
    steps = step._last_step().program.schedule.steps
    return list(dict.fromkeys(s.nest for s in steps if s.nest is not None))


def kinds_of(step):
    return [kernel.kind for kernel in step.explain().kernels]


def layers(widths, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return [rg.tensor(rng.standard_normal((a, b)) / np.sqrt(a), dtype) for a, b in pairwise(widths)]


def activated(x, weights):
    for weight in weights:
        x = F.gelu(x @ weight + weight[0])
    return x


def attended(x, weights):
    for weight in weights:
        x = F.softmax(x @ weight, -1) - x.mean(axis=-1, keepdims=True)
    return x


def transposed(x, weights):
    for weight in weights:
        x = rg.tanh(x @ (weight.T + 0.1).T)
    return x


def on_part(x, weights):
    """The product reads a part of each row, backwards."""
    for weight in weights:
        y = rg.concatenate([rg.sin(x), rg.exp(-x * x)], axis=-1) @ rg.concatenate([weight, weight * 0.1])
        x = rg.tanh(y) + x.sum(axis=-1, keepdims=True)
    return x


def across(x, weights):
    """What the next product needs of all rows keeps the two apart."""
    for weight in weights:
        x = x @ weight
        x = x - x.mean(axis=0, keepdims=True)
    return x


def gram(x, weights):
    """The rows themselves are the matrix of another product."""
    for weight in weights:
        x = rg.tanh(x @ weight)
    return x.reshape(-1, x.shape[-1]).T @ x.reshape(-1, x.shape[-1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(1024, 40), (1000, 40), (9, 113, 40), (7, 3, 50, 40), (129, 40)])
@pytest.mark.parametrize("function", [activated, attended, transposed, on_part, across, gram])
def test_layers_equal_eager_ones_with_their_gradients_for_any_number_of_threads(function, shape):
    x = rg.tensor(np.random.default_rng(1).standard_normal(shape))
    weights = layers((40, 33, 70, 17))

    def both(x, weights):
        return rg.value_and_grad(lambda x, weights: (function(x, weights) ** 2).sum(), argnums=(0, 1))(x, weights)

    wanted, (wanted_x, wanted_weights) = both(x, weights)
    found = []
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        try:
            found.append(rg.jit(both)(x, weights))
        finally:
            rg.set_num_threads(2)
    np.testing.assert_allclose(found[0][0].numpy(), wanted.numpy(), rtol=1e-9)
    gradients = [[made[1][0], *made[1][1]] for made in found]
    for a, b in zip(gradients[0], [wanted_x, *wanted_weights], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-10 * np.abs(b.numpy()).max())
    for other in gradients[1:]:
        assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(gradients[0], other, strict=True))


def test_two_layers_and_what_is_between_them_are_one_nest_that_keeps_nothing():
    x = rg.tensor(np.random.default_rng(2).standard_normal((2048, 64)), "float32")
    weights = layers((64, 256, 64), "float32")
    step = rg.jit(lambda x: F.gelu(x @ weights[0]) @ weights[1])
    np.testing.assert_allclose(step(x).numpy(), (F.gelu(x @ weights[0]) @ weights[1]).numpy(), atol=1e-4)
    (nest,) = nests_of(step)
    assert [s.kernel.name for s in nest.steps] == ["matmul", "loop", "matmul"] and len(nest.local) == 2
    assert kinds_of(step) == ["pack", "pack", "rows"]
    between = 2048 * 256 * 4
    assert step.explain().arena_bytes < between


def test_values_and_gradients_of_a_network_are_one_nest_up_to_the_gradients_of_its_weights():
    x, y = rg.tensor(np.random.default_rng(3).standard_normal((1024, 32))), rg.tensor(np.arange(1024) % 8)
    weights = layers((32, 64, 8))

    def loss(weights):
        return F.cross_entropy(rg.tanh(x @ weights[0]) @ weights[1], y)

    step = rg.jit(rg.value_and_grad(loss))
    value, gradients = step(weights)
    wanted, wanted_gradients = rg.value_and_grad(loss)(weights)
    np.testing.assert_allclose(value.item(), wanted.item(), rtol=1e-12)
    for a, b in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-13)
    assert max(sum(s.kernel.name == "matmul" for s in nest.steps) for nest in nests_of(step)) == 3


def test_a_matrix_that_several_products_share_is_packed_once():
    x, (weight,) = rg.tensor(np.random.default_rng(4).standard_normal((1000, 64))), layers((64, 64))
    step = rg.jit(lambda x: rg.tanh(rg.tanh(rg.tanh(x @ weight) @ weight) @ weight))
    np.testing.assert_allclose(step(x).numpy(), rg.tanh(rg.tanh(rg.tanh(x @ weight) @ weight) @ weight).numpy(), rtol=1e-9)
    assert kinds_of(step).count("pack") == 1


def parts_of(step):
    program = step._last_step().program
    return getattr(program, "_whole", program).parts  # planned again where it was found on disk


def test_layers_that_are_alike_share_their_code_whatever_lies_in_frames():
    step = rg.jit(partial(activated, weights=layers((64,) * 5)))
    step(rg.tensor(np.random.default_rng(4).standard_normal((1000, 64))))
    (nest,) = [part for part in parts_of(step) if part.passes]
    loops = [one.unit.name for one in nest.passes if one.step.kernel.name != "matmul"]
    assert len(loops) == 4 and len(set(loops)) == 1


def test_loops_share_their_code_whether_they_have_one_chunk_or_many():
    steps = [rg.jit(lambda x: rg.exp(x) * x) for _ in range(2)]
    for step, size in zip(steps, (4096, 640_000), strict=True):
        step(rg.ones(size))
    (one,), (many,) = (parts_of(step) for step in steps)
    assert one.chunks == 1 < many.chunks and one.unit.name == many.unit.name


def test_a_weight_is_updated_where_it_is_in_the_nest_that_makes_its_gradient():
    rng = np.random.default_rng(5)
    start, x, g = rng.standard_normal((512, 300)), rng.standard_normal((64, 512)), rng.standard_normal((64, 300))
    found, wanted = rg.tensor(start), rg.tensor(start)

    def step(weight, x, g):
        weight -= 0.1 * (x.T @ g)
        return (weight * weight).sum()

    fast = rg.jit(lambda x, g: step(found, x, g))
    for _ in range(3):
        np.testing.assert_allclose(fast(rg.tensor(x), rg.tensor(g)).item(), step(wanted, rg.tensor(x), rg.tensor(g)).item(), rtol=1e-9)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-9)
    assert any("matmul" in [s.kernel.name for s in nest.steps] for nest in nests_of(fast))


def test_a_small_product_stays_by_itself():
    x, (weight,) = rg.tensor(np.random.default_rng(6).standard_normal((32, 16))), layers((16, 16))
    step = rg.jit(lambda x: rg.tanh(x @ weight))
    step(x)
    assert not nests_of(step) and kinds_of(step) == ["matmul", "loop"]


def test_a_sum_of_all_rows_that_has_as_many_numbers_as_there_are_rows_is_read_when_it_is_complete():
    x, (weight,) = rg.tensor(np.random.default_rng(7).standard_normal((1024, 128))), layers((128, 128))

    def function(x):
        y = rg.tanh(x @ weight)
        return rg.sin(y[:128].sum(axis=0)), rg.cos(y.sum(axis=0).reshape(1, 128)) * 2

    for wanted, found in zip(function(x), rg.jit(function)(x), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-10)


def test_rows_may_be_texts_of_a_batch_for_some_passes_and_characters_for_others():
    rng = np.random.default_rng(8)
    x, places, (weight,) = rg.tensor(rng.standard_normal((32, 40, 64))), rg.tensor(rng.standard_normal((40, 64))), layers((64, 64))

    def function(x, places):
        y = rg.tanh((x + places) @ weight)
        return (y.reshape(-1, 64).sum(axis=0) * y.reshape(-1, 64)).sum() + F.softmax(y + places, -1)[:, :, 0].sum()

    step = rg.jit(rg.value_and_grad(function, argnums=(0, 1)))
    value, gradients = step(x, places)
    wanted, wanted_gradients = rg.value_and_grad(function, argnums=(0, 1))(x, places)
    np.testing.assert_allclose(value.item(), wanted.item(), rtol=1e-11)
    for a, b in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-9)
    assert 32 in [nest.rows for nest in nests_of(step)]


@pytest.mark.parametrize(("function", "is_nest"), [
    (lambda x, hidden, column: x[:, :64] @ column[:, 0], False),
    (lambda x, hidden, column: x.T @ x[:, 0], False),
    (lambda x, hidden, column: rg.tanh(x @ hidden) @ column[:, 0], True),
], ids=["rows from memory", "long rows", "short rows in cache"])
def test_one_column_of_rows_that_are_long_or_come_from_memory_is_made_of_dot_products(function, is_nest):
    x, (hidden, column), step = layers([1024, 600])[0], layers([600, 64, 1]), rg.jit(function)
    expected = function(x, hidden, column).numpy()
    np.testing.assert_allclose(step(x, hidden, column).numpy(), expected, rtol=1e-10, atol=1e-10)
    assert bool(nests_of(step)) == is_nest


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_long_chain_of_layers_does_not_keep_all_gradients_of_activations_at_once(is_checkpointed):
    rg.manual_seed(0)
    layers = [layer for _ in range(24) for layer in (nn.Linear(128, 128), nn.Tanh())]
    parameters, blocks = list(nn.Sequential(*layers).parameters()), [nn.Sequential(*layers[i : i + 6]) for i in range(0, 48, 6)]

    @rg.jit
    def step(x):
        for p in parameters:
            p.grad = None
        for block in blocks:
            x = rg.checkpoint(block, x) if is_checkpointed else block(x)
        loss = (x * x).mean()
        loss.backward()
        return loss

    x = rg.randn(8192, 128)
    step(x)
    # An eager step has about as many at a time. With one nest for the whole way back there were 49.
    assert step.explain().arena_bytes < (24 if is_checkpointed else 36) * x.nbytes
