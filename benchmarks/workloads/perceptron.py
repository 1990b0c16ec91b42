"""Training steps of a perceptron. What is written for each library takes a task, and returns steps by data."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from . import libraries, training


@dataclass(frozen=True)
class Task:
    """What is trained: a perceptron with layers of `sizes` and an activation ("ReLU" or "Tanh"), on a random batch."""

    sizes: tuple[int, ...]
    activation: str
    batch: int
    is_classifier: bool = True

    def data(self):
        """Inputs, and labels or the outputs that are wanted.

        Every input comes twice, and other things are wanted of it: the loss stays away from 0, where gradients and their
        squares are denormal numbers, and a CPU takes a hundred times as long for these.
        """
        rng, half = np.random.default_rng(1), self.batch // 2
        x = np.tile(rng.standard_normal((half, self.sizes[0]), np.float32), (2, 1))
        if self.is_classifier:
            y = rng.integers(0, self.sizes[-1], half)
            return x, np.concatenate([y, (y + 1) % self.sizes[-1]])
        return x, rng.standard_normal((self.batch, self.sizes[-1]), np.float32)


def retrograde(task):
    """The whole step compiled."""
    lib = libraries.modules("retrograde")
    return with_modules(lib, task, lib.optim.Adam, compiled=lib.library.jit)


def retrograde_eager(task):
    """Op by op."""
    lib = libraries.modules("retrograde")
    return with_modules(lib, task, lib.optim.Adam)


def torch(task):
    """Op by op, with the fused optimizer."""
    lib = libraries.modules("torch")
    return with_modules(lib, task, partial(lib.optim.Adam, fused=True))


def torch_compile(task):
    """The loss compiled, forward and backward, with the fused optimizer."""
    lib = libraries.modules("torch")
    return with_modules(lib, task, partial(lib.optim.Adam, fused=True), wrapped_loss=lib.library.compile)


def jax(task):
    """The whole step compiled."""
    lib = libraries.jax()
    activation = {"ReLU": lib.nn.relu, "Tanh": lib.numpy.tanh}[task.activation]

    def loss_of(parameters, x, y):
        z = libraries.layered(parameters, x, activation)
        if task.is_classifier:
            return (lib.nn.logsumexp(z, axis=1) - lib.numpy.take_along_axis(z, y[:, None], axis=1)[:, 0]).mean()
        return ((z - y) ** 2).mean()

    return training.with_jax(lib, libraries.transposed(task.sizes, lib.numpy.asarray), loss_of)


def tinygrad(task):
    """The whole step captured."""
    lib = libraries.tinygrad()
    layers = libraries.tinygrad_layers(lib, task.sizes)
    activation = {"ReLU": lib.Tensor.relu, "Tanh": lib.Tensor.tanh}[task.activation]

    def loss_of(x, y):
        z = libraries.tinygrad_apply(layers, x, activation)
        return z.sparse_categorical_crossentropy(y) if task.is_classifier else ((z - y) ** 2).mean()

    return training.with_tinygrad(lib, lib.nn.state.get_parameters(layers), loss_of)


def autograd(task):
    """Op by op."""
    lib = libraries.autograd()
    anp = lib.numpy
    activation = {"ReLU": lambda x: anp.maximum(x, 0), "Tanh": anp.tanh}[task.activation]

    def loss_of(parameters, x, y):
        z = libraries.layered(parameters, x, activation)
        if task.is_classifier:
            z = z - anp.max(z, axis=1, keepdims=True)
            return anp.mean(anp.log(anp.sum(anp.exp(z), axis=1)) - z[np.arange(len(y)), y])
        return anp.mean((z - y) ** 2)

    return training.with_autograd(lib, libraries.transposed(task.sizes, np.array), loss_of)


def with_modules(lib, task, optimizer, compiled=lambda step: step, wrapped_loss=lambda loss_of: loss_of):
    """Steps of a library with modules. `wrapped_loss` may compile the loss, or compute it in half precision."""
    model = libraries.perceptron(lib, task.sizes, task.activation)
    loss = lib.functional.cross_entropy if task.is_classifier else lib.functional.mse_loss
    loss_of = wrapped_loss(lambda x, y: loss(model(x), y))
    return training.with_modules(lib, model.parameters(), loss_of, optimizer, compiled)


ALL = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
       "jax": jax, "tinygrad": tinygrad, "autograd": autograd}


def rivals(task, names=tuple(ALL)):
    """Rivals that train for `task`, by name."""
    return {name: partial(_trained, name, task) for name in names}


def _trained(name, task):
    return ALL[name](task)(*task.data())
