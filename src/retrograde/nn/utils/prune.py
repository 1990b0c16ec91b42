"""Pruning: weights some of whose numbers are held at 0 by a mask, chosen by PyTorch's methods and with its names."""

from typing import Any

import numpy as np

from ...core.edits import edited
from ...core.mode import no_grad
from ...errors import ArgumentError, MissingRuleError, ShapeError
from ...ops.elementary.arithmetic import abs as sizes
from ...ops.linalg.norms import vector_norm
from ...tensor.creation import asarray, tensor
from ...tensor.random import rand
from .parametrized import parametrized_names
from .pruned import is_pruned, pruned, pruned_names, restored

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "RandomStructured", "RandomUnstructured",
    "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured", "random_structured",
    "random_unstructured", "remove",
]


class BasePruningMethod:
    """A way to choose what is pruned: subclasses have a `PRUNING_TYPE` and a method `compute_mask`.

    "unstructured" methods are asked about the numbers that are left, as a vector; "structured" ones about the channels of the axis
    `dim` in which something is left, in the shape of the weight; "global" ones about everything.
    """

    PRUNING_TYPE = "global"
    dim = -1

    def compute_mask(self, t, default_mask):
        """Ones for what stays of `t`, zeros for what is pruned, as an array; `default_mask` is what it was before."""
        raise MissingRuleError(f"{type(self).__name__} needs a method compute_mask(t, default_mask)")

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune `name` of `module` by `cls(*args, **kwargs)`, in addition to what has been pruned; returns the method."""
        method = cls(*args, **kwargs)
        _check_prunable(module, name)
        weight = vars(module).get(name)
        before: Any = np.ones(weight.shape, weight.dtype) if weight is not None else vars(module)[f"{name}_mask"].raw
        scores = _numbers(getattr(module, name) if importance_scores is None else importance_scores)
        if scores.shape != before.shape:
            raise ShapeError(f"importance_scores must have the shape of {name}, {before.shape}, got {scores.shape}")
        pruned(module, name, tensor(method.new_mask(scores, before)))
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """`t` with zeros where this method prunes it."""
        scores = _numbers(t if importance_scores is None else importance_scores)
        before = np.ones(t.shape, t.dtype) if default_mask is None else _numbers(default_mask)
        return asarray(t) * self.new_mask(scores, before)

    def new_mask(self, scores, before):
        """The mask `before` with zeros for what is pruned of the numbers that it has left."""
        mask = np.array(before)
        if self.PRUNING_TYPE == "unstructured":
            is_left: Any = mask != 0
        elif self.PRUNING_TYPE == "structured":
            other = tuple([axis for axis in range(mask.ndim) if axis != self.dim % mask.ndim])
            is_left = (slice(None),) * (self.dim % mask.ndim) + (mask.any(other),)
        elif self.PRUNING_TYPE == "global":
            is_left = ...
        else:
            raise ArgumentError(f'PRUNING_TYPE must be "unstructured", "structured" or "global", got {self.PRUNING_TYPE!r}')
        mask[is_left] = _numbers(self.compute_mask(scores[is_left], mask[is_left]))
        return mask


def _check_prunable(module, name):
    if parametrized_names(module):
        names = ", ".join(parametrized_names(module))
        raise ArgumentError(f"weights of {type(module).__name__} are parametrized: {names}; remove the parametrizations first")
    if name not in pruned_names(module) and not any(name == own for own, _ in module.named_parameters(recurse=False)):
        raise ArgumentError(f"{type(module).__name__} has no parameter {name!r} that could be pruned")


def _numbers(x):
    """The numbers of a tensor or an array, without its graph."""
    return np.asarray(asarray(x).detach().realize().raw)


class Identity(BasePruningMethod):
    """Prunes nothing, but adds the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _OfAmount(BasePruningMethod):
    """What prunes an `amount`: a part of all, between 0 and 1, or a number of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        is_count = isinstance(amount, int)
        if not (amount >= 0 if is_count else 0 <= amount <= 1):
            raise ArgumentError(f"amount must be a part between 0.0 and 1.0, or a count of at least 0, got {amount!r}")
        self.amount = amount

    def count(self, size):
        """How many of `size` are pruned."""
        count = self.amount if isinstance(self.amount, int) else round(self.amount * size)
        if count > size:
            raise ArgumentError(f"amount must be at most the {size} that are left, got {self.amount}")
        return count

    def without_least(self, t, default_mask):
        """`default_mask` with zeros for the numbers with the least `t`."""
        mask = np.array(default_mask).reshape(-1)
        mask[np.argsort(np.reshape(t, -1), kind="stable")[: self.count(t.size)]] = 0
        return mask.reshape(np.shape(default_mask))


class RandomUnstructured(_OfAmount):
    """Prunes numbers drawn at random."""

    def compute_mask(self, t, default_mask):
        return self.without_least(_numbers(rand(*t.shape)), default_mask)


class L1Unstructured(_OfAmount):
    """Prunes the numbers of the least size."""

    def compute_mask(self, t, default_mask):
        return self.without_least(sizes(t), default_mask)


class RandomStructured(_OfAmount):
    """Prunes channels along the axis `dim` that are drawn at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def scores(self, t):
        """A number for each channel; those with the least are pruned."""
        return _numbers(rand(t.shape[self.dim]))

    def compute_mask(self, t, default_mask):
        keep = self.without_least(self.scores(t), np.ones(t.shape[self.dim], default_mask.dtype))
        return default_mask * np.expand_dims(keep, [axis for axis in range(t.ndim) if axis != self.dim % t.ndim])


class LnStructured(RandomStructured):
    """Prunes the channels along the axis `dim` that have the least norm of order `n`."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t):
        return vector_norm(t, tuple([axis for axis in range(t.ndim) if axis != self.dim % t.ndim]), ord=self.n)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask has zeros for."""

    def __init__(self, mask):
        self.mask = _numbers(mask)

    def compute_mask(self, t, default_mask):
        if self.mask.shape != t.shape:
            raise ShapeError(f"a mask must have the shape of the weight, {t.shape}, got {self.mask.shape}")
        return default_mask * self.mask.astype(default_mask.dtype)


def identity(module, name):
    """Give the parameter `name` of `module` a mask of ones; returns `module`."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune an `amount` of the parameter `name` of `module`, drawn at random; returns `module`."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the `amount` of the parameter `name` of `module` that has the least size; returns `module`.

    The parameter is called `weight_orig` from here on, its mask `weight_mask`, and `weight` is their product.

    >>> layer = rg.nn.utils.prune.l1_unstructured(rg.nn.Linear(4, 5), "weight", 0.25)
    >>> int(layer.weight_mask.sum()), int((layer.weight == 0).sum())
    (15, 5)
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune an `amount` of the channels along the axis `dim`, drawn at random; returns `module`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the `amount` of the channels along the axis `dim` that has the least norm of order `n`; returns `module`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune what `mask` has zeros for of the parameter `name` of `module`; returns `module`."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune parameters, given as pairs of a module and a name, as if they were one vector, by a class of method.

    `importance_scores` maps such pairs to tensors that stand for the parameters. What is given by name goes to the method.
    """
    parameters, method = list(parameters), pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentError(f'only methods of PRUNING_TYPE "unstructured" prune globally, got {pruning_method.__name__}')
    given = importance_scores or {}
    scores = [_numbers(given.get((module, name), getattr(module, name))) for module, name in parameters]
    masks = [_numbers(getattr(module, f"{name}_mask", np.ones_like(score)))
             for (module, name), score in zip(parameters, scores, strict=True)]
    whole = method.new_mask(*[np.concatenate([part.reshape(-1) for part in parts]) for parts in (scores, masks)])
    ends = np.cumsum([score.size for score in scores])[:-1]
    for (module, name), score, part in zip(parameters, scores, np.split(whole, ends), strict=True):
        custom_from_mask(module, name, part.reshape(score.shape))


def remove(module, name):
    """Let the pruned weight `name` of `module` be a plain parameter again, with zeros for what was pruned; returns `module`."""
    if name not in pruned_names(module):
        raise ArgumentError(f"{type(module).__name__} has no pruned {name!r}; it has {', '.join(pruned_names(module)) or 'none'}")
    with no_grad():
        parameter = vars(module)[f"{name}_orig"]
        parameter[...] = getattr(module, name)
    restored(module, name)
    edited()
    return module
