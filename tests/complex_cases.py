"""Complex operands, and the check that compiled code has what eager code has of them."""

import numpy as np

import retrograde as rg
from retrograde.compiler.backends import chosen_name

DTYPES = ("complex64", "complex128")


def drawn(*shape, seed=0, dtype="complex128"):
    rng = np.random.default_rng(seed)
    return rg.tensor((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))


def listed(found):
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def kinds_of(step):
    kernels = [*step.explain().kernels]
    return {kernel.kind for kernel in (*kernels, *[inner for kernel in kernels for inner in kernel.inside])}


def check(function, *operands, calls=False):
    """Compiled code has what eager code has, without a library call, unless there are to be `calls`."""
    step = rg.jit(function)
    for found, wanted in zip(listed(step(*operands)), listed(function(*operands)), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        rounding = 1e-4 if wanted.dtype.itemsize == 4 or wanted.dtype == "complex64" else 1e-11
        np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding * max(1, np.abs(wanted).max(initial=0)))
    if chosen_name() == "native":  # else loops run from Python
        assert ("library" in kinds_of(step)) is calls
