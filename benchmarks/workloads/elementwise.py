"""Value and gradient of sum(sin x · exp(-x²) + tanh x · log1p(x²)) for a million numbers."""

import numpy as np

from . import libraries

COUNT = 1_000_000


def formula(library, x):
    """The sum, in the functions of any library."""
    square = x**2
    return (library.sin(x) * library.exp(-square) + library.tanh(x) * library.log1p(square)).sum()


def retrograde():
    """Compiled."""
    rg = libraries.modules("retrograde").library
    numbers, both = rg.tensor(_numbers()), rg.jit(rg.value_and_grad(lambda x: formula(rg, x)))
    return lambda: both(numbers)


def retrograde_eager():
    """Op by op."""
    rg = libraries.modules("retrograde").library
    numbers, both = rg.tensor(_numbers()), rg.value_and_grad(lambda x: formula(rg, x))
    return lambda: both(numbers)


def torch():
    """Op by op."""
    lib = libraries.modules("torch").library
    return with_backward(lib.tensor(_numbers(), requires_grad=True), lambda x: formula(lib, x))


def torch_compile():
    """Compiled forward and backward."""
    lib = libraries.modules("torch").library
    return with_backward(lib.tensor(_numbers(), requires_grad=True), lib.compile(lambda x: formula(lib, x)))


def jax():
    """Compiled."""
    lib = libraries.jax()
    return with_jax(lib, _numbers(), lambda x: formula(lib.numpy, x))


def tinygrad():
    """Captured. It has no log1p."""
    lib = libraries.tinygrad()
    return with_tinygrad(lib, _numbers(), lambda x: (x.sin() * (-(x**2)).exp() + x.tanh() * (1 + x**2).log()).sum())


def autograd():
    """Op by op."""
    lib = libraries.autograd()
    numbers, both = _numbers(), lib.autograd.value_and_grad(lambda x: lib.numpy.sum(formula(lib.numpy, x)))
    return lambda: both(numbers)


def with_backward(x, function):
    """Value and gradient in torch's way."""

    def step():
        x.grad = None
        value = function(x)
        value.backward()
        return value.detach(), x.grad

    return step


def with_jax(lib, numbers, function):
    """Value and gradient in JAX's way."""
    x, both = lib.numpy.asarray(numbers), lib.jit(lib.value_and_grad(function))
    return lambda: lib.block_until_ready(both(x))


def with_tinygrad(lib, numbers, function):
    """Value and gradient in tinygrad's way."""
    x = lib.Tensor(numbers).realize()

    @lib.TinyJit
    def both(x):
        value = function(x)
        (gradient,) = value.gradient(x)
        value.realize(gradient)
        return value, gradient

    def step():
        found = both(x)
        lib.finish()
        return found

    return step


def _numbers():
    return np.random.default_rng(0).standard_normal(COUNT, np.float32)


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax, "tinygrad": tinygrad, "autograd": autograd}
