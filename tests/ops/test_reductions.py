"""Sums and means of narrow numbers."""

import numpy as np
import pytest

import retrograde as rg


@pytest.mark.parametrize("compiled", [False, True])
def test_sums_of_bfloat16_and_means_of_halves_are_those_of_float32(compiled):
    def found(function, *args):
        return np.asarray((rg.jit(function) if compiled else function)(*args)).astype(np.float64)

    many = np.random.default_rng(0).standard_normal(70_000).astype(np.float32) + 2
    for dtype, tolerance in ((rg.bfloat16, 8e-3), (rg.float16, 1e-3)):
        x = rg.tensor(many).astype(dtype)
        exact = np.asarray(x).astype(np.float64)
        np.testing.assert_allclose(found(lambda x: x.mean(), x), exact.mean(), rtol=tolerance)
        some = x[:20_000]  # the sum of squares of more is beyond the largest number of float16
        np.testing.assert_allclose(found(lambda x: x.var(), some), exact[:20_000].var(), rtol=2 * tolerance)
        rows = x.reshape(7, -1)
        chances = found(lambda x: rg.nn.functional.softmax(x, -1), rows)
        np.testing.assert_allclose(chances.sum(-1), 1, rtol=2 * tolerance)
        logits = found(lambda x: rg.nn.functional.cross_entropy(x, np.arange(7)), rows)
        wide = exact.reshape(7, -1)
        losses = np.log(np.exp(wide).sum(-1)) - wide[np.arange(7), np.arange(7)]
        np.testing.assert_allclose(logits, losses.mean(), rtol=2 * tolerance)
    np.testing.assert_allclose(found(lambda x: x.sum(), rg.ones((100_000,), dtype=rg.bfloat16)), 100_000, rtol=8e-3)


@pytest.mark.parametrize("transform", [lambda f: f, rg.jit])
@pytest.mark.parametrize("number", [7.071, 0.1, 0.3])
def test_equal_elements_have_a_spread_without_a_slope_however_their_mean_is_rounded(transform, number):
    if transform is rg.jit:
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    taken = np.array([[True, True, False], [True, True, True], [True, True, True]])
    for x in (np.full((3, 3), number), np.full((3, 3), number, np.float32)):
        for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True, "correction": 1}, {"axis": 1, "where": taken}):
            slope = transform(rg.grad(lambda x, options=options: (rg.std(x, **options) ** 2 + rg.std(x, **options)).sum()))
            np.testing.assert_allclose(slope(x), 0.0, atol=1e-6 if x.dtype == np.float32 else 1e-14)
