"""resampling: arrays in another size are products with sparse matrices, and so are their gradients."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError
from retrograde.ops.images.bands import band, weighted

#: Shape, and how it is resampled; many to one, one to many, by factors that are not whole, and the whole range of an axis.
CASES = {
    "nearest": ((2, 3, 5, 7), {"scale_factor": 2, "mode": "nearest"}),
    "nearest, fewer": ((2, 3, 9, 11), {"size": (4, 3), "mode": "nearest"}),
    "nearest-exact": ((2, 3, 5, 7), {"size": (8, 9), "mode": "nearest-exact"}),
    "linear": ((2, 3, 40), {"size": 61, "mode": "linear"}),
    "bilinear": ((2, 3, 16, 19), {"scale_factor": 2.0, "mode": "bilinear"}),
    "bilinear, corners": ((2, 3, 16, 19), {"size": (33, 30), "mode": "bilinear", "align_corners": True}),
    "bilinear, fewer": ((2, 3, 33, 45), {"size": (16, 9), "mode": "bilinear"}),
    "bilinear, from one": ((2, 3, 1, 1), {"size": (12, 13), "mode": "bilinear"}),
    "bilinear, to one": ((2, 3, 12, 13), {"size": (1, 1), "mode": "bilinear", "align_corners": True}),
    "bicubic": ((2, 3, 34, 40), {"scale_factor": 1.5, "mode": "bicubic"}),
    "trilinear": ((1, 2, 4, 18, 20), {"scale_factor": 2, "mode": "trilinear"}),
    "bilinear, fewer, filtered": ((2, 3, 33, 45), {"size": (16, 9), "mode": "bilinear", "antialias": True}),
    "bicubic, filtered": ((2, 3, 34, 20), {"size": (11, 45), "mode": "bicubic", "antialias": True}),
    "area": ((2, 3, 30, 50), {"size": (7, 20), "mode": "area"}),
}


def _all(x, g, given):
    """Values and gradient."""
    z, pull = rg.vjp(lambda x: rg.nn.functional.interpolate(x, **given), x)
    return z, pull(g)


def _arrays(shape, given):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return x, rng.standard_normal(rg.nn.functional.interpolate(x, **given).shape)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_the_transpose(name):
    shape, given = CASES[name]
    x, g = _arrays(shape, given)
    z, (back,) = (np.asarray(a) if hasattr(a, "shape") else a for a in _all(x, g, given))
    np.testing.assert_allclose((z * g).sum(), (np.asarray(back) * x).sum(), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_compiled_values_and_gradients_are_the_eager_ones_without_sums_at_positions(name):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    shape, given = CASES[name]
    x, g = _arrays(shape, given)
    step = rg.jit(lambda x, g: _all(x, g, given))
    (z, (back,)), (wanted, (wanted_back,)) = step(x, g), _all(x, g, given)
    np.testing.assert_allclose(z, wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(back, wanted_back, rtol=1e-12, atol=1e-12)
    assert {kernel.kind for kernel in step.explain().kernels} <= {"loop", "matmul", "rows", "pack", "finish"}


@pytest.mark.parametrize("options", [{"mode": "area"}, {"mode": "nearest"}, {"mode": "bicubic", "align_corners": True}])
def test_filters_are_for_modes_that_have_one_and_for_centres(options):
    with pytest.raises(ArgumentError, match="antialias is for mode 'bilinear' or 'bicubic', without align_corners"):
        rg.nn.functional.interpolate(rg.ones(1, 1, 4, 4), size=(2, 2), antialias=True, **options)


def test_elements_at_one_place_add_up_and_those_that_are_zero_go():
    columns, weights = band(np.array([0, 0, 0, 2]), np.array([1, 1, 2, 0]), np.array([1.0, 2.0, 5.0, 0.0]), (3, 4))
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_array_equal(weighted(x, columns, weights, 0), [530.0, 0.0, 0.0])


def test_what_is_not_finite_reaches_only_what_it_belongs_to():
    g = np.ones((1, 1, 3, 3))
    g[..., 1, 1] = np.inf
    x = rg.tensor(np.ones((1, 1, 9, 9)), requires_grad=True)
    rg.nn.functional.interpolate(x, size=(3, 3), mode="nearest").backward(rg.tensor(g))
    assert np.isinf(x.grad.numpy()).sum() == 1 and not np.isnan(x.grad.numpy()).any()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "area"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_images_of_integers_have_the_means_of_their_numbers(mode, dtype):
    x = np.arange(0, 240, 15).reshape(1, 1, 4, 4)
    wanted = rg.interpolate(rg.tensor(x.astype(float)), size=(6, 3), mode=mode).numpy()
    for function in (rg.interpolate, rg.jit(rg.interpolate)):
        found = function(rg.tensor(x.astype(dtype)), size=(6, 3), mode=mode)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.numpy(), wanted)
