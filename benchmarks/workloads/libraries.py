"""The libraries that take part: how each is set up, and how it gets the same numbers as the others."""

import importlib
import os
import shutil
from itertools import pairwise
from types import SimpleNamespace

import numpy as np


def modules(name):
    """retrograde or torch with its modules, functions and optimizers."""
    parts = {part: importlib.import_module(f"{name}.{part}") for part in ("nn", "nn.functional", "optim")}
    return SimpleNamespace(tensor=importlib.import_module(name).tensor, library=importlib.import_module(name), nn=parts["nn"],
                           functional=parts["nn.functional"], optim=parts["optim"])


def jax(is_double=False):
    """JAX with its NumPy."""
    found = importlib.import_module("jax")
    found.config.update("jax_enable_x64", is_double)
    return found


def autograd():
    """HIPS autograd and its NumPy."""
    return SimpleNamespace(autograd=importlib.import_module("autograd"), numpy=importlib.import_module("autograd.numpy"))


def tinygrad():
    """tinygrad on the CPU, for which it needs the compiler clang, and `finish`, which waits until all work is done."""
    if not shutil.which(os.environ.setdefault("CC", _clang())):
        raise ImportError("tinygrad compiles with clang, which was not found; install it, or name it in the variable CC")
    os.environ["DEV"] = "CPU"
    found = importlib.import_module("tinygrad")
    return SimpleNamespace(Tensor=found.Tensor, TinyJit=found.TinyJit, dtypes=found.dtypes, finish=found.Device["CPU"].synchronize,
                           nn=importlib.import_module("tinygrad.nn"), Context=importlib.import_module("tinygrad.helpers").Context)


def _clang():
    names = ["clang", *(f"clang-{version}" for version in range(30, 13, -1))]
    return next((name for name in names if shutil.which(name)), "clang")


def drawn(rng, shape):
    """Numbers for a parameter of `shape`, of a size with which activations stay of order one."""
    inputs = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
    return (rng.uniform(-1, 1, shape) / np.sqrt(inputs)).astype(np.float32)


def weights(sizes, seed=0):
    """(weight, bias) of each layer of a perceptron with layers of `sizes`; a weight is outputs × inputs."""
    rng = np.random.default_rng(seed)
    return [(drawn(rng, (after, before)), drawn(rng, (after,))) for before, after in pairwise(sizes)]


def load(lib, model, seed=0):
    """Give a model of retrograde or torch the numbers that `weights` gives to others; returns it."""
    rng = np.random.default_rng(seed)
    model.load_state_dict({name: lib.tensor(drawn(rng, tuple(p.shape))) for name, p in model.state_dict().items()})
    return model


def load_matrices(lib, model, seed=0):
    """As `load`, for networks with norms: these scale by one and shift by zero, biases are zero, and statistics stay as they are.

    Parameters must be in one order in both libraries.
    """
    rng, state = np.random.default_rng(seed), model.state_dict()
    for name, p in model.named_parameters():
        plain = np.full(tuple(p.shape), float(name.endswith("weight")), np.float32)
        state[name] = lib.tensor(plain if p.ndim == 1 else drawn(rng, tuple(p.shape)))
    model.load_state_dict(state)
    return model


def perceptron(lib, sizes, activation):
    """A perceptron of retrograde or torch, with the numbers of `weights`; `activation` is "ReLU" or "Tanh"."""
    layers = []
    for before, after in pairwise(sizes):
        layers += [lib.nn.Linear(before, after), getattr(lib.nn, activation)()]
    return load(lib, lib.nn.Sequential(*layers[:-1]))


def transposed(sizes, array):
    """The numbers of `weights` as a flat list of arrays of a library, weights inputs × outputs, as users of NumPy have them."""
    return [array(np.ascontiguousarray(part.T)) for layer in weights(sizes) for part in layer]


def layered(parameters, x, activation):
    """What a perceptron makes of `x`, with parameters as `transposed` gives them."""
    *hidden, (weight, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for w, b in hidden:
        x = activation(x @ w + b)
    return x @ weight + bias


def tinygrad_layers(lib, sizes):
    """The layers of a perceptron in tinygrad, with the numbers of `weights`."""
    layers = []
    for weight, bias in weights(sizes):
        layer = lib.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight, layer.bias = (lib.Tensor(a).contiguous().realize().is_param_() for a in (weight, bias))
        layers.append(layer)
    return layers


def tinygrad_apply(layers, x, activation):
    """What a perceptron of tinygrad makes of `x`."""
    for layer in layers[:-1]:
        x = activation(layer(x))
    return layers[-1](x)
