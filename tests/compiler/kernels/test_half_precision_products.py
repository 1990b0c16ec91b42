"""Products of float16 and bfloat16: operands lie as they are in memory, and products add up in float32."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends.cpu.codegen import matmul
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.index.problem import Problem
from retrograde.compiler.target import named
from retrograde.dtypes import as_dtype

DTYPES = ["float16", "bfloat16"]
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
#: How an operand lies in memory: where it is made from, and as what it is shown. The last ones have no neighbours side by side.
LAYOUTS = {
    "rows": (lambda m, n: (m, n), lambda x: x), "columns": (lambda m, n: (n, m), lambda x: x.T),
    "part of rows": (lambda m, n: (m + 3, n + 5), lambda x: x[2:-1, 1:-4]),
    "part of columns": (lambda m, n: (n + 5, m + 3), lambda x: x[1:-4, 2:-1].T),
    "every other": (lambda m, n: (2 * m, 2 * n), lambda x: x[::2, ::2]),
}
SIZES = [(64, 64, 64), (33, 47, 70), (16, 200, 16), (130, 17, 1026), (300, 320, 310), (40, 40, 33), (1, 60, 40), (3, 5, 2), (200, 1, 64)]


def drawn(shape, dtype, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(as_dtype(dtype))


def wide(x):
    return np.asarray(x).astype(np.float64)


def agrees(found, a, b, dtype):
    """Whether a product is within one rounding, and what float32 loses in adding up, of that of float64."""
    exact, bound = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
    return found.dtype == as_dtype(dtype) and (
        np.abs(wide(found) - exact) <= 1.01 * UNIT[dtype] * np.abs(exact) + a.shape[-1] * 2.0**-24 * bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_operands_lie_in_any_order(left, right, dtype):
    for m, n, k in SIZES[:5] if left == right else SIZES[1:5:3]:
        (shape_a, show_a), (shape_b, show_b) = LAYOUTS[left], LAYOUTS[right]
        a, b = drawn(shape_a(m, k), dtype, 1), drawn(shape_b(k, n), dtype, 2)
        f = rg.jit(lambda a, b, show_a=show_a, show_b=show_b: show_a(a) @ show_b(b))
        assert agrees(f(a, b), show_a(a), show_b(b), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_are_any(size, dtype):
    m, n, k = size
    a, b = drawn((m, k), dtype, 3), drawn((k, n), dtype, 4)
    assert agrees(rg.jit(lambda a, b: a @ b)(a, b), a, b, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", [((3, 20, 32), (3, 32, 24)), ((3, 20, 32), (32, 24)), ((2, 1, 18, 64), (5, 64, 40)),
                                    ((20, 64), (4, 64, 40))], ids=str)
def test_batches_are_those_of_numpy(shapes, dtype):
    a, b = (drawn(shape, dtype, seed) for seed, shape in enumerate(shapes))
    assert agrees(rg.jit(lambda a, b: a @ b)(a, b), a, b, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_what_was_computed_read_what_was_stored(dtype):
    a, b = drawn((40, 48), dtype, 5), drawn((48, 56), dtype, 6)
    f = rg.jit(lambda a, b: rg.relu(a + 1) @ (b * 2).astype(dtype))
    a_stored = np.maximum(wide((wide(a) + 1).astype(as_dtype(dtype))), 0).astype(as_dtype(dtype))
    assert agrees(f(a, b), a_stored, (wide(b) * 2).astype(as_dtype(dtype)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_half_precision_meets_float32(dtype):
    a, b = drawn((40, 48), dtype, 7), drawn((48, 56), "float32", 8)
    assert np.allclose(rg.jit(lambda a, b: a @ b)(a, b), wide(a) @ wide(b), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_and_nan_go_through(dtype):
    a, b = drawn((32, 32), dtype, 9), drawn((32, 32), dtype, 10)
    a[3, 4], a[5, 6], b[7, 8] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        exact = wide(a) @ wide(b)
    found = wide(rg.jit(lambda a, b: a @ b)(a, b))
    assert np.array_equal(np.isnan(found), np.isnan(exact)) and np.array_equal(found[np.isinf(exact)], exact[np.isinf(exact)])


def test_a_product_in_a_loop_and_its_gradient():
    w, x = (rg.tensor(drawn((32, 32), "bfloat16", seed) * as_dtype("bfloat16").type(0.2), requires_grad=True) for seed in (11, 12))

    def loss(w, x):
        return rg.fori_loop(0, 3, lambda i, h: rg.tanh(h @ w), x).sum()

    for found, expected in zip(rg.jit(rg.grad(loss, (0, 1)))(w, x), rg.grad(loss, (0, 1))(w, x), strict=True):
        assert found.dtype == as_dtype("bfloat16") and np.allclose(wide(found.detach()), wide(expected.detach()), rtol=0.1, atol=0.1)


@pytest.mark.skipif(backends.chosen_name() != "native", reason="code of the native backend")
def test_pairs_are_multiplied_where_that_is_faster():
    f, a = rg.jit(lambda a, b: a @ b), drawn((64, 64), "bfloat16", 13)
    f(a, a)
    kinds = [kernel.kind for kernel in f.explain().kernels]
    assert kinds == (["matmul", "loop"] if target().gains_by_bfloat16 else ["widen", "matmul", "loop"])


@pytest.mark.skipif(backends.chosen_name() != "native", reason="code of the native backend")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "function"), [
    (1, lambda x, w: x @ w.T), (8, lambda x, w: x @ w.T), (9, lambda x, w: x @ w.T), (12, lambda x, w: x @ w), (1, lambda x, w: w @ x[0]),
    (4, lambda x, w: x @ w[32:].T), (1, lambda x, w: x[0] @ w)])
def test_a_matrix_of_half_precision_is_widened_in_registers(rows, function, dtype):
    f, x, w = rg.jit(function), drawn((rows, 64), "float32", 14), drawn((64, 64), dtype, 15)
    assert np.allclose(f(x, w), function(x.astype(np.float64), wide(w)), rtol=1e-5, atol=1e-5)
    assert "widen" not in [kernel.kind for kernel in f.explain().kernels]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", ["rows", "columns", "part of rows"])
def test_a_few_rows_meet_whole_blocks_and_parts_of_them(left, right, dtype):
    (shape_a, show_a), (shape_b, show_b) = LAYOUTS[left], LAYOUTS[right]
    f = rg.jit(lambda a, b: show_a(a) @ show_b(b))
    for m, n, k in [(1, 40, 64), (3, 33, 96), (8, 64, 32), (9, 70, 64), (5, 32, 48), (64, 1, 64), (64, 2, 96)]:
        a, b = drawn(shape_a(m, k), dtype, 16), drawn(shape_b(k, n), dtype, 17)
        assert agrees(f(a, b), show_a(a), show_b(b), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_meets_itself(dtype):
    f = rg.jit(lambda x: (x @ x.T, x.T @ x))
    for shape in [(3, 64), (32, 64), (64, 32), (40, 96)]:
        x = drawn(shape, dtype, 18)
        assert all([agrees(z, a, b, dtype) for z, a, b in zip(f(x), (x, x.T), (x.T, x), strict=True)])


@pytest.mark.parametrize(("processor", "gains"), [("znver4", True), ("znver5", True), ("emeraldrapids", False), ("cooperlake", False)])
def test_a_processor_with_slow_instructions_for_pairs_widens(processor, gains):
    able = named("x86-64-v4")._replace(name=processor, features="+avx512bf16")
    assert (matmul.choose_pairs(able, Problem("float32", 64, 64, 64, (64, 1), (64, 1), (64, 1))) is not None) == gains


def test_a_target_without_instructions_for_pairs_has_no_plan_of_them():
    assert matmul.choose_pairs(named("x86-64-v4"), Problem("float32", 64, 64, 64, (64, 1), (64, 1), (64, 1))) is None
