"""Large matrices are multiplied by compiled code in eager mode too: any layout, any batch, the same bits for any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends.cpu.threads import get_num_threads, set_num_threads
from retrograde.errors import ShapeError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
from retrograde.compiler.backends.cpu import direct
from retrograde.ops import _native

RNG = np.random.default_rng(0)
LAYOUTS = {
    "in order": (lambda: RNG.standard_normal((40, 30)), lambda: RNG.standard_normal((30, 50))),
    "transposed": (lambda: RNG.standard_normal((30, 40)).T, lambda: RNG.standard_normal((50, 30)).T),
    "parts, backwards": (lambda: RNG.standard_normal((80, 60))[::-2, ::2], lambda: RNG.standard_normal((30, 60))[:, 55:5:-1]),
    "batches that broadcast": (lambda: RNG.standard_normal((3, 1, 7, 30)), lambda: RNG.standard_normal((5, 30, 9))),
    "a batch by one matrix": (lambda: RNG.standard_normal((6, 11, 30)), lambda: RNG.standard_normal((30, 20))),
    "repeated": (lambda: np.broadcast_to(RNG.standard_normal((1, 30)), (40, 30)), lambda: RNG.standard_normal((30, 1))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_are_numpys_whatever_the_layout(layout, dtype):
    x, y = (make() for make in LAYOUTS[layout])
    if dtype == np.float32:
        x, y = (np.asarray(a, dtype) if layout in ("in order", "repeated") else a.astype(dtype, order="K") for a in (x, y))
    found = direct.product(x, y)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.matmul(x.astype(np.float64), y.astype(np.float64)), rtol=0, atol=60 * np.finfo(dtype).eps)


def test_operands_that_have_no_product_or_lie_between_elements_are_left_to_numpy():
    x = np.zeros((4, 5))
    assert direct.product(x, x) is NotImplemented
    between = np.zeros(8 * 20 + 1, np.uint8)[1:].view(np.float64).reshape(4, 5)
    assert direct.product(between, x.T) is NotImplemented
    with pytest.raises(ShapeError, match="matmul"):
        rg.matmul(rg.zeros(2000, 300), rg.zeros(2000, 300))


def test_equal_calls_have_equal_bits_for_any_number_of_threads():
    x, y, before = RNG.standard_normal((300, 200), np.float32), RNG.standard_normal((200, 150), np.float32), get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            set_num_threads(threads)
            found.append(np.asarray(rg.tensor(x) @ rg.tensor(y)))
    finally:
        set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_eager_products_and_their_gradients_agree_with_compiled_ones_bit_by_bit():
    x, y = rg.tensor(RNG.standard_normal((256, 128)), requires_grad=True), rg.tensor(RNG.standard_normal((128, 192)), requires_grad=True)
    (x @ y).sum().backward()
    slopes = rg.jit(rg.grad(lambda x, y: (x @ y).sum(), argnums=(0, 1)))(x.detach(), y.detach())
    for leaf, slope in zip((x, y), slopes, strict=True):
        np.testing.assert_allclose(np.asarray(leaf.grad), np.asarray(slope), rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(rg.jit(lambda x, y: x @ y)(x.detach(), y.detach())), np.asarray((x @ y).detach()))


def test_where_numpy_is_the_way_it_multiplies_large_matrices_too(monkeypatch):
    x, y = RNG.standard_normal((300, 200)), RNG.standard_normal((200, 150))
    monkeypatch.setenv(backends.VARIABLE, "reference")
    monkeypatch.setattr(_native.native, "found", {})
    np.testing.assert_array_equal(np.asarray(rg.tensor(x) @ rg.tensor(y)), x @ y)


def test_several_threads_multiply_at_the_same_time():
    pairs = [(RNG.standard_normal((200, 150)), RNG.standard_normal((150, 180))) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for (x, y), found in zip(pairs, pool.map(lambda pair: direct.product(*pair), pairs), strict=True):
            np.testing.assert_allclose(found, x @ y, rtol=0, atol=1e-12)


def test_other_numbers_are_multiplied_by_numpy():
    x = RNG.integers(-9, 9, (200, 200))
    np.testing.assert_array_equal(np.asarray(rg.tensor(x) @ rg.tensor(x)), x @ x)
    z = RNG.standard_normal((200, 200)) + 1j
    np.testing.assert_allclose(np.asarray(rg.tensor(z) @ rg.tensor(z)), z @ z)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (40, 3), (130, 270), (500, 33)])
@pytest.mark.parametrize("layout", ["in order", "transposed", "a part, backwards", "read-only"])
def test_products_by_a_matrix_that_is_packed_once_are_numpys(layout, shape, dtype):
    y = RNG.standard_normal(shape).astype(dtype)
    y = {"transposed": np.asfortranarray(y), "a part, backwards": np.repeat(np.repeat(y, 2, 0), 3, 1)[::-2, ::-3]}.get(layout, y)
    if layout == "read-only":
        y.flags.writeable = False
    for rows in (1, 5, 20):
        multiply, found = direct.multiplier(y, rows), np.full((rows, shape[1]), np.nan, dtype)
        for _ in range(2):
            x = RNG.standard_normal((rows, shape[0])).astype(dtype)
            multiply(x, found)
            np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=0, atol=80 * shape[0] ** 0.5 * np.finfo(dtype).eps)


def test_what_is_packed_is_the_matrix_as_it_was_and_lives_as_long_as_what_multiplies():
    y, x, found = RNG.standard_normal((64, 48)), RNG.standard_normal((8, 64)), np.empty((8, 48))
    multiply, expected = direct.multiplier(y, 8), x @ y
    y[...] = 0
    others = [direct.multiplier(RNG.standard_normal((64, 48)), 8) for _ in range(20)]
    multiply(x, found)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    others[7](x, np.empty_like(found))
    multiply(x, found)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_products_by_packed_matrices_have_equal_bits_for_any_number_of_threads():
    x, y, before, found = RNG.standard_normal((300, 400), np.float32), RNG.standard_normal((400, 500), np.float32), get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            found.append(np.empty((300, 500), np.float32))
            direct.multiplier(y, 300)(x, found[-1])
    finally:
        set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])
