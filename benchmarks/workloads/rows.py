"""Layer norm, softmax and cross entropy of 4,096 rows of 4,096 numbers: value and gradient, bound by memory."""

import numpy as np

from . import libraries
from .elementwise import with_backward

COUNT, EPSILON = 4096, 1e-5


def retrograde():
    """Compiled."""
    lib = libraries.modules("retrograde")
    rg, (numbers, labels) = lib.library, map(lib.tensor, _data())
    both = rg.jit(rg.value_and_grad(_loss_of(lib)))
    return lambda: both(numbers, labels)


def retrograde_eager():
    """Op by op."""
    lib = libraries.modules("retrograde")
    numbers, labels = map(lib.tensor, _data())
    both = lib.library.value_and_grad(_loss_of(lib))
    return lambda: both(numbers, labels)


def torch():
    """Op by op."""
    lib = libraries.modules("torch")
    return _torch(lib, _loss_of(lib))


def torch_compile():
    """Compiled forward and backward."""
    lib = libraries.modules("torch")
    return _torch(lib, lib.library.compile(_loss_of(lib)))


def _torch(lib, loss_of):
    numbers, labels = map(lib.tensor, _data())
    return with_backward(numbers.requires_grad_(), lambda x: loss_of(x, labels))


def jax():
    """Compiled."""
    lib = libraries.jax()
    jnp = lib.numpy
    numbers, labels = map(jnp.asarray, _data())

    def loss_of(x, y):
        x = lib.nn.standardize(x, axis=-1, epsilon=EPSILON)
        return -jnp.take_along_axis(lib.nn.log_softmax(x, axis=-1), y[:, None], axis=1).mean()

    both = lib.jit(lib.value_and_grad(loss_of))
    return lambda: lib.block_until_ready(both(numbers, labels))


def tinygrad():
    """Captured."""
    lib = libraries.tinygrad()
    numbers, labels = (lib.Tensor(a).realize() for a in _data())

    @lib.TinyJit
    def both(x, y):
        value = x.layernorm(eps=EPSILON).sparse_categorical_crossentropy(y)
        (gradient,) = value.gradient(x)
        value.realize(gradient)
        return value, gradient

    def step():
        found = both(numbers, labels)
        lib.finish()
        return found

    return step


def _loss_of(lib):
    """The loss in the functions of retrograde or torch."""
    functional = lib.functional
    return lambda x, y: functional.cross_entropy(functional.layer_norm(x, (COUNT,), eps=EPSILON), y)


def _data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((COUNT, COUNT), np.float32), rng.integers(0, COUNT, COUNT)


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax, "tinygrad": tinygrad}
