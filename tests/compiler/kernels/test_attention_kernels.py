"""Compiled attention agrees with the eager op, forward and back, and holds no matrix of all weights."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends.cpu.threads import get_num_threads, set_num_threads
from retrograde.compiler.graph.recorder import PICK
from retrograde.compiler.passes.rewrite import rewritten
from retrograde.core import registry
from retrograde.core.symbol import Outputs, Symbol
from retrograde.nn.functional import scaled_dot_product_attention as attend

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

#: Leading axes of queries, then of keys; queries, keys, numbers of a query and of a value; type.
SHAPES = [
    ((2, 3), (2, 3), 64, 64, 32, 32, np.float32), ((), (), 5, 9, 3, 2, np.float64), ((3,), (3,), 37, 53, 20, 13, np.float32),
    ((2,), (2,), 53, 37, 33, 40, np.float32), ((1, 2), (1, 2), 200, 300, 64, 64, np.float64), ((2, 2), (2, 2), 1, 70, 32, 32, np.float32),
    ((2, 2), (2, 2), 1, 7, 33, 13, np.float64), ((2, 3), (1, 3), 8, 70, 9, 130, np.float32), ((3, 2), (3, 1), 11, 12, 8, 8, np.float32)]


def drawn(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def operands(queries_batch, keys_batch, queries, keys, depth, width, dtype):
    shapes = (*queries_batch, queries, depth), (*keys_batch, keys, depth), (*keys_batch, keys, width)
    return [drawn(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)]


def kinds(step):
    """The kinds of the kernels of a compiled function."""
    return [kernel.kind for kernel in step.explain().kernels]


def both(function, *args):
    """(found, wanted): results and gradients of a function, compiled, and eager in double precision."""
    z = function(*args)
    weights = drawn(*z.shape, seed=9, dtype=np.float64)

    def with_slopes(*args):
        slopes = rg.grad(lambda *args: (function(*args) * weights.astype(args[0].dtype)).sum(), tuple(range(len(args))))
        return (function(*args), *slopes(*args))

    step = rg.jit(with_slopes)
    found = [np.asarray(x) for x in step(*args)]
    assert "attention" in kinds(step) and "matmul" not in kinds(step)
    return found, [np.asarray(x) for x in with_slopes(*[x.astype(np.float64) for x in args])]


def check(function, *args):
    found, wanted = both(function, *args)
    tolerance = 2e-6 if args[0].dtype == np.float32 else 1e-14
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == args[0].dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max()))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients_are_the_eager_ones(shape, is_causal):
    check(lambda q, k, v: attend(q, k, v, is_causal=is_causal), *operands(*shape))


@pytest.mark.parametrize(("mask_shape", "is_boolean"), [
    ((50, 70), True), ((50, 70), False), ((2, 1, 50, 70), True), ((2, 4, 50, 70), False), ((2, 1, 1, 70), True), ((50, 1), False)], ids=str)
def test_masks_of_any_shape_add_to_the_products(mask_shape, is_boolean):
    mask = drawn(*mask_shape, seed=4)
    if is_boolean:
        mask = mask > 0
        mask[..., :1, :] = False  # a query that may look nowhere, unless all queries share a row
    check(lambda q, k, v: attend(q, k, v, mask if is_boolean else mask.astype(q.dtype)), *operands(
        (2, 4), (2, 4), 50, 70, 24, 20, np.float32))


def test_a_mask_may_be_a_view_and_of_one_query():
    mask = drawn(70, 6, 2, seed=4) > 0
    q, k, v = operands((2,), (2,), 3, 70, 8, 8, np.float32)
    check(lambda q, k, v: attend(q, k, v, rg.permute_dims(rg.tensor(mask), (2, 1, 0))[:, ::2]), q, k, v)
    check(lambda q, k, v: attend(q, k, v, rg.permute_dims(rg.tensor(mask), (2, 1, 0))[:, :1]), q[:, :1], k, v)


def test_a_query_that_may_look_nowhere_gives_zeros_and_no_gradient():
    q, k, v = operands((2,), (2,), 20, 30, 8, 8, np.float32)
    mask = np.ones((20, 30), bool)
    mask[3] = False
    for rows in (slice(0, 20), slice(3, 4)):
        found, _ = both(lambda q, k, v, mask=mask[rows]: attend(q, k, v, mask), q[:, rows], k, v)
        row = 3 if rows.start == 0 else 0
        assert not found[0][:, row].any() and not found[1][:, row].any()


@pytest.mark.parametrize(("heads", "shared", "queries"), [(4, 2, 50), (6, 1, 33), (6, 2, 1)])
def test_grouped_queries_share_keys(heads, shared, queries):
    arrays = operands((2, heads), (2, shared), queries, 45, 33, 16, np.float32)
    mask = drawn(2, heads, queries, 45, seed=5) > -1
    check(lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True), *arrays)
    check(lambda q, k, v: attend(q, k, v, mask, enable_gqa=True), *arrays)


def test_heads_of_one_fused_projection_are_read_where_they_lie():
    def heads(x):
        parts = rg.permute_dims(rg.reshape(x, (2, 40, 3, 4, 12)), (2, 0, 3, 1, 4))
        return attend(parts[0], parts[1], parts[2], is_causal=True)

    x = drawn(2, 40, 144)
    check(heads, x)
    step = rg.jit(heads)
    step(x)
    assert kinds(step) == ["attention"]


@pytest.mark.parametrize("way", ["native", "reference"])
def test_heads_that_are_joined_next_are_written_beside_each_other(way, monkeypatch):
    def layer(x, weight):
        parts = rg.permute_dims(rg.reshape(x, (2, 40, 3, 4, 12)), (2, 0, 3, 1, 4))
        z = attend(parts[0], parts[1], parts[2], is_causal=True)
        return rg.reshape(rg.permute_dims(z, (0, 2, 1, 3)), (2, 40, 48)) @ weight

    monkeypatch.setenv(backends.VARIABLE, way)
    x, weight = drawn(2, 40, 144), drawn(48, 7, seed=1)
    step, slopes = rg.jit(layer), rg.grad(lambda x, weight: (layer(x, weight) ** 2).sum(), (0, 1))
    np.testing.assert_allclose(step(x, weight), layer(x, weight), rtol=1e-5, atol=1e-5)
    assert kinds(step) == ["attention", "matmul"]
    for a, b in zip(rg.jit(slopes)(x, weight), slopes(x, weight), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_results_may_stand_beside_constants():
    x = Symbol(None, (), (2, 4, 40, 12), np.dtype(np.float32))
    heads = Symbol(PICK, (Symbol(registry.get("attention_with_sums"), (x, x, x, None, False, 1.0), None, None), 0), x.shape, x.dtype)
    turned = Symbol(registry.get("permute_dims"), (heads, (0, 2, 1, 3)), (2, 40, 4, 12), x.dtype)
    joined, constant = Symbol(registry.get("reshape"), (turned, (2, 40, 48)), (2, 40, 48), x.dtype), np.arange(3.0)
    found, beside = rewritten(Outputs([joined, constant]))
    assert beside is constant
    assert found.args[0].op is PICK
    assert found.args[0].args[1:] == (0, (0, 2, 1, 3))
    kept, same = rewritten(Outputs([constant, heads, joined]))[1:]  # who asks for them apart gets them so
    assert (kept, same) == (heads, joined)


def test_any_steps_of_operands_will_do():
    views = [lambda x: rg.flip(x, -2), lambda x: rg.transpose(x), lambda x: x[..., ::2, 1:]]
    for turn in range(3):
        a, b, c = (views[(turn + i) % 3] for i in range(3))
        shapes = {0: (2, 20, 11), 1: (2, 11, 20), 2: (2, 40, 12)}
        arrays = [drawn(*shapes[(turn + i) % 3], seed=i) for i in range(3)]
        check(lambda q, k, v, a=a, b=b, c=c: attend(a(q), b(k), c(v)), *arrays)


def test_keys_and_values_of_a_cache_are_read_where_they_lie():
    cache, q = drawn(2, 3, 64, 4, 16), drawn(3, 1, 4, 16, seed=1)

    def answer(cache, q):
        k, v = (rg.permute_dims(cache[i], (0, 2, 1, 3)) for i in range(2))
        return attend(rg.permute_dims(q, (0, 2, 1, 3)), k, v)

    step = rg.jit(answer)
    np.testing.assert_allclose(step(cache, q), answer(cache, q), rtol=1e-5, atol=1e-6)
    assert kinds(step) == ["attention"]


@pytest.mark.parametrize("is_causal", [False, True])
def test_second_derivatives_are_the_eager_ones(is_causal):
    arrays = operands((2,), (2,), 9, 11, 5, 6, np.float64)

    def slope(q, k, v):
        return sum((g * g * 0.5).sum() for g in rg.grad(lambda *a: (attend(*a, is_causal=is_causal) ** 2).sum(), (0, 1, 2))(q, k, v))

    second = rg.grad(slope, (0, 1, 2))
    for a, b in zip(rg.jit(second)(*arrays), second(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


def test_a_learned_mask_gets_its_gradient():
    q, k, v = operands((2,), (2,), 6, 7, 4, 4, np.float64)
    slopes = rg.grad(lambda mask, q: (attend(q, k, v, mask) ** 2).sum(), (0, 1))
    mask = drawn(6, 7, dtype=np.float64)
    for a, b in zip(rg.jit(slopes)(mask, q), slopes(mask, q), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_one_gradient_alone_is_the_one_it_is_among_others():
    arrays = operands((2, 2), (2, 2), 33, 40, 12, 9, np.float32)

    def loss(q, k, v):
        return (attend(q, k, v, is_causal=True) ** 2).sum()

    together = rg.jit(rg.grad(loss, (0, 1, 2)))(*arrays)
    for i, wanted in enumerate(together):
        np.testing.assert_array_equal(rg.jit(rg.grad(loss, i))(*arrays), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_great_and_far_products_are_safe(dtype):
    q, k, v = operands((2,), (2,), 40, 50, 16, 16, dtype)
    for factor in (1e-30, 1e3, 1e4):
        found = [np.asarray(x) for x in rg.jit(rg.value_and_grad(lambda q: attend(q, k, v).sum()))(q * dtype(factor))]
        assert all(np.isfinite(x).all() for x in found)
        np.testing.assert_allclose(rg.jit(attend)(q * dtype(factor), k, v), attend(q * dtype(factor), k, v), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("queries", [1, 40])
def test_what_is_not_a_number_reaches_those_who_look_at_it(queries):
    q, k, v = operands((1,), (1,), queries, 40, 16, 16, np.float32)
    k[0, 20, 3] = np.nan
    assert np.isnan(rg.jit(attend)(q, k, v)).all()
    if queries > 1:
        found = np.asarray(rg.jit(lambda q, k, v: attend(q, k, v, is_causal=True))(q, k, v))
        assert np.isfinite(found[0, :20]).all() and np.isnan(found[0, 20:]).all()


@pytest.mark.parametrize("batch", [(1, 1), (3, 4)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_results_have_the_same_bits_on_any_number_of_threads(batch, is_causal):
    arrays = operands(batch, batch, 170, 190, 24, 32, np.float32)
    before, found = get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            z = rg.jit(lambda *a: attend(*a, is_causal=is_causal))(*arrays)
            slopes = rg.jit(rg.grad(lambda *a: (attend(*a, is_causal=is_causal) ** 2).sum(), (0, 1, 2)))(*arrays)
            found.append(b"".join(np.asarray(x).tobytes() for x in (z, *slopes)))
    finally:
        set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_memory_is_far_less_than_that_of_all_weights():
    arrays = operands((2,), (2,), 2048, 2048, 16, 16, np.float32)
    step = rg.jit(rg.grad(lambda *a: (attend(*a, is_causal=True) ** 2).sum(), (0, 1, 2)))
    step(*arrays)
    assert step.explain().arena_bytes < 2 * 2048 * 2048 * 4 / 10


def test_the_report_says_what_attention_reads_and_computes():
    arrays = operands((2, 3), (2, 3), 64, 64, 32, 32, np.float32)
    step = rg.jit(attend)
    step(*arrays)
    [kernel] = step.explain().kernels
    assert kernel.kind == "attention"
    assert kernel.flops == 2 * 2 * 6 * 64 * 64 * 32
    assert kernel.nbytes == 4 * arrays[0].nbytes


def test_types_without_a_kernel_are_computed_by_other_means():
    q = drawn(2, 5, 4).astype(np.float32)
    step = rg.jit(lambda q: attend(q, q.astype(np.float64), q))
    np.testing.assert_allclose(step(q), attend(q, q.astype(np.float64), q), atol=1e-5)
    assert "attention" not in kinds(step)


def test_half_precision_runs_the_kernel_of_float32():
    q = drawn(2, 5, 4).astype(np.float16)
    step = rg.jit(lambda q: attend(q, q, q))
    np.testing.assert_allclose(step(q), attend(q, q, q), atol=5e-3)
    assert "attention" in kinds(step) and step(q).dtype == np.float16


@pytest.mark.parametrize("join", [
    lambda z: rg.permute_dims(z, (0, 2, 1, 3)), lambda z: rg.swapaxes(z, 1, 2), lambda z: rg.transpose(z, 1, 2), lambda z: rg.moveaxis(z, 1, 2),
], ids=["permute_dims", "swapaxes", "transpose", "moveaxis"])
def test_heads_are_written_beside_each_other_however_their_axes_are_changed(join):
    x = np.random.default_rng(0).standard_normal((2, 16, 32)).astype(np.float32)

    @rg.jit
    def f(x):
        heads = rg.permute_dims(rg.reshape(x, (2, 16, 4, 8)), (0, 2, 1, 3))
        return rg.reshape(join(rg.nn.functional.scaled_dot_product_attention(heads, heads, heads)), (2, 16, 32)) @ x[0].T

    eager = f.__wrapped__(x)
    np.testing.assert_allclose(f(x), eager, rtol=1e-5, atol=1e-5)
    written = {stage.name: stage for stage in f.explain(passes=True).passes}["rewrite"]
    assert any("(0, 2, 1, 3))  float32[2, 16, 4, 8]" in line for line in written.lines if "pick" in line)
    assert [kernel.kind for kernel in f.explain().kernels] == ["attention", "matmul"]
