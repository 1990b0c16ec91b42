"""Images read at the points of grids; values are compared with PyTorch's among the recorded layers."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError
from retrograde.nn.functional import affine_grid, grid_sample
from retrograde.testing import check_gradients

POINTS = np.random.default_rng(0).uniform(-1.4, 1.4, (2, 3, 2, 2))
IMAGES = np.random.default_rng(1).standard_normal((2, 2, 4, 3))


@pytest.mark.parametrize("is_aligned", [False, True])
def test_the_grid_of_the_map_that_changes_nothing_reads_the_image(is_aligned):
    same = np.broadcast_to(np.eye(2, 3), (2, 2, 3))
    found = grid_sample(rg.tensor(IMAGES), affine_grid(rg.tensor(same), IMAGES.shape, is_aligned), align_corners=is_aligned)
    np.testing.assert_allclose(found.numpy(), IMAGES, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_gradients_are_those_of_finite_differences_and_compiled_ones_are_equal(padding_mode):
    def total(images, points):
        return (grid_sample(images, points, padding_mode=padding_mode) ** 2).sum()

    check_gradients(total, (IMAGES, POINTS))
    eager = rg.grad(total, argnums=(0, 1))(IMAGES, POINTS)
    compiled = rg.jit(rg.grad(total, argnums=(0, 1)))(IMAGES, POINTS)
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_an_image_of_one_pixel_is_thrown_back_to_itself():
    image = rg.full((1, 1, 1, 1), 5.0)
    points = rg.tensor([[[[-3.0, 2.0], [0.0, 0.0]]]])
    assert grid_sample(image, points, padding_mode="reflection", align_corners=True).tolist() == [[[[5.0, 5.0]]]]


def test_what_does_not_fit_is_said():
    image, points = rg.ones(1, 1, 2, 2), rg.zeros(1, 2, 2, 2)
    with pytest.raises(ArgumentError, match=r"mode must be one of bilinear, nearest, bicubic .* got 'cubic' and 'zeros'"):
        grid_sample(image, points, "cubic")
    with pytest.raises(ShapeError, match=r"got \(1, 1, 2, 2\) and \(2, 2, 2, 2\)"):
        grid_sample(image, rg.zeros(2, 2, 2, 2))
    with pytest.raises(ShapeError, match=r"maps \(batch, 2, 3\) .* got shape \(1, 3, 2\)"):
        affine_grid(rg.zeros(1, 3, 2), (1, 1, 2, 2))
