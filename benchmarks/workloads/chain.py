"""Value and gradient of a long chain of small ops: y = y·0.99 + sin(y)·0.01, over and over, on 10 float64 numbers."""

from functools import partial

import numpy as np

from . import libraries
from .elementwise import with_backward, with_jax, with_tinygrad

LENGTH = 300
OPS_A_TURN = 2


def chain(library, y, length=LENGTH):
    """The sum of what the chain ends with, in the functions of any library."""
    for _ in range(length):
        y = y * 0.99 + library.sin(y) * 0.01
    return y.sum()


def retrograde(length=LENGTH):
    """Compiled."""
    rg = libraries.modules("retrograde").library
    numbers, both = rg.tensor(_numbers()), rg.jit(rg.value_and_grad(lambda y: chain(rg, y, length)))
    return lambda: both(numbers)


def retrograde_eager():
    """Op by op."""
    rg = libraries.modules("retrograde").library
    return with_backward(rg.tensor(_numbers(), requires_grad=True), partial(chain, rg))


def torch():
    """Op by op."""
    lib = libraries.modules("torch").library
    return with_backward(lib.tensor(_numbers(), requires_grad=True), partial(chain, lib))


def torch_compile():
    """Compiled forward and backward."""
    lib = libraries.modules("torch").library
    return with_backward(lib.tensor(_numbers(), requires_grad=True), lib.compile(partial(chain, lib)))


def jax(length=LENGTH):
    """Compiled."""
    lib = libraries.jax(is_double=True)
    return with_jax(lib, _numbers(), lambda y: chain(lib.numpy, y, length))


def tinygrad():
    """Captured."""
    lib = libraries.tinygrad()
    return with_tinygrad(lib, _numbers(), partial(chain, lib.Tensor))


def autograd():
    """Op by op."""
    lib = libraries.autograd()
    numbers, both = _numbers(), lib.autograd.value_and_grad(partial(chain, lib.numpy))
    return lambda: both(numbers)


def _numbers():
    return np.linspace(-1, 2, 10)


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax, "tinygrad": tinygrad, "autograd": autograd}
