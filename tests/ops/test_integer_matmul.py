"""Products of integers of 8 bits, as integers of 32."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends import chosen_name
from retrograde.errors import DTypeError, ShapeError

BYTES = (np.int8, np.uint8)
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")


def extremes(rng, shape, dtype):
    """Random numbers, of which a row and a column are the least ones, and the next ones the greatest."""
    facts = np.iinfo(dtype)
    x = rng.integers(facts.min, facts.max + 1, shape, dtype=dtype)
    for row, value in enumerate((facts.min, facts.max)):
        if shape[-2] > row:
            x[..., row, :] = value
        if shape[-1] > row:
            x[..., :, row] = value
    return x


def check(f, x, y, expected):
    for found in (f(rg.asarray(x), rg.asarray(y)), rg.jit(f)(rg.asarray(x), rg.asarray(y))):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("second", BYTES)
@pytest.mark.parametrize("first", BYTES)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 2), (16, 16, 16), (17, 31, 19), (64, 600, 33), (1, 40, 40), (5, 0, 4)])
def test_products_are_those_of_numpys_wide_integers(sizes, first, second):
    (m, k, n), rng = sizes, np.random.default_rng(0)
    x, y = extremes(rng, (m, k), first), extremes(rng, (k, n), second)
    check(rg.integer_matmul, x, y, x.astype(np.int64) @ y.astype(np.int64))


@pytest.mark.parametrize("dtype", BYTES)
def test_views_transposes_and_batches_are_read_as_they_are(dtype):
    rng = np.random.default_rng(1)
    x, y = extremes(rng, (2, 48, 40), dtype), extremes(rng, (36, 80), dtype)
    wide, other = x.astype(np.int64), y.astype(np.int64)
    forms = {
        "transpose": (lambda a, b: rg.integer_matmul(a[0], b[:, :40].T), wide[0] @ other[:, :40].T),
        "both transposed": (lambda a, b: rg.integer_matmul(a[1].T[:, :36], b), wide[1].T[:, :36] @ other),
        "every other column": (lambda a, b: rg.integer_matmul(a, b[:, ::2].T), wide @ other[:, ::2].T),
        "broadcast": (lambda a, b: rg.integer_matmul(a[:, None, 5:29, 2:38], b), wide[:, None, 5:29, 2:38] @ other),
        "reversed": (lambda a, b: rg.integer_matmul(rg.flip(a[0, :, :36], 0), b), wide[0, ::-1, :36] @ other),
        "vector and matrix": (lambda a, b: rg.integer_matmul(a[0, 0, :36], b), wide[0, 0, :36] @ other),
        "one array": (lambda a, b: rg.integer_matmul(a[0], a[0].T), wide[0] @ wide[0].T)}
    for f, expected in forms.values():
        check(f, x, y, expected)


@pytest.mark.parametrize("dtype", BYTES)
def test_transposes_of_any_number_of_columns_are_packed_apart(dtype):
    rng = np.random.default_rng(2)
    for m in range(1, 40):
        x, y = extremes(rng, (16, m), dtype), extremes(rng, (16, 80), dtype)
        check(lambda x, y: rg.integer_matmul(x.T, y), x, y, x.astype(np.int64).T @ y)


@pytest.mark.parametrize(("dtype", "steps"), [(np.uint8, 33_025), (np.int8, 131_071)])
def test_an_odd_number_of_steps_may_be_the_greatest_that_there_is(dtype, steps):
    x = np.full((16, steps), np.iinfo(dtype).max, dtype)
    check(lambda x, y: rg.integer_matmul(x, y.T), x, x, np.full((16, 16), steps * int(x[0, 0]) ** 2))


def test_sums_over_several_blocks_of_steps_are_exact():
    x = np.full((20, 20_000), -128, np.int8)
    y = np.full((20_000, 18), -128, np.int8)
    y[1] = 127
    check(rg.integer_matmul, x, y, x.astype(np.int64) @ y.astype(np.int64))


def test_the_greatest_sums_are_integers_and_greater_ones_are_refused():
    x = np.full((1, 131_071), -128, np.int8)
    assert rg.integer_matmul(rg.asarray(x), rg.asarray(x.T)).item() == 131_071 * 128**2
    y = np.full((1, 33_025), 255, np.uint8)
    assert rg.integer_matmul(rg.asarray(y), rg.asarray(y.T)).item() == 33_025 * 255**2
    longer = rg.asarray(np.full((1, 33_026), 255, np.uint8))
    with pytest.raises(DTypeError, match="sums that int32 holds"):
        rg.integer_matmul(longer, longer.T)
    # NumPy's way asks for the dtype of the sums: exact as long as these fit, and an error if one does not.
    with pytest.raises(DTypeError, match="must fit its dtype int32"):
        np.matmul(longer, longer.T, dtype=np.int32)
    assert np.matmul(longer * 0 + 1, longer.T * 0 + 1, dtype=np.int32).item() == 33_026


@pytest.mark.skipif(chosen_name() != "native", reason="code of our own")
def test_compiled_products_are_of_pairs_of_integers():
    x = rg.asarray(np.ones((64, 64), np.int8))
    f = rg.jit(lambda x: np.matmul(x, x.T, dtype=np.int32))
    f(x)
    kinds = [kernel.kind for kernel in f.explain().kernels]
    assert kinds == ["widen", "integer matmul"]


def test_numpys_dtype_is_that_of_the_sums():
    x = np.full((2, 30), 100, np.int8)
    t = rg.asarray(x)
    for dtype in (np.int16, np.int32, np.int64, np.float32, np.float64):
        if dtype == np.int16:
            with pytest.raises(DTypeError, match="must fit its dtype int16"):
                np.matmul(t, t.T, dtype=dtype)
            continue
        found = np.matmul(t, t.T, dtype=dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.matmul(x, x.T, dtype=dtype))
        np.testing.assert_array_equal(np.einsum("ij,kj->ik", t, t, dtype=dtype), np.einsum("ij,kj->ik", x, x, dtype=dtype))
    out = rg.asarray(np.zeros((2, 2), np.int32))
    assert np.matmul(t, t.T, dtype=np.int32, out=out) is out
    assert out[0, 0].item() == 300_000
    for call in (lambda: np.matmul(t.astype(rg.float32), t.T, dtype=np.int32), lambda: np.einsum("ij,kj", t.astype(rg.float32), t, dtype=np.int32)):
        with pytest.raises(DTypeError, match="convert them"):
            call()
    with pytest.raises(DTypeError, match=r"rg\.integer_matmul"):
        rg.matmul(t, t.T)


def test_gradients_go_through_a_product_with_a_dtype_of_floats():
    x, w = [rg.asarray(np.random.default_rng(i).standard_normal((3, 3)).astype(np.float32)) for i in range(2)]
    loss = lambda x: np.matmul(x, w, dtype=np.float64).sum()
    np.testing.assert_allclose(rg.grad(loss)(x), np.ones((3, 3)) @ w.numpy().T, rtol=1e-5)


def test_batches_by_vmap_are_products_of_each():
    x, y = [extremes(np.random.default_rng(i), (3, 20, 20), np.int8) for i in range(2)]
    for f in (rg.vmap(rg.integer_matmul), rg.jit(rg.vmap(rg.integer_matmul))):
        np.testing.assert_array_equal(f(rg.asarray(x), rg.asarray(y)), x.astype(np.int64) @ y.astype(np.int64))


def test_what_does_not_match_is_said():
    x = rg.asarray(np.ones((2, 3), np.int8))
    with pytest.raises(ShapeError, match="matmul"):
        rg.integer_matmul(x, x)
    with pytest.raises(DTypeError, match="needs int8 or uint8"):
        rg.integer_matmul(x, rg.asarray(np.ones((3, 2), np.int16)))
