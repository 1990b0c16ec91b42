"""Langevin's dynamics in a double well: 1,000 steps of 512 particles, with noise that is drawn in each step, and the derivative of
their mean square in the strength of the force.

Each library draws numbers of its own. So what rivals return, and must agree in, is whether the particles are still in their well.
"""

import numpy as np

from . import libraries

STEPS, SHAPE = 1_000, (64, 8)
_TIME, _NOISE, _STRENGTH = 0.01, 0.03, 1.0


def retrograde():
    """Compiled."""
    rg = libraries.modules("retrograde").library
    return _of_retrograde(rg, rg.jit)


def retrograde_eager():
    """Op by op."""
    return _of_retrograde(libraries.modules("retrograde").library, lambda function: function)


def _of_retrograde(rg, compiled):
    def mean_square(strength):
        step = lambda x, _: (_moved(x, strength, rg.randn_like(x)), None)
        return (rg.scan(step, rg.ones(*SHAPE), length=STEPS)[0] ** 2).mean()

    both, strength = compiled(rg.value_and_grad(mean_square)), rg.tensor(_STRENGTH)
    return lambda: _is_in_its_well(*both(strength))


def torch():
    """Op by op."""
    lib = libraries.modules("torch").library
    strength = lib.tensor(_STRENGTH, requires_grad=True)

    def step():
        strength.grad, x = None, lib.ones(SHAPE)
        for _ in range(STEPS):
            x = _moved(x, strength, lib.randn_like(x))
        value = (x**2).mean()
        value.backward()
        return _is_in_its_well(value.detach(), strength.grad)

    return step


def jax():
    """Compiled; a key for each step, split from that of the call."""
    lib = libraries.jax()

    def mean_square(strength, key):
        step = lambda x, key: (_moved(x, strength, lib.random.normal(key, SHAPE)), None)
        return (lib.lax.scan(step, lib.numpy.ones(SHAPE), lib.random.split(key, STEPS))[0] ** 2).mean()

    both, keys = lib.jit(lib.value_and_grad(mean_square)), [lib.random.key(0)]

    def step():
        keys[0], key = lib.random.split(keys[0])
        return _is_in_its_well(*both(_STRENGTH, key))

    return step


def _moved(x, strength, noise):
    return x + _TIME * strength * (x - x**3) + _NOISE * noise


def _is_in_its_well(mean_square, gradient):
    """1 if the mean square is near 1 and its derivative is a number."""
    return np.float32(abs(float(mean_square) - 1) < 0.2 and np.isfinite(float(gradient)))


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "jax": jax}
