"""What matrix products read through views."""

import numpy as np

import retrograde as rg


def test_a_product_waits_for_the_copy_that_it_reads():
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((2, 2, 5, 5)), rng.standard_normal((2, 2, 5, 4)), rng.standard_normal((8, 8))

    def f(x, y, w):
        rows = rg.matmul(x, y).permute_dims((0, 2, 1, 3)).reshape((2, 5, 8))
        return rg.matmul(rows, w), rows

    for found, expected in zip(rg.jit(f)(*map(rg.tensor, (x, y, w))), f(*map(rg.tensor, (x, y, w))), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
