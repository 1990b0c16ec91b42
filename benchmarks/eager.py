"""The eager suite: ops run one by one, without `jit`.

A library is imported only in the process that measures it.
"""

import gc
import importlib
import time
from functools import partial
from math import prod
from statistics import median

import numpy as np

from .case import Figures, Launch, Peak, Timed
from .workloads import chain, libraries, training
from .workloads.perceptron import Task

MNIST, CLASSES = 784, 10
SIZES = (MNIST, 512, 256, CLASSES)


def mlp(lib):
    """The perceptron."""
    return libraries.perceptron(lib, SIZES, "ReLU")


def convolutions(lib):
    """A small convolutional net on images of 28×28."""
    nn = lib.nn
    return libraries.load(lib, nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, CLASSES)))


def steps(name, build, shape, *batches):
    """For each size of a batch, a function that makes one step of Adam on random inputs of `shape`; all train one model."""
    lib = libraries.modules(name)
    model = build(lib)

    def loss_of(x, y):
        return lib.functional.cross_entropy(model(x.reshape(-1, *shape)), y)

    on = training.with_modules(lib, model.parameters(), loss_of, lib.optim.Adam)
    made = [on(*Task((prod(shape), CLASSES), "ReLU", batch).data()) for batch in batches]
    return made[0] if len(made) == 1 else made


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
    return {name: partial(function, name, *args) for name in ("retrograde", "torch")}


CASES = [
    Timed("chain", "y = y·0.99 + sin(y)·0.01, 300 times, on 10 float64 numbers, forward and back",
          {"retrograde": chain.retrograde_eager, "torch": chain.torch, "autograd": chain.autograd},
          goals={"torch": 1.25, "autograd": 2.85}),
    Timed("mlp", "one Adam step of a 784-512-256-10 perceptron, batch 128, float32",
          _both(steps, mlp, (MNIST,), 128), goals={"torch": 0.91}),
    Figures("record", "recording one op, above NumPy", {"retrograde": recording},
            goals={"sin": 1.2, "multiply": 1.2, "add": 1.2}),
    Launch("import", "`import retrograde` above `import numpy`",
           {"baseline": lambda: "import numpy", "retrograde": lambda: "import numpy, retrograde"},
           goals={"retrograde": 60}),
    Peak("memory-mlp", "peak memory of a training step of the perceptron, batch 4096",
         _both(steps, mlp, (MNIST,), 2, 4096), goals={"torch": 1.0}),
    Peak("memory-conv", "peak memory of a training step of a small convolutional net, batch 256",
         _both(steps, convolutions, (1, 28, 28), 2, 256), goals={"torch": 1.0}),
]
