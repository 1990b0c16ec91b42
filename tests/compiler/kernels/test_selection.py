"""selection: what has given ranks in a row is found without sorting, where a stable sort puts it."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.axes.sorting import rank_indices

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, 1.0, 1.0])


def compiled(x, ranks):
    step = rg.jit(lambda x: rank_indices(x, ranks))
    places = step(rg.tensor(x)).numpy()
    assert "library" not in {kernel.kind for kernel in step.explain().kernels}
    return places


def drawn(shape, dtype):
    """Rows with many equal numbers, with numbers that are extreme, and with none of either."""
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal(shape), np.round(rng.standard_normal(shape) * 3), rng.choice(SPECIAL, shape)]
    return [x.astype(dtype) for x in rows]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (9, 7), (3, 2, 31), (4, 100), (2, 5001)])
def test_what_has_a_rank_stands_where_a_stable_sort_finds_it(shape, dtype):
    ranks = np.array([0, shape[-1] // 3, shape[-1] - 1])
    for x in drawn(shape, dtype):
        order = np.argsort(x, -1, kind="stable")
        assert np.array_equal(compiled(x, ranks), order[..., ranks])
        assert np.array_equal(rank_indices(x, ranks), order[..., ranks])
        of_rows = np.random.default_rng(1).integers(0, shape[-1], (*shape[:-1], 2))
        assert np.array_equal(compiled(x, of_rows), np.take_along_axis(order, of_rows, -1))


@pytest.mark.parametrize("size", [12, 300, 9000])
def test_in_a_row_with_nan_the_first_one_is_found(size):
    x = np.random.default_rng(2).standard_normal((3, size)).astype("float32")
    x[1, 5], x[1, 8] = -np.nan, np.nan
    for found in (compiled(x, np.array([0, 4])), rank_indices(x, np.array([0, 4]))):
        assert found[1].tolist() == [5, 5]
        assert np.array_equal(found[[0, 2]], np.argsort(x[[0, 2]], -1)[:, [0, 4]])


def test_places_are_the_same_for_any_number_of_threads():
    x, before = np.random.default_rng(3).integers(0, 99, (300, 200)).astype("float32"), rg.get_num_threads()
    wanted = np.argsort(x, -1, kind="stable")[:, [3, 150]]
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        assert np.array_equal(compiled(x, np.array([3, 150])), wanted)
        assert np.array_equal(rank_indices(x, np.array([3, 150])), wanted)
    rg.set_num_threads(before)
