"""Korteweg and de Vries's equation, u_t = -3 (u²)_x - u_xxx, on a circle: Fourier transforms of a line of 128 numbers, 2,000 steps
of Runge and Kutta's method with an integrating factor.
"""

import numpy as np

from . import libraries

POINTS, STEPS = 128, 2_000
_LENGTH, _TIME = 8 * np.pi, 1e-4
_FREQUENCIES = np.fft.fftfreq(POINTS, 1 / POINTS) * 2 * np.pi / _LENGTH
#: What half a step and a whole one of the linear part multiply by, and the slope of the other part.
_HALF = np.exp(0.5j * _TIME * _FREQUENCIES**3)
_WHOLE, _SLOPE = _HALF**2, -3j * _TIME * _FREQUENCIES
_START = np.fft.fft(np.cos(2 * np.pi * np.arange(POINTS) / POINTS))


def retrograde():
    """Compiled."""
    rg = libraries.modules("retrograde").library
    return _of_retrograde(rg, rg.jit)


def retrograde_eager():
    """Op by op."""
    return _of_retrograde(libraries.modules("retrograde").library, lambda function: function)


def _of_retrograde(rg, compiled):
    step = lambda v, _: (_stepped(rg.fft, v), None)
    solve, start = compiled(lambda v: _wave(rg.fft, rg.scan(step, v, length=STEPS)[0])), rg.tensor(_START)
    return lambda: solve(start)


def numpy():
    """Op by op."""
    def step():
        v = _START
        for _ in range(STEPS):
            v = _stepped(np.fft, v)
        return _wave(np.fft, v)

    return step


def jax():
    """Compiled, in double precision."""
    lib = libraries.jax()
    lib.config.update("jax_enable_x64", True)
    fft, start = lib.numpy.fft, lib.numpy.asarray(_START)
    step = lambda v, _: (_stepped(fft, v), None)
    solve = lib.jit(lambda v: _wave(fft, lib.lax.scan(step, v, length=STEPS)[0]))
    return lambda: lib.block_until_ready(solve(start))


def _stepped(fft, v):
    def change(v):
        return _SLOPE * fft.fft(fft.ifft(v).real ** 2)

    a = change(v)
    b = change(_HALF * (v + a / 2))
    c = change(_HALF * v + b / 2)
    d = change(_WHOLE * v + _HALF * c)
    return _WHOLE * v + (_WHOLE * a + 2 * _HALF * (b + c) + d) / 6


def _wave(fft, v):
    return fft.ifft(v).real


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "numpy": numpy, "jax": jax}
