"""ranking: the greatest and the least numbers of each row are found without sorting, as sorting finds them."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, -np.nan, 1.0, 1.0])


def ranked(x, k, largest):
    """What a stable sort finds; NaN is the greatest number."""
    is_nan, key = np.isnan(x), np.where(np.isnan(x), 0, x)
    places = np.broadcast_to(np.arange(x.shape[-1]), x.shape)
    order = np.lexsort((places, -key, ~is_nan) if largest else (places, key, is_nan))
    return order[..., :k]


def compiled(x, k, largest):
    step = rg.jit(lambda x: rg.topk(x, k, largest=largest))
    values, places = step(rg.tensor(x))
    return values.numpy(), places.numpy(), {kernel.kind for kernel in step.explain().kernels}


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "k"), [((7,), 3), ((1, 1), 1), ((5, 40), 40), ((3, 4, 100), 1), ((60, 1000), 7), ((2, 300), 128)])
def test_the_first_of_each_row_are_those_of_a_stable_sort(shape, k, dtype, largest):
    x = np.random.default_rng(k).integers(-50, 50, shape).astype(dtype)  # many are equal
    values, places, kinds = compiled(x, k, largest)
    assert np.array_equal(places, ranked(x, k, largest)) and "library" not in kinds
    assert np.array_equal(values, np.take_along_axis(x, places, -1))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_of_both_signs_are_equal_and_nan_is_the_greatest_number(dtype, largest):
    random = np.random.default_rng(0)
    x = np.stack([random.permutation(np.concatenate([SPECIAL, random.standard_normal(40)])) for _ in range(30)]).astype(dtype)
    x[3], x[4, :30], x[5] = np.nan, np.nan, -np.inf
    for k in (1, 4, 20, 52):
        assert np.array_equal(compiled(x, k, largest)[1], ranked(x, k, largest))


def test_places_are_the_same_for_any_number_of_threads_eager_and_compiled():
    x, before = np.random.default_rng(1).integers(0, 1000, (500, 300)).astype("float32"), rg.get_num_threads()
    expected = ranked(x, 5, True)
    for threads in (1, 2, 3):
        rg.set_num_threads(threads)
        assert np.array_equal(compiled(x, 5, True)[1], expected)
        assert np.array_equal(rg.topk(rg.tensor(x), 5)[1].numpy(), expected)
    rg.set_num_threads(before)


def test_gradients_go_to_what_was_found():
    x = np.random.default_rng(2).permutation(600).reshape(20, 30).astype("float64")
    found = rg.jit(rg.grad(lambda x: (rg.topk(x, 3)[0] ** 2).sum()))(x)
    expected = np.zeros_like(x)
    np.put_along_axis(expected, ranked(x, 3, True), 2 * np.take_along_axis(x, ranked(x, 3, True), -1), -1)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("call", [lambda x: rg.topk(x, 2, axis=0), lambda x: rg.topk(x, 200), lambda x: rg.topk(x.astype("int64"), 2)])
def test_other_axes_and_dtypes_and_many_numbers_are_sorted(call):
    x = np.random.default_rng(3).integers(0, 9, (40, 300)).astype("float32")
    for a, b in zip(rg.jit(call)(rg.tensor(x)), call(rg.tensor(x)), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
