"""The eager suite: ops run one by one, without `jit`.

A library is imported only in the process that measures it.
"""

import gc
import importlib
import time
from functools import partial
from statistics import median
from types import SimpleNamespace

import numpy as np

from .case import Figures, Launch, Peak, Timed

MNIST, HIDDEN, CLASSES, BATCH = 784, (512, 256), 10, 128


def chain(library, start, length=300):
    """y = y·0.99 + sin(y)·0.01, `length` times, then the derivative of the sum."""
    y = start
    for _ in range(length):
        y = y * 0.99 + library.sin(y) * 0.01
    return y.sum()


def chain_with_tensors(name):
    """The chain on tensors with `backward()`, as retrograde and torch have it."""
    library = importlib.import_module(name)
    numbers = library.tensor(np.linspace(-1, 1, 10), requires_grad=True)

    def step():
        numbers.grad = None
        chain(library, numbers).backward()

    return step


def chain_with_autograd():
    """The chain as a function of arrays, which is how autograd has it."""
    library = SimpleNamespace(autograd=importlib.import_module("autograd"), numpy=importlib.import_module("autograd.numpy"))
    gradient = library.autograd.grad(partial(chain, library.numpy))
    return partial(gradient, np.linspace(-1, 1, 10))


def mlp(nn):
    """The perceptron, from a library whose modules are PyTorch's."""
    first, second = HIDDEN
    return nn.Sequential(nn.Linear(MNIST, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(), nn.Linear(second, CLASSES))


def convolutions(nn):
    """A small convolutional net on images of 28×28."""
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, CLASSES))


def training(name, build, shape):
    """A function that makes one step of Adam on a batch of random inputs of `shape`, for a model and its optimizer."""
    library = importlib.import_module(name)
    nn, functional = (importlib.import_module(f"{name}.{part}") for part in ("nn", "nn.functional"))
    model = build(nn)
    optimizer = importlib.import_module(f"{name}.optim").Adam(model.parameters(), lr=1e-3)

    def prepared(batch):
        rng = np.random.default_rng(0)
        x = library.tensor(rng.standard_normal((batch, *shape), np.float32))
        y = library.tensor(rng.integers(0, CLASSES, batch))

        def step():
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return step

    return prepared


def adam_step(name):
    """One step at the ordinary batch size."""
    return training(name, mlp, (MNIST,))(BATCH)


def small_and_large(name, build, shape, batch):
    """Steps with a batch of 2 and with one where activations outweigh everything else."""
    prepared = training(name, build, shape)
    return prepared(2), prepared(batch)


def recording():
    """A function that returns the seconds by which recording an op exceeds NumPy's own time, and that time for scale."""
    rg = importlib.import_module("retrograde")
    a, b = np.linspace(-1, 1, 10), np.linspace(0, 1, 10)
    x, y = (rg.tensor(data, requires_grad=True) for data in (a, b))
    pairs = {
        "sin": (lambda: np.sin(a), lambda: rg.sin(x)),
        "multiply": (lambda: a * b, lambda: x * y),
        "add": (lambda: a + b, lambda: x + y),
    }

    def measured(count):
        above = {name: _difference(pair, count) for name, pair in pairs.items()}
        return {**above, "NumPy's multiply": _difference((lambda: None, pairs["multiply"][0]), count)}

    return measured


def _difference(pair, count):
    """How much longer one call of the second takes: the median over alternating blocks, `count` calls in all."""
    plain, recorded = pair
    gc.collect()
    block = 100
    return median((_block(recorded, block) - _block(plain, block)) / block for _ in range(count // block))


def _block(function, count):
    start = time.perf_counter()
    for _ in range(count):
        function()
    return time.perf_counter() - start


def _both(function, *args):
    """Rivals that differ only in the library's name."""
    return {name: _named(partial(function, name, *args)) for name in ("retrograde", "torch")}


def _named(function):
    function.__module__ = __name__
    return function


CASES = [
    Timed("chain", "y = y·0.99 + sin(y)·0.01, 300 times, on 10 float64 numbers, forward and back",
          {**_both(chain_with_tensors), "autograd": chain_with_autograd}, goals={"torch": 0.8, "autograd": 0.35}),
    Timed("mlp", "one Adam step of a 784-512-256-10 perceptron, batch 128, float32", _both(adam_step), goals={"torch": 1.1}),
    Figures("record", "recording one op, above NumPy", {"retrograde": recording},
            goals={"sin": 1.2, "multiply": 1.2, "add": 1.2}),
    Launch("import", "`import retrograde` above `import numpy`",
           {"baseline": lambda: "import numpy", "retrograde": lambda: "import numpy, retrograde"},
           goals={"retrograde": 60}),
    Peak("memory-mlp", "peak memory of a training step of the perceptron, batch 4096",
         _both(small_and_large, mlp, (MNIST,), 4096), goals={"torch": 1.0}),
    Peak("memory-conv", "peak memory of a training step of a small convolutional net, batch 256",
         _both(small_and_large, convolutions, (1, 28, 28), 256), goals={"torch": 1.0}),
]
