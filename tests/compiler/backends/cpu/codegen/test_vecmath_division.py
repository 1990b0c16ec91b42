"""Remainders and whole quotients are NumPy's to the last bit, however far apart the numbers are."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
from harness import bits_of, compile_named

import retrograde as rg


def _pairs(dtype):
    """Numbers of all magnitudes, near whole multiples of each other, and special ones."""
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    y = np.ldexp(rng.uniform(1, 2, 4096), rng.integers(limits.minexp // 2, limits.maxexp // 2, 4096)).astype(dtype)
    near = (y * rng.integers(0, 2**20, 4096)).astype(dtype)
    far = np.ldexp(rng.uniform(1, 2, 4096), rng.integers(limits.minexp - 20, limits.maxexp - 1, 4096)).astype(dtype)
    x = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf, dtype=dtype), far])
    y = np.tile(y, 4)
    special = np.array([0, 1, 2.5, limits.max, limits.tiny, limits.smallest_subnormal, np.inf, np.nan], dtype)
    special = np.concatenate([special, -special])
    a, b = (part.ravel() for part in np.meshgrid(special, special))
    signs = rng.choice([-1, 1], (2, len(x))).astype(dtype)
    return np.concatenate([x * signs[0], a]), np.concatenate([y * signs[1], b])


def _same(found, expected):
    is_nan = np.isnan(expected)
    return np.array_equal(is_nan, np.isnan(found)) and np.array_equal(bits_of(found[~is_nan]), bits_of(expected[~is_nan]))


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_quotients_and_remainders_are_those_of_numpy(name, dtype, lanes):
    x, y = _pairs(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(rg, name)(x, y)
    assert _same(compile_named(name, dtype, lanes, 2)(x, y), expected)


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_jitted_functions_divide_without_a_library(name):
    step = rg.jit(lambda x, y: getattr(rg, name)(x, y) * 2)
    x, y = np.random.default_rng(1).standard_normal((2, 300)) * 10
    assert np.array_equal(step(x, y), getattr(np, name)(x, y) * 2)
    assert {kernel.kind for kernel in step.explain().kernels} == {"loop"}


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_integers_stay_integers(name):
    x = np.arange(-9, 9)
    found = rg.jit(lambda x: getattr(rg, name)(x, 3))(rg.tensor(x)).numpy()
    assert np.array_equal(found, getattr(np, name)(x, 3)) and found.dtype == x.dtype
