"""Fourier transforms: NumPy's values, and derivatives of complex and real numbers."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError
from retrograde.ops.fourier import inverse_real_transform
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
REAL = RNG.standard_normal((3, 4, 5))
WAVE = REAL + 1j * RNG.standard_normal((3, 4, 5))
ONE = [{}, {"n": 3}, {"n": 8, "axis": 0}, {"n": 4, "axis": 1, "norm": "ortho"}, {"norm": "forward"}]
MANY = [{}, {"axes": (0, 2)}, {"s": (2, 6), "axes": (1, 2)}, {"s": (4, -1), "axes": (0, 1), "norm": "ortho"}, {"norm": "forward"}]
TWO = [{}, {"s": (3, 7)}, {"axes": (2, 0), "norm": "ortho"}]
CALLS = [
    *[(name, kwargs) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for kwargs in ONE],
    *[(name, kwargs) for name in ("fftn", "ifftn", "rfftn", "irfftn") for kwargs in MANY],
    *[(name, kwargs) for name in ("fft2", "ifft2", "rfft2", "irfft2") for kwargs in TWO],
    *[(name, kwargs) for name in ("fftshift", "ifftshift") for kwargs in ({}, {"axes": 1}, {"axes": (0, 2)})],
]


def operand(name):
    return REAL if name in ("rfft", "rfftn", "rfft2", "ihfft") else WAVE


@pytest.mark.parametrize(("name", "kwargs"), CALLS)
def test_transforms_are_numpys(name, kwargs):
    x = operand(name)
    found, expected = getattr(rg.fft, name)(rg.tensor(x), **kwargs), getattr(np.fft, name)(x, **kwargs)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.data, expected, atol=1e-12)


@pytest.mark.parametrize(("name", "kwargs"), CALLS)
def test_derivatives_of_transforms(name, kwargs):
    check_gradients(lambda x: getattr(rg.fft, name)(x, **kwargs) ** 2, operand(name)[:, :, :3] / 2, order=1)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_second_derivatives_of_transforms(name):
    check_gradients(lambda x: rg.sin(getattr(rg.fft, name)(x)) if name != "rfft" else getattr(rg.fft, name)(x) ** 3, operand(name)[0, :2] / 4, order=2)


def matrix_of(size, frequencies, norm):
    """The transform as a matrix."""
    division = {"backward": 1, "forward": size, "ortho": np.sqrt(size)}[norm]
    return np.exp(-2j * np.pi * np.outer(np.arange(frequencies), np.arange(size)) / size) / division


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8])
def test_the_gradient_of_a_real_transform_is_that_of_its_matrix(size, norm):
    x, g = RNG.standard_normal((2, size, 3)), RNG.standard_normal((2, 2, size // 2 + 1, 3))
    matrix = matrix_of(size, size // 2 + 1, norm)
    wanted = np.einsum("kj,bkc->bjc", matrix.real, g[0]) + np.einsum("kj,bkc->bjc", matrix.imag, g[1])

    def loss(x):
        spectrum = rg.fft.rfft(x, axis=1, norm=norm)
        return (spectrum.real * g[0] + spectrum.imag * g[1]).sum()

    np.testing.assert_allclose(rg.grad(loss)(rg.tensor(x)).data, wanted, atol=1e-12)


def test_the_gradient_of_a_real_transform_transforms_real_numbers_only():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    loss = lambda x: (rg.fft.rfftn(x, axes=(2, 1)).real ** 3).sum() + (rg.fft.irfft(rg.fft.rfft(x)) ** 3).sum()
    step = rg.jit(rg.grad(loss))
    step(rg.tensor(REAL))
    ops = [op for kernel in step.explain().kernels for op in kernel.ops]
    # Along the second axis only numbers are complex, once forward and once back.
    assert ops.count("transform_axes") == 2
    assert ops.count("real_transform") == ops.count("inverse_real_transform") == 3


def test_single_precision_stays_single():
    x = REAL.astype(np.float32)
    assert rg.fft.rfft(rg.tensor(x)).dtype == rg.complex64
    assert rg.fft.irfft(rg.fft.rfft(rg.tensor(x))).dtype == rg.float32
    assert rg.fft.fft(rg.tensor(x.astype(np.float16))).dtype == rg.complex64


@pytest.mark.parametrize(("name", "kwargs"), CALLS)
def test_transforms_in_single_precision_are_numpys_to_rounding(name, kwargs):
    x = operand(name)
    found = getattr(rg.fft, name)(x.astype(np.float32 if x.dtype.kind == "f" else np.complex64), **kwargs)
    expected = getattr(np.fft, name)(x, **kwargs)
    assert found.dtype.itemsize * 2 == expected.dtype.itemsize
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_the_gradient_of_power_by_parseval():
    x = rg.tensor(REAL[0], requires_grad=True)
    spectrum = rg.fft.fft(x, norm="ortho")
    (spectrum.real**2 + spectrum.imag**2).sum().backward()
    np.testing.assert_allclose(x.grad.data, 2 * REAL[0], atol=1e-12)


def test_frequencies():
    np.testing.assert_allclose(rg.fft.fftfreq(5, 0.1, dtype=rg.float64).data, np.fft.fftfreq(5, 0.1))
    assert rg.fft.rfftfreq(6).dtype == rg.float32


def test_what_is_no_transform_is_refused():
    with pytest.raises(ArgumentError, match="norm"):
        rg.fft.fft(rg.ones(3), norm="none")
    with pytest.raises(ArgumentError, match="real"):
        rg.fft.rfft(rg.tensor(WAVE))
    with pytest.raises(ArgumentError, match="at least 1"):
        rg.fft.fft(rg.ones(3), n=0)
    with pytest.raises(ShapeError, match="frequencies"):
        inverse_real_transform(rg.ones(3), 9)


def test_numpys_names_work_on_tensors():
    x = rg.tensor(REAL, requires_grad=True)
    z = np.fft.rfftn(np.fft.fftshift(x, axes=(1,)))
    np.testing.assert_allclose(z.data, np.fft.rfftn(np.fft.fftshift(REAL, axes=(1,))), atol=1e-12)
    assert z.requires_grad
