"""Layers with complex numbers: a state space (S4D) and a Fourier neural operator; value and gradients of a squared difference."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from . import libraries

BATCH, CHANNELS, STATES, STEPS = 8, 64, 32, 512
IMAGES, WIDTH, SIZE, MODES = 4, 32, 64, 12


def state_space(library, signal, target, rate, decay, frequency, weight, skip):
    """The convolution of S4D (Gu and others, 2022): its kernel is a sum of exponentials, and it is made by transforms."""
    pole = library.complex(-library.exp(decay), frequency) * library.exp(rate)[:, None]
    powers = library.exp(pole[..., None] * library.arange(float(STEPS)))
    kernel = 2 * library.einsum("hn,hnl->hl", library.complex(weight[0], weight[1]) * (library.exp(pole) - 1) / pole, powers).real
    spectrum = library.fft.rfft(signal, n=2 * STEPS) * library.fft.rfft(kernel, n=2 * STEPS)
    found = library.fft.irfft(spectrum, n=2 * STEPS)[..., :STEPS] + signal * skip[:, None]
    return ((found - target) ** 2).mean()


def fourier_layer(library, signal, target, real, imag, bias):
    """A layer of a Fourier neural operator (Li and others, 2021): the channels of low frequencies are mixed."""
    spectrum = library.fft.rfft2(signal)[:, :, :MODES, :MODES]
    mixed = library.einsum("bixy,ioxy->boxy", spectrum, library.complex(real, imag))
    found = library.fft.irfft2(mixed, s=(SIZE, SIZE)) + bias[:, None, None]
    return ((found - target) ** 2).mean()


def retrograde(case):
    """Compiled."""
    rg = libraries.modules("retrograde").library
    return _of_retrograde(rg, case, rg.jit)


def retrograde_eager(case):
    """Op by op."""
    return _of_retrograde(libraries.modules("retrograde").library, case, lambda function: function)


def _of_retrograde(rg, case, compiled):
    arrays = [rg.tensor(array) for array in DATA[case]()]
    both = compiled(rg.value_and_grad(partial(case, rg), tuple(range(2, len(arrays)))))
    return lambda: both(*arrays)


def torch(case):
    """Op by op."""
    lib = libraries.modules("torch").library
    arrays = [lib.tensor(array) for array in DATA[case]()]
    parameters = [array.requires_grad_() for array in arrays[2:]]

    def step():
        value = case(lib, *arrays)
        return value.detach(), lib.autograd.grad(value, parameters)

    return step


def jax(case):
    """Compiled."""
    lib = libraries.jax()
    jnp = lib.numpy
    names = SimpleNamespace(complex=lib.lax.complex, fft=jnp.fft, exp=jnp.exp, einsum=jnp.einsum, arange=jnp.arange)
    arrays = [jnp.asarray(array) for array in DATA[case]()]
    both = lib.jit(lib.value_and_grad(partial(case, names), tuple(range(2, len(arrays)))))
    return lambda: lib.block_until_ready(both(*arrays))


def _of_state_space():
    rng = np.random.default_rng(0)
    signal, target = rng.standard_normal((2, BATCH, CHANNELS, STEPS), np.float32)
    rate = np.log(np.geomspace(1e-3, 1e-1, CHANNELS, dtype=np.float32))
    frequency = np.broadcast_to(np.pi * np.arange(STATES, dtype=np.float32), (CHANNELS, STATES)).copy()
    decay = np.full((CHANNELS, STATES), np.log(0.5), np.float32)
    weight, skip = rng.standard_normal((2, CHANNELS, STATES), np.float32), rng.standard_normal(CHANNELS, np.float32)
    return signal, target, rate, decay, frequency, weight, skip


def _of_fourier_layer():
    rng = np.random.default_rng(0)
    signal, target = rng.standard_normal((2, IMAGES, WIDTH, SIZE, SIZE), np.float32)
    real, imag = rng.standard_normal((2, WIDTH, WIDTH, MODES, MODES), np.float32) / WIDTH
    return signal, target, real, imag, rng.standard_normal(WIDTH, np.float32)


DATA = {state_space: _of_state_space, fourier_layer: _of_fourier_layer}


def rivals(case):
    """All that take part in a case, by name."""
    makers = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "jax": jax}
    return {name: partial(maker, case) for name, maker in makers.items()}
