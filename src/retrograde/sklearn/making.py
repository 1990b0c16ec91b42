"""What parameters of an estimator stand for: networks by hidden sizes, optimizers and losses by name."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..dtypes import as_dtype
from ..errors import ArgumentError
from ..nn import functional
from ..nn.activation import ReLU
from ..nn.container import Sequential
from ..nn.linear import Linear
from ..nn.module import Module
from ..optim import SGD, Adadelta, Adagrad, Adam, AdamW, Muon, NAdam, RAdam, RMSprop

OPTIMIZERS = {kind.__name__.lower(): kind for kind in (SGD, Adadelta, Adagrad, Adam, AdamW, Muon, NAdam, RAdam, RMSprop)}
#: Each gives a loss for each element of the outputs.
REGRESSION_LOSSES = {
    "squared_error": lambda outputs, targets: functional.mse_loss(outputs, targets, reduction="none"),
    "absolute_error": lambda outputs, targets: functional.l1_loss(outputs, targets, reduction="none"),
    "huber": lambda outputs, targets: functional.huber_loss(outputs, targets, reduction="none"),
}
CLASSIFICATION_LOSSES = {"cross_entropy": lambda outputs, targets: functional.cross_entropy(outputs, targets, reduction="none")}


def network(module: Any, inputs, outputs, dtype):
    """The network of an estimator: what `module` makes of `inputs` and `outputs`, or layers of so many hidden units."""
    if isinstance(module, type) and issubclass(module, Module) or callable(module) and not isinstance(module, Module):
        function: Any = module
        made = function(inputs, outputs)
        if not isinstance(made, Module):
            raise ArgumentError(f"module(inputs, outputs) must return a Module, got {type(made).__name__}")
        return made.to(dtype)
    if isinstance(module, (int, np.integer)) and not isinstance(module, bool):
        module = (module,)
    if not isinstance(module, (tuple, list)) or not all([isinstance(n, (int, np.integer)) and n >= 1 for n in module]):
        got = f"the object {type(module).__name__}" if isinstance(module, Module) else repr(module)
        raise ArgumentError(f"module is a function of (inputs, outputs) that returns a Module, or the sizes of the hidden layers, "
                            f"such as (100,); got {got}")
    if isinstance(inputs, tuple):
        raise ArgumentError(f"hidden sizes are for rows of numbers, and here a row has shape {inputs}; give module=, a function of "
                            f"(inputs, outputs) that returns a Module")
    layers, sizes = [], [inputs, *module]
    for before, after in pairwise(sizes):
        layers += [Linear(before, after, dtype=dtype), ReLU()]
    return Sequential(*layers, Linear(sizes[-1], outputs, dtype=dtype))


def made_optimizer(optimizer, parameters, lr):
    """An optimizer by its name, or what a class or function of (parameters, lr=) makes."""
    if isinstance(optimizer, str):
        optimizer = _named("optimizer", optimizer, OPTIMIZERS, "a class such as rg.optim.Adam")
    if not callable(optimizer):
        raise ArgumentError(f"optimizer is a name, or a class or function of (parameters, lr=), got {type(optimizer).__name__}")
    return optimizer(parameters, lr=lr)


def made_loss(loss, known):
    """A loss by its name, or the function that was given."""
    if isinstance(loss, str):
        return _named("loss", loss, known, "a function of (outputs, targets) that gives one number for each row")
    if not callable(loss):
        raise ArgumentError(f"loss is a name or a function of (outputs, targets), got {type(loss).__name__}")
    return loss


def _named(what, name, known, other):
    if name not in known:
        raise ArgumentError(f"{what} is one of {', '.join(sorted(known))}, or {other}; got {name!r}")
    return known[name]


def made_dtype(dtype, array):
    """The float type to compute with: `dtype`, or that of the data."""
    return as_dtype(array.dtype if dtype is None else dtype)
