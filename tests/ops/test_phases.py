"""Vectors of complex factorizations: one element of each is real, so that results which depend on the phase have derivatives."""

import numpy as np
import pytest

import retrograde as rg


def drawn(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def hermitian(x):
    return x + rg.conj(rg.transpose(x))


CASES = {
    "eig": ((3, 3), lambda x: rg.linalg.eig(x)[1]),
    "eigh": ((3, 3), lambda x: rg.linalg.eigh(hermitian(x))[1]),
    "eigh of many": ((2, 3, 3), lambda x: rg.linalg.eigh(hermitian(x))[1]),
    "U": ((3, 3), lambda x: rg.linalg.svd(x)[0]),
    "Vh": ((3, 3), lambda x: rg.linalg.svd(x)[2]),
    "U and Vh": ((2, 2), lambda x: rg.linalg.svd(x)[0] * 2 + rg.linalg.svd(x)[2]),
    "U of tall ones": ((4, 2), lambda x: rg.linalg.svd(x, full_matrices=False)[0]),
    "Vh of tall ones": ((4, 2), lambda x: rg.linalg.svd(x, full_matrices=False)[2]),
    "U of wide ones": ((2, 4), lambda x: rg.linalg.svd(x, full_matrices=False)[0]),
    "Vh of wide ones": ((2, 4), lambda x: rg.linalg.svd(x, full_matrices=False)[2]),
}


@pytest.mark.parametrize(("shape", "vectors"), CASES.values(), ids=CASES)
def test_what_depends_on_the_phase_of_complex_vectors_has_the_derivative_of_differences(shape, vectors):
    def loss(x):
        v = vectors(x)
        weights = np.random.default_rng(1).normal(size=(2, *v.shape))
        return (v.real ** 2 * weights[0] + v.imag * weights[1]).sum()

    x, direction, step = drawn(*shape), drawn(*shape, seed=2), 1e-6
    wanted = (loss(rg.tensor(x + step * direction)).item() - loss(rg.tensor(x - step * direction)).item()) / (2 * step)
    slopes = rg.grad(loss)
    for function in (slopes, rg.jit(slopes)):
        assert np.vdot(function(x), direction).real == pytest.approx(wanted, rel=1e-5)
    # And so has the derivative of that.
    curved = rg.grad(lambda x: (slopes(x) * np.conj(direction)).sum().real)
    ahead, before = (np.vdot(slopes(x + s * direction), direction).real for s in (step, -step))
    assert np.vdot(curved(x), direction).real == pytest.approx((ahead - before) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("run", [lambda f: f, rg.jit, rg.vmap], ids=["eager", "jit", "vmap"])
def test_the_largest_element_of_complex_vectors_is_real_and_positive(run):
    x = drawn(5, 4, 3)
    made = x @ np.conj(np.swapaxes(x, -1, -2))
    _, vectors = run(lambda x: tuple(rg.linalg.eigh(x)))(made)
    u, s, vh = (np.asarray(z) for z in run(lambda x: tuple(rg.linalg.svd(x, full_matrices=False)))(x))
    for columns in (np.asarray(vectors), u):
        largest = np.take_along_axis(columns, np.abs(columns).argmax(-2, keepdims=True), -2)
        assert not largest.imag.any() and (largest.real > 0).all()
    np.testing.assert_allclose(u * s[:, None] @ vh, x, atol=1e-12)
    np.testing.assert_allclose(made @ np.asarray(vectors), np.asarray(vectors) * np.linalg.eigvalsh(made)[:, None], atol=1e-12)


def test_complex_matrices_without_elements_have_vectors_without_elements():
    x = rg.tensor(np.zeros((0, 3, 3), complex), requires_grad=True)
    rg.linalg.eigh(x)[1].real.sum().backward()
    assert x.grad.shape == x.shape

