"""Products of every shape, layout and batch agree with NumPy in float64, whatever the number of chunks."""

import numpy as np
import pytest
from matmul_harness import assert_product, operand, product

from retrograde.compiler.backends.cpu.codegen.matmul import choose
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.index.problem import problem_of

SHAPES = [
    (0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1, 1), (1, 1, 300), (1, 64, 32), (64, 1, 32), (2, 3, 500),
    (2, 500, 3), (5, 7, 11), (6, 16, 8), (7, 17, 9), (8, 8, 8), (12, 33, 1), (13, 10, 300), (31, 33, 65), (32, 16, 2),
    (64, 64, 64), (70, 10, 256), (127, 63, 255), (1, 700, 700), (700, 1, 700), (10, 10, 2000), (200, 300, 1100),
]  # fmt: skip
LAYOUTS = ("row", "column", "spaced", "reversed", "backward")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_products_of_all_shapes_agree_with_numpy(m, n, k, dtype):
    generator = np.random.default_rng(m + 1000 * n + k)
    for layouts in (("row", "row", "row"), ("column", "row", "row"), ("row", "column", "row")):
        a, b, c = (operand(generator, *size, dtype, layout) for size, layout in zip(((m, k), (k, n), (m, n)), layouts, strict=True))
        assert_product(product(a, b, c), a.astype("f8") @ b.astype("f8"), k)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_panels_of_all_heights_leave_their_neighbours_alone(dtype):
    # Of every number of rows some tiles are one lower than others, and a vector that is stored may be higher than two of them.
    generator, b = np.random.default_rng(6), operand(np.random.default_rng(7), 1001, 160, dtype)
    for m in range(1, 72):
        a = operand(generator, m, 1001, dtype, "column")
        assert_product(product(a, b, np.full((m, 160), np.nan, dtype)), a.astype("f8") @ b.astype("f8"), 1001)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 3, 16, 31, 257, 1031, 2100])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 100, 130])
def test_products_of_every_small_number_of_rows_agree_with_numpy(n, k, dtype):
    generator = np.random.default_rng(n * k)
    rights = [operand(generator, k, n, dtype, layout) for layout in LAYOUTS[:2]]
    for m in (*range(1, 34), 40, 41, 42, 43, 55, 56, 57, 70, 71, 97):
        for a, b in ((operand(generator, m, k, dtype, layout), b) for layout in LAYOUTS[:2] for b in rights):
            expected = a.astype("f8") @ b.astype("f8")
            for c in (np.full((m, n), np.nan, dtype), np.full((n, m), np.nan, dtype).T):
                assert_product(product(a, b, c), expected, k)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("seed", range(1000))
def test_drawn_products_agree_with_numpy(seed):
    generator = np.random.default_rng(seed)
    m, n, k = (int(2 ** generator.uniform(0, most)) for most in (8, 10, 11))
    dtype, count = generator.choice(["float32", "float64"]), int(generator.integers(1, 4))
    a, b, c = (operand(generator, *size, dtype, generator.choice(LAYOUTS[:3])) for size in ((m, k), (k, n), (m, n)))
    assert_product(product(a, b, c, count), a.astype("f8") @ b.astype("f8"), k)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("c_layout", ["row", "column", "backward"])
@pytest.mark.parametrize("b_layout", LAYOUTS)
@pytest.mark.parametrize("a_layout", LAYOUTS)
def test_products_of_all_strides_agree_with_numpy(a_layout, b_layout, c_layout):
    m, n, k = 45, 77, 290
    generator = np.random.default_rng(1)
    a, b = operand(generator, m, k, "float32", a_layout), operand(generator, k, n, "float32", b_layout)
    c = operand(generator, m, n, "float32", c_layout)
    assert_product(product(a, b, c), a.astype("f8") @ b.astype("f8"), k)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 40, 90), (40, 1, 90), (3, 50, 70), (50, 3, 70), (1, 1, 90)])
def test_thin_products_take_any_strides(m, n, k, layout):
    generator = np.random.default_rng(2)
    for other in ("row", "column"):
        a, b = operand(generator, m, k, "float64", layout), operand(generator, k, n, "float64", other)
        c = operand(generator, m, n, "float64", layout)
        assert_product(product(a, b, c), a @ b, k)
        a, b = operand(generator, m, k, "float64", other), operand(generator, k, n, "float64", layout)
        assert_product(product(a, b, c), a @ b, k)


@pytest.mark.parametrize(
    ("batch_a", "batch_b"), [((3,), (3,)), ((), (4,)), ((4,), ()), ((2, 1), (1, 3)), ((2, 3), (2, 3)), ((0,), (0,))]
)
@pytest.mark.parametrize(("m", "n", "k"), [(9, 20, 30), (40, 1, 64)])
def test_batches_broadcast(batch_a, batch_b, m, n, k):
    generator = np.random.default_rng(3)
    a = operand(generator, m, k, "float32", "row", batch_a)
    b = operand(generator, k, n, "float32", "column", batch_b)
    expected = a.astype("f8") @ b.astype("f8")
    for count in (1, 5):
        assert_product(product(a, b, np.full(expected.shape, np.nan, "float32"), count=count), expected, k)


def test_nothing_outside_c_is_written():
    generator = np.random.default_rng(4)
    for m, n in ((13, 21), (1, 21), (21, 1), (50, 10)):
        outer = np.full((m + 4, n + 40), 7.0, "float32")
        inner = outer[2:-2, 20:-20]
        a, b = operand(generator, m, 300, "float32"), operand(generator, 300, n, "float32")
        assert_product(product(a, b, inner), a.astype("f8") @ b.astype("f8"), 300)
        inner[...] = 7.0
        assert (outer == 7.0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "n", "k"), [(130, 300, 800), (60, 2, 500), (1, 500, 900), (37, 41, 43)])
def test_results_are_the_same_bits_for_any_number_of_chunks(m, n, k, dtype):
    generator = np.random.default_rng(5)
    a, b = operand(generator, m, k, dtype), operand(generator, k, n, dtype)
    whole = product(a, b, np.empty((m, n), dtype))
    for count in (2, 3, 7, 16):
        parts = product(a, b, np.full((m, n), np.nan, dtype), count=count)
        assert np.array_equal(whole, parts)


def test_more_chunks_than_work_leave_some_idle():
    a, b = np.ones((2, 3), "float32"), np.ones((3, 2), "float32")
    assert np.array_equal(product(a, b, np.empty((2, 2), "float32"), count=64), a @ b)


@pytest.mark.parametrize(("m", "n", "k"), [(20, 30, 40), (20, 1, 400), (1, 200, 40)])
def test_special_values_propagate(m, n, k):
    generator = np.random.default_rng(7)
    a, b = operand(generator, m, k, "float32"), operand(generator, k, n, "float32")
    a[0, 3], b[5, 0] = np.nan, np.inf
    c = product(a, b, np.empty((m, n), "float32"))
    assert np.isnan(c[0]).all()
    assert not np.isfinite(c[:, 0]).any()
    assert np.isfinite(c[1:, 1:]).all()


def test_problems_that_differ_in_size_share_code():
    generator = np.random.default_rng(9)
    specs = set()
    for m, k in ((600, 300), (660, 320), (720, 333)):
        a, b = operand(generator, m, k, "float32"), operand(generator, k, 512, "float32")
        specs.add(tuple(choose(target(), problem_of(a, b, np.empty((m, 512), "float32"))).specs))
    assert len(specs) == 1
