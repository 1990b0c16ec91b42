"""Models with complex numbers beside PyTorch: compiled values and gradients, of the first and of the second order."""

import numpy as np
import pytest

import retrograde as rg

torch = pytest.importorskip("torch")

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")


def drawn(*shape, seed=0, real=False):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) / 2
    return x if real else x + 1j * rng.standard_normal(shape) / 2


def state_space(library, rate, decay, frequency, weight, signal):
    """The convolution of S4D (Gu and others, 2022): a kernel of sums of exponentials, by transforms."""
    pole = library.complex(-library.exp(decay), frequency) * library.exp(rate)[:, None]
    places = library.asarray(np.arange(signal.shape[-1]), dtype=signal.dtype)
    kernel = 2 * library.einsum("hn,hnl->hl", weight * (library.exp(pole) - 1) / pole, library.exp(pole[..., None] * places)).real
    size = 2 * signal.shape[-1]
    spectrum = library.fft.rfft(signal, n=size) * library.fft.rfft(kernel, n=size)
    return library.fft.irfft(spectrum, n=size)[..., : signal.shape[-1]]


def fourier_layer(library, weight, signal):
    """A layer of a Fourier neural operator (Li and others, 2021): the low frequencies of all channels are mixed."""
    spectrum = library.fft.rfft2(signal)
    mixed = library.einsum("bixy,ioxy->boxy", spectrum[:, :, :4, :3], weight)
    return library.fft.irfft2(mixed, s=signal.shape[-2:])


def complex_layers(library, first, bias, second, x):
    hidden = x @ first + bias
    hidden = library.complex(library.relu(hidden.real), library.tanh(hidden.imag)) / (library.abs(hidden) + 1)
    return library.abs(hidden @ second) + library.angle(hidden).sum() + library.log(hidden + 3).imag.sum()


def functions(library, x, y):
    z = library.exp(x) / y + library.sqrt(x + 2) * library.log(y) + library.tanh(x * y) - library.sin(x) * library.cos(y).conj() + x**3
    return library.where(z.real > 0, z, z.conj() * 2).real + library.abs(z) ** 2


CASES = {
    state_space: (drawn(3, real=True), drawn(3, 4, real=True), drawn(3, 4, seed=1, real=True), drawn(3, 4), drawn(2, 3, 12, real=True)),
    fourier_layer: (drawn(3, 5, 4, 3), drawn(2, 3, 8, 8, real=True)),
    complex_layers: (drawn(6, 7), drawn(7, seed=1), drawn(7, 3, seed=2), drawn(5, 6, seed=3)),
    functions: (drawn(4, 5), drawn(4, 5, seed=1) + 2),
}


def figures_of_torch(case, operands):
    """The loss, its gradients, and those of the sum of their squares."""
    x = [torch.tensor(operand, requires_grad=True) for operand in operands]
    loss = torch.sin(case(torch, *x)).sum()
    slopes = torch.autograd.grad(loss, x, create_graph=True)
    curvatures = torch.autograd.grad(sum([(slope.abs() ** 2).sum() for slope in slopes]), x)
    return [np.asarray(part.detach().resolve_conj()) for part in (loss, *slopes, *curvatures)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_values_and_derivatives_are_those_of_torch(case):
    operands = CASES[case]
    places = tuple(range(len(operands)))
    slopes = rg.grad(lambda *x: rg.sin(case(rg, *x)).sum(), places)

    @rg.jit
    def figures(*x):
        curvatures = rg.grad(lambda *x: sum((abs(slope) ** 2).sum() for slope in slopes(*x)), places)
        return rg.sin(case(rg, *x)).sum(), *slopes(*x), *curvatures(*x)

    for ours, theirs in zip(figures(*map(rg.tensor, operands)), figures_of_torch(case, operands), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
