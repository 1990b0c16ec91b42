"""Distances of rows: NumPy's norms of all differences, with gradients that are finite where rows are equal."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ShapeError

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 60, 50)), RNG.standard_normal((70, 50))
Y[3] = X[1, 5]
ORDERS = [0, 0.5, 1, 1.5, 2, 3, np.inf]


@pytest.mark.parametrize("p", ORDERS)
def test_distances_are_norms_of_differences(p):
    wanted = np.linalg.norm(X[:, :, None] - Y, p, axis=-1)
    in_parts = rg.ops.get("cdist").kernel
    for found in (rg.cdist(X, Y, p), in_parts(X, Y, p), rg.jit(lambda x, y: rg.cdist(x, y, p))(X, Y)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("p", ORDERS[1:])
def test_rows_that_are_equal_have_finite_gradients(p):
    x, y = X[:, :8, :4], Y[:5, :4].copy()
    y[3] = x[1, 5]
    cotangent = RNG.standard_normal((2, 8, 5))
    found = rg.grad(lambda x, y: (rg.cdist(x, y, p) * cotangent).sum(), argnums=(0, 1))(x, y)
    compiled = rg.jit(rg.grad(lambda x, y: (rg.cdist(x, y, p) * cotangent).sum(), argnums=(0, 1)))(x, y)
    difference = x[:, :, None] - y
    size, whole = np.abs(difference), np.linalg.norm(difference, p, axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        slope = np.sign(difference) * (size == whole if p == np.inf else (size / whole) ** (p - 1)) * cotangent[..., None]
    slope[1, 5, 3] = 0
    for of_x, of_y in (found, compiled):
        np.testing.assert_allclose(of_x, slope.sum(2), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(of_y, -slope.sum((0, 1)), rtol=1e-10, atol=1e-12)


def test_rows_of_other_lengths_are_refused():
    with pytest.raises(ShapeError, match="same length"):
        rg.cdist(rg.zeros(3, 2), rg.zeros(3, 4))
